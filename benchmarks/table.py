"""Write RESULTS.md and its figures from results/protocol.jsonl.

python -m benchmarks.table

Our numbers and the published ones stand in columns of their own, and are not to be mixed:
they come from other folds and other grids.
"""

import json
from pathlib import Path

import numpy as np
from scipy import stats

from benchmarks import bench_conformal, bench_uncertainty
from benchmarks.figures import draw_ablations, draw_learning_curves
from benchmarks.pareto import draw_pareto
from benchmarks.protocol import (
    CLASSIFICATION,
    METHODS,
    N_FOLDS,
    SETS,
    WITH_DEGREES,
    Run,
    has_classes,
)
from benchmarks.published import PUBLISHED
from benchmarks.ranking import (
    DEFAULTS,
    REFERENCE,
    cost,
    label,
    n_folds,
    on_shared_folds,
    rank_table,
    ranks,
    scores,
    table,
)
from sklofi.comparison import corrected_t_test

TARGET = Path(__file__).parent / "RESULTS.md"
FEWEST_FOLDS = 3  # for a test of a difference
EXPLANATIONS = TARGET.parent / "results" / "explanations.json"


def score_cell(fits, name):
    if not fits:
        return ""
    values = scores(fits, name)
    if not has_classes(name):
        return f"{values.mean():.3f}"
    error = stats.sem(values) if len(values) > 1 else float("nan")
    if len(values) == 1:
        return f"{values.mean():.2f} (1 fold)"
    note = "" if len(values) == N_FOLDS else f" ({len(values)} folds)"
    return f"{values.mean():.2f} ± {error:.2f}{note}"


def cost_cell(fits, n_configurations):
    """Seconds per fold; of several configurations, also how many and their mean."""
    if not fits:
        return ""
    total = cost(fits)
    note = f" ({n_configurations} of {duration(total / n_configurations)})"
    return duration(total) + (note if n_configurations > 1 else "")


def duration(seconds):
    return f"{seconds:,.1f}" if seconds >= 1 else f"{seconds:.2g}"


def test_cell(fits, reference, name):
    """Whether a method differs from LoFI on the folds that both have."""
    folds = {fit["fold"]: fit["test"] for fit in reference}
    both = [fit["test"] - folds[fit["fold"]] for fit in fits if fit["fold"] in folds]
    if not has_classes(name) or len(both) < FEWEST_FOLDS:
        return ""
    p = corrected_t_test(both, test_share=1 / (0.9 * (N_FOLDS - 1)))
    note = "" if len(both) == N_FOLDS else f", {len(both)} folds"
    return f"{100 * np.mean(both):+.2f} (p = {p:.3f}{note})"


def ways_table(fits):
    """In how many folds the second way to train was chosen, of the methods that have two."""
    rows = []
    for method in METHODS:
        grid = METHODS[method].grids.get("small")
        if not isinstance(grid, list):
            continue
        first, second = grid
        other = {key: values[0] for key, values in second.items() if first.get(key) != values}
        cells = []
        for name in CLASSIFICATION:
            chosen = [other.items() <= fit["configuration"].items() for fit in fits[method, name]]
            cells.append(f"{sum(chosen)} of {len(chosen)}" if chosen else "")
        way = ", ".join(f"{key}={value!r}" for key, value in other.items())
        rows.append([method, way, *cells])
    return table(["", "the other way", *CLASSIFICATION], rows)


def degree_sections(fits):
    """Scores and ranks where degrees are the labels of nodes that have none; or nothing."""
    shared = {name: own for name in WITH_DEGREES if len(own := on_shared_folds(fits, name)) > 1}
    if not shared:
        return []
    found = {name: ranks(own, name) for name, own in shared.items()}
    head, rows = [""], []
    for name, own in shared.items():
        head += [WITH_DEGREES[name], name, f"rank: {n_folds(own)}, of {len(own)}"]
    for method in METHODS:
        row = []
        for name in shared:
            row += [score_cell(fits[method, one], one) for one in (WITH_DEGREES[name], name)]
            row.append(f"{found[name][method]:g}" if method in found[name] else "")
        rows += [[method, *row]] if any(fits[method, name] for name in shared) else []
    return [
        "### Degrees as labels",
        "The nodes of the IMDB sets have no labels. Above they are all alike, and networks that"
        " average over neighbors see next to nothing. Others give them the degrees of nodes; here"
        " are all methods with degrees as labels, beside what they have without.",
        table(head, rows),
    ]


