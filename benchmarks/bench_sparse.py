"""The ways of torch (and scipy) to multiply a sparse matrix of counts with a dense one.

SKLOFI_DATA=folder/with/zips python -m benchmarks.bench_sparse

Microseconds of the product and of its gradient, for the egonets of a batch of 32 graphs
whose nodes are not merged. The gradient is a product with the transpose, which is given
where that helps.
"""

import warnings

import numpy as np
import scipy.sparse as sp
import torch

from benchmarks.bench_speed import take_turns, timed
from benchmarks.data import read_tu
from sklofi import GraphSet
from sklofi.egonets import egonet_incidence
from sklofi.nn import CountMatrix

N_COLUMNS = 256  # 16 masks of 16 words


def bag(matrix, x):
    return matrix.sum_rows(x)


def index_add(matrix, x, rows):
    weighted = x[matrix.columns] * matrix.counts[:, None]
    return x.new_zeros(len(matrix), x.shape[1]).index_add_(0, rows, weighted)


def segment_reduce(matrix, x):
    weighted = x[matrix.columns] * matrix.counts[:, None]
    return torch.segment_reduce(weighted, "sum", offsets=matrix.offsets.long())


def sparse_csr(matrix, n_columns, dtype):
    return torch.sparse_csr_tensor(
        matrix.offsets.to(dtype),
        matrix.columns.to(dtype),
        matrix.counts,
        size=(len(matrix), n_columns),
        check_invariants=False,
    )


def main():
    warnings.simplefilter("ignore")  # torch calls its sparse tensors beta
    for name in ("MUTAG", "NCI1", "PROTEINS", "IMDB-BINARY"):
        graphs, _ = read_tu(name)
        X = GraphSet.from_networkx(graphs)
        rows = np.random.default_rng(0).permutation(len(X))[:32]
        incidence = egonet_incidence(X[rows], 1)
        matrix = CountMatrix.from_scipy(incidence)
        n_nodes = len(matrix)
        x = torch.rand(n_nodes, N_COLUMNS)
        csr_32, csr_64 = (sparse_csr(matrix, n_nodes, d) for d in (torch.int32, torch.int64))
        entry_rows = matrix.rows()
        dense = torch.from_numpy(incidence.toarray())
        scipy_csr, x_numpy = sp.csr_array(incidence), x.numpy()
        ways = {
            "embedding_bag": lambda m=matrix, x=x: bag(m, x),
            "CSR, 32 bits": lambda m=csr_32, x=x: m @ x,
            "CSR, 64 bits": lambda m=csr_64, x=x: m @ x,
            "index_add": lambda m=matrix, x=x, r=entry_rows: index_add(m, x, r),
            "segment_reduce": lambda m=matrix, x=x: segment_reduce(m, x),
            "dense": lambda m=dense, x=x: m @ x,
            "scipy": lambda m=scipy_csr, x=x_numpy: m @ x,
        }
        for way in ways.values():
            np.testing.assert_allclose(way(), dense @ x, rtol=1e-4)
        medians = take_turns(
            {way: (lambda f=f: timed(f)) for way, f in ways.items()}, n_rounds=100, seconds=60
        )
        g = x.clone().requires_grad_()
        gradients = take_turns(
            {
                "embedding_bag, transpose given": lambda m=matrix, g=g: backward(m @ g),
                "embedding_bag, autograd": lambda m=matrix, g=g: backward(autograd_bag(m, g)),
                "CSR, 32 bits, autograd": lambda m=csr_32, g=g: backward(m @ g),
                "index_add, autograd": lambda m=matrix, g=g, r=entry_rows: backward(
                    index_add(m, g, r)
                ),
            },
            n_rounds=100,
            seconds=60,
        )
        for what, row in (("product ", medians), ("gradient", gradients)):
            cells = "  ".join(f"{way}: {1e6 * value:.0f}" for way, value in row.items())
            print(f"{name:12} {n_nodes:5} nodes  {what}  {cells}", flush=True)


def autograd_bag(matrix, x):
    return torch.nn.functional.embedding_bag(
        matrix.columns,
        x,
        matrix.offsets,
        mode="sum",
        per_sample_weights=matrix.counts,
        include_last_offset=True,
    )


def backward(output):
    gradient = torch.ones_like(output)
    return timed(output.backward, gradient)


if __name__ == "__main__":
    main()
