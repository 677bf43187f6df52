"""Parts of graphs, side by side as one graph: whole graphs, or the egonet of each node."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from torch import Tensor

from sklofi.nn._count_matrix import CountMatrix
from sklofi.nn._flat import FlatGraphs

# Pairs that are looked at together when edges inside egonets are found: some 30 MB.
PAIRS_AT_ONCE = 2**19


def _offsets(counts: Tensor) -> Tensor:
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def _ranges(starts: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """For each row some numbers in sequence: the row and the value of each."""
    offsets = _offsets(counts)
    n_numbers = int(offsets[-1])
    rows = torch.arange(len(counts), device=counts.device)
    rows = rows.repeat_interleave(counts, output_size=n_numbers)
    numbers = torch.arange(n_numbers, device=counts.device)
    return rows, numbers + (starts - offsets[:-1])[rows]


def _cuts(sizes: Tensor) -> list[int]:
    """Where to cut rows of these sizes into pieces of about `PAIRS_AT_ONCE`, with both ends."""
    totals = sizes.cumsum(0)
    marks = totals.new_tensor(range(PAIRS_AT_ONCE, int(totals[-1]), PAIRS_AT_ONCE))
    return sorted({0, *torch.searchsorted(totals, marks).tolist(), len(sizes)})


def _ones(counts: Tensor, columns: Tensor, transposed: CountMatrix | None = None) -> CountMatrix:
    """A matrix of zeros and ones: how many are in each row, and in which columns."""
    # 32 bits are faster, and half of the memory; offsets and columns must agree.
    dtype = torch.int32 if len(columns) < 2**31 else torch.int64
    ones = torch.ones(len(columns), dtype=torch.float32, device=columns.device)
    return CountMatrix(_offsets(counts).to(dtype), columns.to(dtype), ones, transposed)


def picking(columns: Tensor, n_columns: int) -> CountMatrix:
    """A one in each row: ``picking @ x`` is ``x[columns]``."""
    counts = torch.bincount(columns, minlength=n_columns)
    transposed = _ones(counts, torch.argsort(columns, stable=True))
    return _ones(torch.ones_like(columns), columns, transposed)


def grouping(rows: Tensor, n_rows: int) -> CountMatrix:
    """A one in each column, in row ``rows[column]``; these have to ascend."""
    columns = torch.arange(len(rows), device=rows.device)
    transposed = _ones(torch.ones_like(rows), rows)
    return _ones(torch.bincount(rows, minlength=n_rows), columns, transposed)


@dataclass(frozen=True, eq=False)
class _Edges:
    """Edges, each once, in the order of their sources and targets."""

    codes: Tensor  # (n_edges,): n_nodes * source + target
    targets: Tensor  # (n_edges,)
    counts: Tensor  # (n_nodes,): the number of edges from each node
    offsets: Tensor  # (n_nodes + 1,): where they begin


def _both_ways(graphs: FlatGraphs) -> list[_Edges]:
    """The edges, and the same backwards if that is a difference: the last is the transpose."""
    n_nodes = len(graphs.x)

    def sort(sources: Tensor, targets: Tensor) -> _Edges:
        codes = torch.unique(sources * n_nodes + targets)
        counts = torch.bincount(codes // n_nodes, minlength=n_nodes)
        return _Edges(codes, codes % n_nodes, counts, _offsets(counts))

    sources, targets = graphs.edge_index
    edges, backwards = sort(sources, targets), sort(targets, sources)
    return [edges] if torch.equal(edges.codes, backwards.codes) else [edges, backwards]


def _inner_edges(members: Tensor, edges: _Edges) -> tuple[Tensor, Tensor]:
    """How many neighbors of each member are in the same egonet, and which.

    An edge inside the egonet of ``v`` is a pair of a member ``w`` and a node ``u`` that is
    both a neighbor of ``w`` and a member. The shorter of these two lists is tried, so that
    a hub, which has many neighbors and is in many egonets, does no harm.
    """
    n_nodes, n_edges = len(edges.counts), len(edges.codes)
    owners, nodes = members // n_nodes, members % n_nodes
    sizes = torch.bincount(owners, minlength=n_nodes)
    # What can be tried and looked up, in ascending order: edges, then members.
    codes = torch.cat([edges.codes, members + n_nodes * n_nodes])
    ends = torch.cat([edges.targets, nodes])
    try_edges = edges.counts[nodes] <= sizes[owners]
    n_tries = torch.where(try_edges, edges.counts[nodes], sizes[owners])
    starts = torch.where(try_edges, edges.offsets[nodes], n_edges + _offsets(sizes)[owners])
    # The end of an edge must be a member (v, u), and a member the end of an edge (w, u).
    wanted_codes = n_nodes * torch.where(try_edges, n_nodes + owners, nodes)

    counts, columns = [], []
    for begin, end in pairwise(_cuts(n_tries)):
        piece = slice(begin, end)
        rows, tried = _ranges(starts[piece], n_tries[piece])
        wanted = wanted_codes[piece][rows] + ends[tried]
        places = torch.searchsorted(codes, wanted)
        found = codes[places.clamp_(max=len(codes) - 1)] == wanted
        rows, tried, places = rows[found], tried[found], places[found]
        column = torch.where(try_edges[piece][rows], places, tried) - n_edges
        counts.append(torch.bincount(rows, minlength=end - begin))
        columns.append(column.to(torch.int32) if len(members) < 2**31 else column)
    return torch.cat(counts), torch.cat(columns)


@dataclass(frozen=True, eq=False)
class Subgraphs:
    """Parts of graphs, side by side as one graph. A node stands here once for each part."""

    nodes: CountMatrix | None  # (n_members, n_nodes): who the members are; None: each node once
    edges: CountMatrix  # (n_members, n_members)
    owners: CountMatrix  # (n_subgraphs, n_members): whose members they are

    def members(self, x: Tensor) -> Tensor:
        """Rows of members from those of nodes."""
        return x if self.nodes is None else self.nodes @ x


def whole_graphs(graphs: FlatGraphs) -> Subgraphs:
    """Each graph as one part."""
    edges = [_ones(way.counts, way.targets) for way in _both_ways(graphs)]
    return Subgraphs(
        nodes=None,
        edges=replace(edges[0], transposed=edges[-1]),
        owners=grouping(graphs.graph, graphs.n_graphs),
    )


def egonets(graphs: FlatGraphs, radius: int = 1) -> Subgraphs:
    """The egonet of each node as a part.

    It has the nodes that can be reached from its owner in at most ``radius`` steps, and
    all edges between them.
    """
    ways = _both_ways(graphs)
    n_nodes = len(graphs.x)
    # A member is the pair of its owner and itself, as one number.
    members = torch.arange(n_nodes, device=graphs.x.device) * (n_nodes + 1)
    for _ in range(radius):
        nodes = members % n_nodes
        rows, positions = _ranges(ways[0].offsets[nodes], ways[0].counts[nodes])
        farther = (members - nodes)[rows] + ways[0].targets[positions]
        n_before, members = len(members), torch.unique(torch.cat([members, farther]))
        if len(members) == n_before:
            break  # all that can be reached
    edges = [_ones(*_inner_edges(members, way)) for way in ways]
    return Subgraphs(
        nodes=picking(members % n_nodes, n_nodes),
        edges=replace(edges[0], transposed=edges[-1]),
        owners=grouping(members // n_nodes, n_nodes),
    )