def beside_published(fits, name):
    """Ours and the published figure of LoFI, each in its own column."""
    ours = [score_cell(fits[method, name], name) for method in (REFERENCE, DEFAULTS)]
    return [name, *ours, str(PUBLISHED["GNN-LoFI"][SETS.index(name)])]


def halving_row(run, name, grid):
    """Successive halving beside the whole grid, on the folds that have both; or None."""
    whole = {fit["fold"]: fit for fit in run.chosen(name, REFERENCE, grid)}
    halved = {fit["fold"]: fit for fit in run.chosen_by_halving(name, REFERENCE, grid)}
    both = sorted(set(whole) & set(halved))
    if not both:
        return None
    costs = [sum(fits[f]["total_cpu_seconds"] for f in both) for fits in (whole, halved)]

    def pair(key, factor=1.0, digits=3):
        means = [factor * np.mean([fits[f][key] for f in both]) for fits in (whole, halved)]
        return [f"{mean:.{digits}f}" for mean in means]

    n_configurations = len(METHODS[REFERENCE].configurations(name, grid))
    return [
        name,
        f"{grid}, {n_configurations} configurations",
        str(len(both)),
        *pair("loss"),
        *pair("test", 100, 1),
        f"{costs[1] / costs[0]:.2f}",
    ]


def candidate_row(run, candidate, reference):
    """Validation loss of a configuration, relative to another, on the folds that have both."""
    cells, ratios = [], []
    for name in CLASSIFICATION:
        pairs = [run.fits(name, REFERENCE, f, [candidate, reference]) for f in range(N_FOLDS)]
        losses = np.array([[fit["loss"] for fit in pair] for pair in pairs if pair])
        if not len(losses):
            return None
        ratios.append(losses[:, 0].mean() / losses[:, 1].mean())
        cells.append(f"{ratios[-1]:.3f} ({len(losses)})")
    text = ", ".join(f"{key}={value!r}" for key, value in candidate.items()) or "the defaults"
    return [text, *cells, f"{np.mean(ratios):.3f}"]


def candidate_table(run, grid, reference):
    candidates = METHODS[REFERENCE].configurations("", grid)
    rows = [row for one in candidates if (row := candidate_row(run, one, reference))]
    return table(["", *CLASSIFICATION, "mean"], rows) if rows else f"`{grid}`: not run yet."


def explanation_sections():
    """Which nodes matter: what bench_explanations has measured."""
    if not EXPLANATIONS.exists():
        return []
    results = json.loads(EXPLANATIONS.read_text())
    sections = [
        "## Which nodes?",
        "Written by `python -m benchmarks.bench_explanations`. AUC: do nodes that are known to"
        " matter (of the planted motif; of nitro groups in molecules that are rightly predicted as"
        " mutagenic) come before all others of their graph, by attribution or by its size?"
        " Deletion and insertion: area under the mean probability of the predicted class while the"
        " nodes that matter most are removed (lower is better), or while only they are there"
        " (higher is better). Gap: insertion less deletion in log-odds. Test graphs only. Gradient"
        " times input is zero for LoFI with labels, because vectors are scaled to unit norm; so the"
        " same with inputs less their mean is there, too.",
    ]
    for name in ("motifs", "MUTAG, 5 layers", "MUTAG, 2 layers"):
        methods = results[name]["methods"]
        rows = [
            [
                method,
                f"{one['auc']:.3f}",
                f"{one['auc_of_sizes']:.3f}",
                f"{np.mean(one['deletion']):.3f}",
                f"{np.mean(one['insertion']):.3f}",
                f"{one['gap']:.2f}",
                f"{1000 * one['seconds_per_graph']:.2f}",
            ]
            for method, one in methods.items()
        ]
        head = ["", "AUC", "AUC of sizes", "deletion", "insertion", "gap", "ms per graph"]
        sections += [f"{name[0].upper()}{name[1:]}:", table(head, rows)]
    names = results["motifs"]["most important mask names N and O, by evidence and by best egonet"]
    sections.append(
        "The most important mask names the labels of the motif: they are those that speak most"
        f" for it through the mask in {names['default'][0]:.0%} of the seeds (with one layer of 4"
        f" masks in {names['small'][0]:.0%}), and both are in the egonet that fits it best in"
        f" {names['default'][1]:.0%} ({names['small'][1]:.0%})."
    )
    yes, no = (results["MUTAG by class"][one] for one in ("1", "-1"))
    sections += [
        "All of MUTAG is explained in {MUTAG:.1f} seconds and all of NCI1 in {NCI1:.0f}, from"
        " networkx graphs to numbers".format(**results["seconds"])
        + f" ({results['threads']} thread(s)).",
        "Why nitro groups do not stand out in MUTAG: of the molecules that are mutagenic"
        f" {yes['nitro']:.0%} have one, and of the others {no['nitro']:.0%}. So they cannot tell"
        f" the classes apart. Rings can: there are {yes['rings']:.1f} of them on average in"
        f" mutagenic molecules, and {no['rings']:.1f} in the others.",
        "![Deletion and insertion curves](results/explanations.png)",
    ]
    return sections


