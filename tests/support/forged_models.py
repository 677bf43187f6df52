"""Files that somebody has made up, with checksums that fit.

:func:`forge` changes a description at random. The functions in `FORGERIES` fill a file of some
size with what may take far more memory.
"""

import json
import sys
from contextlib import suppress
from pathlib import Path
from unittest import mock

import numpy as np
import safetensors.numpy
import skorch.callbacks
from saved_models import BONDS, DATA, TINY, graphs_and_targets, outputs
from sklearn.base import is_regressor

import sklofi
import sklofi.training._checkpoint
from sklofi import LoFIClassifier
from sklofi._storage import FORMAT, _checksum, read_file, write_file
from sklofi.training._net import GraphNet

# Things that a file must never bring about. Compiling and importing are among them: what is
# done to a forged file is done once before to one of ours, so that all it needs is there.
FORBIDDEN = (
    *("pickle.find_class", "exec", "compile", "import", "code.__new__", "function.__new__"),
    *("marshal.loads", "ctypes.dlopen", "os.system", "os.exec", "os.fork", "os.posix_spawn"),
    *("subprocess.Popen", "socket.connect", "socket.getaddrinfo", "os.remove", "shutil.rmtree"),
    *("open", "os.mkdir", "os.rename", "os.scandir", "os.listdir"),
)

# Files that sklofi and torch look at to find out about the machine.
OF_THE_MACHINE = ("/sys/", "/proc/")

LONG = 20_000

OTHERS = [
    *(None, True, -1, 0, 10**12, 1e300, "", "x", [], {}, [[]], {"!": "array", "value": "x"}),
    *({"!": "eval", "value": "1"}, {"!": "float", "value": "nan"}, {"!": "SVC", "value": {}}),
    *({"!": "GraphSet", "value": {}}, {"!": "csr", "shape": [1, 1], "value": {}}, "__class__"),
    *({"!": "tuple", "value": [1, 2]}, {"!": "bytes", "value": "6f73"}, {"!": "dict"}),
    *("x" * LONG, {"!": "texts", "shape": [LONG + 1], "value": ["x" * LONG, *[""] * LONG]}),
    *("hpu", "meta", "cuda:99", "privateuseone"),
    *({"!": "numpy", "dtype": name, "value": 1} for name in ("<f8", "i8,i8", "O", "V9", "str")),
    *({"!": "tuple", "value": "x" * LONG}, {"!": "numpy", "dtype": [], "value": [1] * LONG}),
]


def added(folder):
    """Keys that a file of ours does not have, or not with these values."""
    return [
        *[("memory", folder)] * 3,  # which did run code once
        *(("callbacks", [folder]), ("n_jobs", 2), ("checkpoint", folder)),
        *(("device", "hpu"), ("device", "meta"), ("device", ["cpu"])),
        *(("_parameter_constraints", {}), ("_network", folder), ("fit", folder)),
        *(("_metadata_request", folder), ("_skl_callbacks", [folder]), ("net_", folder)),
        *(("_sklearn_output_config", {"transform": "polars"}), ("_parent_callback_ctx", 1)),
        *(("estimator", {"!": "LogisticRegression", "value": {"n_jobs": 2, "memory": folder}}),),
        *(("kernel", {"!": "WLVectorizer", "value": {"memory": folder, "n_iter": 1}}),),
        *(("kernel_", folder), ("vectorizer_", folder), ("random_state", folder)),
        *(("dirname", folder), ("f_params", f"{folder}.pt")),  # of callbacks
    ]


def forge(description, rng, folder):
    """Change a description in one place: replace a value, remove one, or add one."""
    if rng.random() < 0.4:
        key, value = _any(added(folder), rng)
        _any(list(_objects(description)), rng)[key] = value
    else:
        _replace(description, rng)


def _objects(description):
    """The dictionaries that are filled into objects: estimators, callbacks, and what they hold."""
    if "state" in description:
        yield from description["state"]["callbacks"].values()
    else:
        yield from [description["parameters"], description["fitted"]] * 3
    values = [description]
    while values:
        value = values.pop()
        if isinstance(value, dict):
            if "!" in value and isinstance(value.get("value"), dict):
                yield value["value"]
            values += value.values()
        elif isinstance(value, list):
            values += value


