"""Members that stand in relations to the center: the fast layer, the formula, and a loop."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from lofi_loops import gradients, loop_layer
from torch.testing import assert_close

from sklofi.nn import LoFILayer, RelatedEgonets
from sklofi.nn import _lofi_autograd as fast

KERNELS = ("intersection", "l1")


@pytest.fixture(autouse=True, params=["softmax", "powers of 2"])
def way_to_assign(request, monkeypatch):
    monkeypatch.setattr(fast, "MANY_NUMBERS", 2**16 if request.param == "softmax" else 0)


def random_incidences(n_relations=3, n_egonets=6, n_nodes=8, seed=0):
    """Counts above one, weights, an empty egonet, a node that is nowhere a member."""
    rng = np.random.default_rng(seed)
    incidences = rng.integers(0, 3, size=(n_relations, n_egonets, n_nodes)).astype(np.float32)
    incidences *= rng.random(incidences.shape) < 0.3
    incidences[0] *= 0.5
    incidences[:, -1] = 0
    incidences[:, :, 2] = 0
    return incidences


def related(incidences):
    return RelatedEgonets.from_scipy([sp.csr_array(matrix) for matrix in incidences])


def random_layer(kernel="l1", n_relations=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return LoFILayer(4, 3, 5, kernel, n_relations=n_relations, generator=generator).double()


def random_nodes(n_nodes=8, seed=1):
    x = torch.randn(n_nodes, 4, generator=torch.Generator().manual_seed(seed)).double()
    x[3] = 0
    return x


def members_of(incidences):
    """For each egonet its members, each a node, the vector of its relation, and its weight."""
    vectors = torch.eye(len(incidences)).double()
    return [
        [(int(u), vectors[r], float(row[r, u])) for r, u in zip(*row.nonzero(), strict=True)]
        for row in incidences.swapaxes(0, 1)
    ]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("seed", range(5))
def test_the_fast_way_equals_a_loop_over_single_egonets(kernel, seed):
    incidences = random_incidences(seed=seed)
    layer, x = random_layer(kernel, seed=seed), random_nodes(seed=seed)
    got = layer(x, related(incidences))
    wanted = loop_layer(layer, x, members_of(incidences))
    assert_close(got, wanted)
    for ours, theirs in zip(gradients(layer, got), gradients(layer, wanted), strict=True):
        assert_close(ours, theirs)
    with torch.no_grad():
        assert_close(layer(x, related(incidences)), wanted)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("where", ["temperature", "offset"])
@pytest.mark.parametrize("size", [60, 1e3, 1e5])
def test_large_logits_do_not_overflow(size, where, dtype):
    incidences, layer, x = random_incidences(), random_layer().to(dtype), random_nodes().to(dtype)
    with torch.no_grad():
        getattr(layer, where).mul_(size / getattr(layer, where).abs().max())
    got = layer(x, related(incidences))
    members = [[(u, r.to(dtype), n) for u, r, n in row] for row in members_of(incidences)]
    wanted = loop_layer(layer, x, members)
    tolerance = {} if dtype == torch.float64 else {"rtol": 0.0, "atol": 1e-6 * size}
    assert_close(got, wanted, **tolerance)
    for ours, theirs in zip(gradients(layer, got), gradients(layer, wanted), strict=True):
        assert ours.isfinite().all()
        if dtype == torch.float64:
            assert_close(ours, theirs)


@pytest.mark.parametrize("in_part", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_fast_way_equals_the_formula(kernel, in_part):
    egonets, layer, x = related(random_incidences()), random_layer(kernel), random_nodes()
    x[3] = 1  # at zero, a gradient is rounding
    presence = torch.rand(8, generator=torch.Generator().manual_seed(4)).double()
    results = []
    for width in ((1,), (1, 3)):  # a presence for each mask goes through the formula
        inputs = [x.clone().requires_grad_(), *layer.parameters()]
        there = None
        if in_part or width == (1, 3):
            there = presence.clone() if in_part else torch.ones(8).double()
            there.requires_grad_(in_part)
            inputs += [there] if in_part else []
        given = there if there is None or width == (1,) else there[:, None].expand(8, 3)
        z = layer(inputs[0], egonets, given)
        weights = torch.randn(z.shape, generator=torch.Generator().manual_seed(5)).double()
        results.append([z, *torch.autograd.grad((weights * z).sum(), inputs)])
    for got, wanted in zip(*results, strict=True):
        assert_close(got, wanted)


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradients_equal_finite_differences(kernel):
    egonets, layer = related(random_incidences()), random_layer(kernel)
    x = torch.randn(8, 4, generator=torch.Generator().manual_seed(2)).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda x, *_: layer(x, egonets), (x, *layer.parameters()))


@pytest.mark.parametrize("kernel", KERNELS)
def test_without_gradients_pieces_equal_the_whole(kernel, monkeypatch):
    egonets, layer, x = related(random_incidences()), random_layer(kernel), random_nodes()
    expected = layer(x, egonets)
    monkeypatch.setattr(fast, "NUMBERS_IN_CACHE", 4 * 3 * 5)
    with torch.no_grad():
        assert_close(layer(x, egonets), expected)


def test_one_relation_without_offset_is_the_published_layer():
    incidence = sp.csr_array(random_incidences()[1])
    layer, x = random_layer(n_relations=1), random_nodes()
    with torch.no_grad():
        layer.offset.zero_()
    published = LoFILayer(4, 3, 5).double()
    published.load_state_dict({k: v for k, v in layer.state_dict().items() if k != "offset"})
    plain = torch.from_numpy(incidence.toarray()).double().to_sparse()
    assert_close(layer(x, RelatedEgonets.from_scipy([incidence])), published(x, plain))


def test_a_relation_that_training_did_not_have_shifts_nothing():
    incidences = random_incidences()
    layer, x, egonets = random_layer(), random_nodes(), related(incidences)
    vectors = torch.eye(3)
    vectors[1] = 0
    unknown = RelatedEgonets(egonets.members, egonets.pairs, vectors)
    members = [[(u, r * (r[1] != 1), w) for u, r, w in row] for row in members_of(incidences)]
    assert_close(layer(x, unknown), loop_layer(layer, x, members))


def test_relations_need_a_layer_that_was_made_for_them():
    with pytest.raises(ValueError, match="pass n_relations"):
        LoFILayer(4, 3, 5).double()(random_nodes(), related(random_incidences()))


def test_blocks_are_the_egonets_of_some_graphs():
    """Two graphs of three and five nodes; the second twice, then the first."""
    first, second = random_incidences(3, 3, 3, seed=1), random_incidences(3, 5, 5, seed=2)

    def joined(parts):
        return related(
            np.stack([sp.block_diag([part[r] for part in parts]).toarray() for r in range(3)])
        )

    nodes = torch.tensor([0, 3, 8])
    taken = joined([first, second]).take_blocks(torch.tensor([1, 1, 0]), nodes, nodes)
    wanted = joined([second, second, first])
    layer, x = random_layer(), torch.randn(13, 4).double()
    got = layer(x, taken)
    assert_close(got, layer(x, wanted))
    for ours, theirs in zip(gradients(layer, got), gradients(layer, layer(x, wanted)), strict=True):
        assert_close(ours, theirs)