def cpu_hours(records):
    return sum(record["cpu_seconds"] for record in records) / 3600


def sum_of_costs(chosen):
    return sum(fit["total_cpu_seconds"] for fits in chosen for fit in fits) / 3600


def our_sections(fits, methods, grid):
    """Scores, ranks, costs, and tests of the differences."""
    head = ["", *SETS]
    of_grid = (m for m in METHODS if METHODS[m].configurations("MUTAG", grid))
    missing = [m for m in of_grid if m not in methods]
    costs = [
        [
            label(m),
            *(cost_cell(fits[m, n], len(METHODS[m].configurations(n, grid))) for n in SETS),
            f"{sum_of_costs(fits[m, n] for n in SETS):.2f}",
        ]
        for m in methods
    ]
    differences = [
        [label(m), *(test_cell(fits[m, n], fits[REFERENCE, n], n) for n in SETS)]
        for m in methods
        if m != REFERENCE
    ]
    sections = [
        table(head, [[label(m), *(score_cell(fits[m, n], n) for n in SETS)] for m in methods])
    ]
    if missing:
        sections.append(f"Not run yet: {', '.join(map(label, missing))}.")
    sections.append(
        "All methods see the same node labels, and none the other attributes of nodes. Those"
        " marked with (bonds) also see the types of edges in MUTAG, PTC_MR and ZINC, which the"
        " others do not."
    )
    if ranking := rank_table(fits):
        sections += [
            "### Ranks",
            "By mean score on the folds that all methods have, 1 is the best. How many folds and"
            " methods there are is in the head; ranks by few folds are hardly more than chance."
            f" {REFERENCE} competes with its search only, not also with its variants. Look at the"
            " standard errors above before making much of a rank.",
            ranking,
        ]
    sections += degree_sections(fits)
    sections += [
        "### How peers are trained",
        "Peers have the choice between their defaults and another way to train, which was found by"
        " validation losses, mostly of the first folds. In how many folds the validation part chose"
        " the other:",
        ways_table(fits),
        "All peers with batch normalization (GIN, SGIN, ECC, DiffPool, RWGNN, KerGNN) and DGCNN"
        " were measured before their statistics were weighted and found anew for averaged weights;"
        " these rows belong to the code before that.",
    ]
    sections += [
        "### Costs",
        "CPU seconds per fold, with all configurations of the grid, and in brackets their number"
        " and the mean of one; at the end the CPU hours of the row. Fits had a thread each and ran"
        " two at a time, some beside other work, which makes CPU seconds more: look at magnitudes.",
        table([*head, "CPU hours"], costs),
        "Score and cost; methods on the line are on the Pareto front: no other is both cheaper and"
        " better.",
        f"![Score against CPU seconds, one panel per data set](results/{draw_pareto(fits).name})",
        "### Differences",
        f"Difference from {REFERENCE} in percentage points, on the same folds, with the p-value of"
        " the paired t-test corrected for overlapping training sets (Nadeau and Bengio), if there"
        f" are at least {FEWEST_FOLDS}; the p-values are not corrected for the number of methods.",
        table(head, differences),
    ]
    return sections