def _replace(node, rng):
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    if not keys:
        return
    key = _any(keys, rng)
    if isinstance(node[key], dict | list) and node[key] and rng.random() < 0.85:
        _replace(node[key], rng)
    elif rng.random() < 0.3:
        del node[key]
    else:
        node[key] = _any(OTHERS, rng)


def _any(items, rng):
    return items[int(rng.integers(len(items)))]


class Watch:
    """Notes what must not happen while it is on. It stays for the rest of the process."""

    def __init__(self):
        self.allowed, self.seen = None, []
        sys.addaudithook(self.hear)

    def hear(self, event, arguments):
        if self.allowed is None:
            return
        what = str(arguments[0] if arguments else "")[:200]
        if event in FORBIDDEN and not what.startswith((*OF_THE_MACHINE, *self.allowed)):
            self.seen.append((event, what))

    def over(self, function, *arguments, allowed=()):
        """Call a function; what is done to files whose names begin so is not noted."""
        self.allowed = tuple(map(str, allowed))
        try:
            return function(*arguments)
        finally:
            self.allowed = None


def refit_under_watch(folder, n_cases):
    """In a process of its own: load forged files, fit again, and count what came of it.

    Neither loading nor fitting may open, import or start anything.
    """
    rng = np.random.default_rng(0)
    path, bait = Path(folder) / "model.safetensors", f"{folder}/bait"
    graphs, classes, y = graphs_and_targets()

    def fit_again(estimator):
        # Sizes are for the user to look at: here they are kept small.
        for name, value in estimator.get_params().items():
            if isinstance(value, int | float) and abs(value) > 100:
                estimator.set_params(**{name: 2})
        estimator.fit(graphs, y if is_regressor(estimator) else classes)
        outputs(estimator, graphs)
        repr(estimator)  # as errors show it

    originals = sorted((DATA / f"format-{FORMAT}").glob("*.safetensors"))
    watch = Watch()
    for _ in range(2):  # the first time imports what it takes
        watch.seen.clear()
        for original in originals:
            watch.over(fit_again, sklofi.load(original))
    usual = {*watch.seen}
    counts = {"refused": 0, "loaded": 0, "fitted again": 0}
    for case in range(n_cases):
        description, arrays = read_file(originals[case % len(originals)])
        forge(description, rng, bait)
        write_shortest(path, description, arrays)
        try:
            loaded = watch.over(sklofi.load, path, allowed=[path])
        except ValueError as error:
            assert str(path) in str(error)
            counts["refused"] += 1
            continue
        counts["loaded"] += 1
        try:
            watch.over(fit_again, loaded)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, MemoryError):
            continue
        counts["fitted again"] += 1
    assert {*watch.seen} <= usual, {*watch.seen} - usual
    assert not Path(bait).exists()
    print(json.dumps(counts))


def resume_under_watch(folder, n_cases):
    """In a process of its own: forge checkpoints, go on from them, and count what came of it."""
    rng = np.random.default_rng(0)
    own, bait = Path(folder) / "own", f"{folder}/bait"
    own.mkdir()
    path = own / "fit.safetensors"
    graphs, classes, _ = graphs_and_targets()
    train_step = GraphNet.train_step

    def crash(net, *arguments, **options):
        if len(net.history) == 3:
            raise EndOfProcess
        return train_step(net, *arguments, **options)

    def fit():
        keeper = skorch.callbacks.Checkpoint(monitor=None, f_pickle=None, dirname=str(own))
        estimator = LoFIClassifier(**TINY, **BONDS, callbacks=[keeper])
        return estimator.fit(graphs, classes, checkpoint=path)

    with (
        mock.patch.object(sklofi.training._checkpoint, "SECONDS_BETWEEN", 0),
        mock.patch.object(GraphNet, "train_step", crash),
    ):
        with suppress(EndOfProcess):
            fit()
    original = read_file(path)
    watch = Watch()
    for _ in range(2):  # the first time imports what it takes
        watch.seen.clear()
        write_file(path, *original)
        watch.over(fit, allowed=[own])
    usual = {*watch.seen}
    counts = {"refused": 0, "went on": 0}
    for _ in range(n_cases):
        write_file(path, *original)
        description, arrays = read_file(path)
        forge(description, rng, bait)
        write_shortest(path, description, arrays)
        try:
            watch.over(fit, allowed=[own])
        except ValueError as error:
            assert str(path) in str(error), error
            counts["refused"] += 1
        else:
            counts["went on"] += 1
    assert {*watch.seen} <= usual, {*watch.seen} - usual
    print(json.dumps(counts))