def write(grid):
    run = Run()
    fits = {
        (m, name): run.chosen(name, m, grid) for m in METHODS for name in (*SETS, *WITH_DEGREES)
    }
    methods = [m for m in METHODS if any(fits[m, name] for name in SETS)]
    head = ["", *SETS]
    halving = [
        halving_row(run, name, one)
        for one in ("small", "paper-plain", "paper")
        for name in CLASSIFICATION
    ]
    figures = [draw_ablations(run), draw_learning_curves(run)]
    sections = [
        "# All tables",
        "Written by `python -m benchmarks.table` from `results/protocol.jsonl`, which"
        " `python -m benchmarks.protocol` fills: ten folds, in each a tenth of the training part"
        " for early stopping and for choosing the configuration, the chosen model tested once and"
        " not refitted. Accuracy in %, mean ± standard error over the folds; for ZINC, with its"
        " own split, the mean absolute error. ZINC has more than 10,000 graphs, so that there the"
        " kernel machines are linear ones on the features behind the kernel, with the squared loss"
        " (`solver=\"auto\"` of `GraphKernelSVR`); LoFI has three configurations"
        " of its own for ZINC, two of them added when the first was seen to vary between 0.264 and"
        " 0.282 from fit to fit. `grids.py` has the grids of all: they differ in size, and most"
        " peers have four configurations on MUTAG and PTC_MR, two in batches of 128 graphs on the"
        " larger sets (another rate of learning, or another pooling) and one, for at most 100"
        " epochs, on ZINC, while LoFI has six (three on ZINC) and the kernels have 36.",
        f"## Ours, grid `{grid}`",
        *our_sections(fits, methods, grid),
        f"The tables took {sum_of_costs(fits.values()):.1f} CPU hours; with all other fits in the"
        " file, those of the figures, of successive halving and of what was tried on the way,"
        f" {cpu_hours(run.records.values()):.1f}.",
        "## LoFI beside the published LoFI",
        "Ours with the validation part choosing from the grid, and one `LoFIClassifier()` or"
        " `LoFIRegressor()` without any search; the published figures come from other folds and"
        " another, larger grid.",
        table(
            ["", "ours, searched", "ours, defaults", "published"],
            [beside_published(fits, name) for name in SETS],
        ),
        "## How the defaults were chosen",
        "Validation loss relative to a reference, and in brackets the number of folds; lower is"
        " better. First layers and radius, then one thing at a time changed from the defaults."
        " In each fold its test part has no say; but the defaults were chosen over all folds of"
        " these data sets, and the validation graphs of a fold are test graphs of another, so that"
        " the row of the defaults is slightly optimistic. Differences of a few hundredths are"
        " noise.",
        candidate_table(run, "small", {"n_layers": 5, "radius": 1}),
        candidate_table(run, "defaults", {}),
        "## Successive halving",
        "All configurations for a few epochs, the best third three times as long, and so on"
        " (`--halving`), beside the whole grid on the same folds: validation loss and test"
        " accuracy of the chosen model, and the share of the CPU seconds.",
        table(
            ["", "grid", "folds", "loss, whole", "loss, halving", "test, whole", "test, halving",
             "cost, halving / whole"],
            [row for row in halving if row],
        ),
        "## Ablations",
        "Test accuracy of LoFI with layers and radius, the number of masks, or the number of words"
        " changed from the defaults, mean over the folds that were run for all cells of a panel;"
        " bars are standard errors. Three folds are few, and differences of a point or two are"
        " noise. Nothing was chosen by them.",
        f"![Accuracy by layers and radius, masks, and words](results/{figures[0].name})",
        "## Learning curves",
        f"![Losses and validation accuracy by epoch](results/{figures[1].name})",
        *explanation_sections(),
        "## How sure",
        "Written by `python -m benchmarks.bench_uncertainty`: what several networks add to the"
        " accuracy, and to what is known of how sure they are. Means over splits; fewer networks"
        " than all are groups of the members of one ensemble.",
        *bench_uncertainty.tables(),
        "Written by `python -m benchmarks.bench_conformal`: coverage of conformal prediction at a"
        " confidence of 90 %, with its standard error and the number of splits, and the size of"
        " sets of classes or the width of intervals.",
        bench_conformal.table(),
        "## Published",
        "Other people's numbers, from the paper's table: other folds, other grids.",
        table(head, [[m, *map(str, values)] for m, values in PUBLISHED.items()]),
    ]  # fmt: skip
    TARGET.write_text("\n\n".join(sections) + "\n")


if __name__ == "__main__":
    write("small")