class EndOfProcess(Exception):
    """Stands for a crash in the middle of a fit."""


def rewritten(path, change):
    """The same file with another description, and a checksum that fits."""
    description, arrays = read_file(path)
    change(description)
    write_file(path, description, arrays)
    return path


def fill(path, forgery, n_bytes):
    """Let a file have about so many bytes, most of them made up."""
    description, arrays = read_file(path)
    forgery(description, arrays, n_bytes)
    write_shortest(path, description, arrays)


def write_shortest(path, description, arrays):
    """As an attacker writes: in as few bytes as possible, and whatever it is."""
    text = json.dumps(description, separators=(",", ":"), ensure_ascii=False)
    metadata = {"sklofi": text, "checksum": _checksum(text, arrays)}
    path.write_bytes(safetensors.numpy.save(arrays, metadata))


def filled_with(value, place="extra_"):
    """A list of as many copies of a value as there is room for, as a fitted attribute."""

    def change(description, arrays, n_bytes):
        text = json.dumps(value, separators=(",", ":"))
        n_each = len(text) + text.count('"') + 1  # the description stands in a text itself
        description["fitted"][place] = [value] * (n_bytes // n_each)

    return change


def one_long_text(description, arrays, n_bytes):
    texts = ["x" * (n_bytes // 2), *[""] * (n_bytes // 10)]
    description["fitted"]["extra_"] = {"!": "texts", "shape": [len(texts)], "value": texts}


def many_long_texts(description, arrays, n_bytes):
    """Each array alone is in proportion to the file."""
    texts = {"!": "texts", "shape": [31], "value": ["x" * 300, *[""] * 30]}
    filled_with(texts)(description, arrays, n_bytes)


def one_array_often(description, arrays, n_bytes):
    arrays["a"] = np.zeros(n_bytes // 2, np.int8)
    filled_with({"!": "array", "value": "a"})(description, arrays, n_bytes // 2)


def one_matrix_often(description, arrays, n_bytes):
    arrays["a"] = np.zeros(n_bytes // 2, np.int8)
    arrays["i"], arrays["p"] = np.zeros(n_bytes // 2, np.int32), np.array([0, n_bytes // 2])
    parts = {"data": "a", "indices": "i", "indptr": "p"}
    value = {name: {"!": "array", "value": key} for name, key in parts.items()}
    csr = {"!": "csr", "shape": [1, 1], "value": value}
    filled_with(csr)(description, arrays, n_bytes // 4)


def deep_lists_and_one_long_text(description, arrays, n_bytes):
    """What each takes at most, side by side."""
    deep = []
    for _ in range(249):
        deep = [deep]
    n_texts = int((8 * n_bytes / 5) ** 0.5 * 0.95)
    texts = ["a" * (5 * n_texts), *[""] * (n_texts - 1)]
    description["fitted"]["extra_"] = [
        [deep] * (n_bytes // 501),
        {"!": "texts", "shape": [n_texts], "value": texts},
    ]


def many_arrays(description, arrays, n_bytes):
    names = [str(i) for i in range(n_bytes // 100)]
    arrays.update({name: np.zeros(0, np.int8) for name in names})
    description["fitted"]["extra_"] = [{"!": "array", "value": name} for name in names]


def wide_characters(description, arrays, n_bytes):
    description["fitted"]["extra_"] = "\U0001f600" + "x" * n_bytes


def empty_lists_among_wide_characters(description, arrays, n_bytes):
    description["fitted"]["extra_"] = ["\U0001f600", *[[]] * (n_bytes // 3)]


def empty_rows_of_history(description, arrays, n_bytes):
    description["fitted"]["net_"]["history"] = [{}] * (n_bytes // 3)


def short_rows_of_history(description, arrays, n_bytes):
    description["fitted"]["net_"]["history"] = [{"epoch": 1}] * (n_bytes // 14)


def many_layers(description, arrays, n_bytes):
    """As many layers as there are weights, times as many poolings where there are any."""
    net = description["fitted"]["net_"]
    for i in range(n_bytes // 120):
        name = f"w{i}"
        arrays[name] = np.zeros(4, np.int8)
        net["weights"][name] = {"!": "array", "value": name}
    n_weights = len(net["weights"])
    net["architecture"]["n_layers"] = n_weights
    if "n_poolings" in net["architecture"]:
        net["architecture"]["n_poolings"] = n_weights


def wide_layers(description, arrays, n_bytes):
    """As wide as the number of weights allows, in each direction."""
    net = description["fitted"]["net_"]
    arrays[net["weights"]["output.weight"]["value"]] = np.zeros(n_bytes, np.int8)
    net["architecture"] |= {"n_masks": n_bytes, "n_words": n_bytes}


def relations_without_end(description, arrays, n_bytes):
    """An array that takes no bytes has any number of rows."""
    kinds = description["fitted"]["_relation_encoder"]["value"]["kinds"]["value"]
    arrays[kinds] = np.zeros((10**12, 0), np.int64)
    description["fitted"]["net_"]["architecture"]["n_relations"] = 10**12


def nodes_without_end(description, arrays, n_bytes):
    graphs = description["fitted"]["kernel_"]["value"]["_graphs"]["value"]
    arrays[graphs["node_offsets"]["value"]] = np.array([0, 10**8])


def degrees_without_end(description, arrays, n_bytes):
    graphs = description["fitted"]["kernel_"]["value"]["_graphs"]["value"]
    offsets = arrays[graphs["edge_offsets"]["value"]].copy()
    offsets[1:] += 10**8
    arrays[graphs["edge_offsets"]["value"]] = offsets


def offsets_that_overflow(description, arrays, n_bytes):
    """Their differences are positive, and their sum is right."""
    graphs = description["fitted"]["kernel_"]["value"]["_graphs"]["value"]
    n_nodes = len(arrays[graphs["edge_offsets"]["value"]]) - 1
    arrays[graphs["node_offsets"]["value"]] = np.array([0, 2**63 - 1, -2, n_nodes])
    arrays[graphs["directed"]["value"]] = np.zeros(3, bool)


def columns_without_end(description, arrays, n_bytes):
    description["fitted"]["_features"]["shape"][1] = 10**9


def deep(description, arrays, n_bytes):
    nested = []
    for _ in range(400):
        nested = [nested]
    description["fitted"]["extra_"] = nested


def many_attributes(description, arrays, n_bytes):
    """The members of an ensemble have all of them, too."""
    description["fitted"] |= {f"q{i:x}": 0 for i in range(n_bytes // 12)}


def long_names(description, arrays, n_bytes):
    description["class"] = "x" * n_bytes


# What is done to which of the estimators in saved_models.
FORGERIES = {
    "one long text": ("classifier", one_long_text),
    "many long texts": ("classifier", many_long_texts),
    "one array often": ("classifier", one_array_often),
    "one matrix often": ("svc", one_matrix_often),
    "deep lists and one long text": ("svc", deep_lists_and_one_long_text),
    "many arrays": ("vectorizer", many_arrays),
    "wide characters": ("vectorizer", wide_characters),
    "empty lists": ("vectorizer", filled_with([])),
    "empty lists among wide characters": ("vectorizer", empty_lists_among_wide_characters),
    "empty dictionaries": ("vectorizer", filled_with({})),
    "empty sets": ("vectorizer", filled_with({"!": "set", "value": []})),
    "empty arrays": ("vectorizer", filled_with({"!": "objects", "shape": [0], "value": []})),
    "floats": ("vectorizer", filled_with(1e9)),
    "machines": ("svc", filled_with({"!": "SVC", "value": {}})),
    "linear machines": ("FingerprintClassifier", filled_with({"!": "Ridge", "value": {}})),
    "calibrated machines": ("svc", filled_with({"!": "CalibratedClassifierCV", "value": {}})),
    "vectorizers": ("svc", filled_with({"!": "WLVectorizer", "value": {}})),
    "empty rows of history": ("classifier", empty_rows_of_history),
    "short rows of history": ("classifier", short_rows_of_history),
    "many layers": ("classifier", many_layers),
    "many layers of a peer": ("GINRegressor", many_layers),
    "layers times poolings": ("DiffPoolRegressor", many_layers),
    "wide layers": ("classifier", wide_layers),
    "kinds of relations without end": ("classifier-bonds", relations_without_end),
    "nodes without end": ("svc-walks", nodes_without_end),
    "degrees without end": ("svc-walks", degrees_without_end),
    "offsets that overflow": ("svc-walks", offsets_that_overflow),
    "columns without end": ("svc", columns_without_end),
    "nested lists": ("vectorizer", deep),
    "many attributes": ("classifier-members", many_attributes),
    "a long name": ("vectorizer", long_names),
}
