"""Sparse matrices of counts, and their products with dense ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

# How torch.embedding_bag calls its way to reduce.
_SUM = 0


def take_rows(offsets: Tensor, segments: Tensor) -> tuple[Tensor, Tensor]:
    """Positions of the items of some segments of a flat array, and their new offsets.

    >>> take_rows(torch.tensor([0, 2, 5, 6]), torch.tensor([2, 0]))
    (tensor([5, 0, 1]), tensor([0, 1, 3]))
    """
    starts = offsets[segments].long()
    lengths = offsets[segments + 1].long() - starts
    taken = F.pad(lengths.cumsum(0), (1, 0))
    shift = (starts - taken[:-1]).repeat_interleave(lengths)
    return torch.arange(len(shift), device=shift.device) + shift, taken


def sum_groups(x: Tensor, size: int) -> Tensor:
    """Sum each `size` rows that follow each other.

    >>> sum_groups(torch.tensor([[1.0], [10.0], [2.0], [20.0]]), 2)
    tensor([[11.],
            [22.]])
    """
    # As in CountMatrix.sum_rows: twice as fast as a sum along an axis in the middle.
    rows = torch.arange(len(x), dtype=torch.int32, device=x.device)
    offsets = torch.arange(0, len(x) + 1, size, dtype=torch.int32, device=x.device)
    return torch.embedding_bag(x, rows, offsets, mode=_SUM, include_last_offset=True)[0]


def refuse_second_derivatives() -> None:
    # Autograd records a backward only for create_graph=True.
    if torch.is_grad_enabled():
        raise RuntimeError(
            "A CountMatrix has no second derivatives (create_graph=True); a LoFILayer has them"
            " if egonets are a sparse tensor."
        )


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: CountMatrix, x: Tensor, counts: Tensor) -> Tensor:
        ctx.matrix = matrix
        if ctx.needs_input_grad[2]:
            ctx.save_for_backward(x)
        return matrix.sum_rows(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        matrix, of_x, of_counts = ctx.matrix, None, None
        if ctx.needs_input_grad[1]:
            # Autograd records a backward only for create_graph=True.
            is_recorded = torch.is_grad_enabled()
            of_x = (
                matrix.transpose() @ gradient if is_recorded else matrix.sum_rows_backward(gradient)
            )
        if ctx.needs_input_grad[2]:
            (x,) = ctx.saved_tensors
            of_counts = (gradient[matrix.rows()] * x[matrix.columns]).sum(1)
            of_counts = of_counts.to(matrix.counts.dtype)
        return None, of_x, of_counts


@dataclass(frozen=True, eq=False)
class CountMatrix:
    """Sparse matrix of counts, for products with dense matrices that have gradients.

    ``counts @ x`` sums rows of ``x``. On CPU this is several times faster than a product
    with a sparse tensor of torch, forwards and above all backwards, where torch builds
    the transpose anew each time.

    Parameters
    ----------
    offsets : Tensor of shape (n_rows + 1,)
        The entries of row ``i`` are those from ``offsets[i]`` up to ``offsets[i + 1]``.

    columns : Tensor of shape (n_entries,)
        Column of each entry.

    counts : Tensor of shape (n_entries,)
        The entries.

    transposed : CountMatrix, default=None
        The same matrix, transposed; only gradients need it.

    is_symmetric : bool, default=False
        Whether the matrix is its own transpose, so that gradients need no other.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> import torch
    >>> from sklofi.nn import CountMatrix
    >>> counts = CountMatrix.from_scipy(sp.csr_array([[1, 2], [0, 1]]))
    >>> counts @ torch.tensor([[1.0], [10.0]])
    tensor([[21.],
            [10.]])
    """

    offsets: Tensor
    columns: Tensor
    counts: Tensor
    transposed: CountMatrix | None = None
    is_symmetric: bool = False

    @classmethod
    def from_scipy(cls, matrix: Any) -> CountMatrix:
        """Convert a scipy.sparse matrix or array.

        Parameters
        ----------
        matrix : scipy.sparse matrix or array
            The counts.

        Returns
        -------
        counts : CountMatrix
            The same matrix, with its transpose.
        """

        def convert(csr: Any, transposed: CountMatrix | None = None) -> CountMatrix:
            return cls(
                torch.from_numpy(csr.indptr.astype("int32")),
                torch.from_numpy(csr.indices.astype("int32")),
                torch.from_numpy(csr.data.astype("float32")),
                transposed,
            )

        return convert(matrix.tocsr(), convert(matrix.T.tocsr()))

    @classmethod
    def from_entries(
        cls, rows: Tensor, columns: Tensor, counts: Tensor, n_rows: int
    ) -> CountMatrix:
        """Sort entries that come in any order.

        Parameters
        ----------
        rows, columns : Tensor of shape (n_entries,)
            Row and column of each entry. Several entries may be at the same place.

        counts : Tensor of shape (n_entries,)
            The entries.

        n_rows : int
            Number of rows.

        Returns
        -------
        matrix : CountMatrix
            The matrix, without its transpose. Entries of a row keep their order.
        """
        order = rows.argsort(stable=True)
        offsets = F.pad(torch.bincount(rows, minlength=n_rows).cumsum(0), (1, 0))
        # 32 bits are faster, and half of the memory.
        return cls(offsets.int(), columns[order].int(), counts[order])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __matmul__(self, x: Tensor) -> Tensor:
        product: Tensor = _Product.apply(self, x, self.counts)  # type: ignore[no-untyped-call]
        return product

    @property
    def has_transpose(self) -> bool:
        """Whether products have gradients."""
        return self.is_symmetric or self.transposed is not None

    def transpose(self) -> CountMatrix:
        """Return the transpose, which has to be there.

        Returns
        -------
        transposed : CountMatrix
            The transpose, with this matrix as its own.
        """
        if self.is_symmetric:
            return self
        if self.transposed is None:
            raise RuntimeError("This CountMatrix was made without its transpose.")
        return replace(self.transposed, transposed=self)

    def with_transpose(self, n_columns: int) -> CountMatrix:
        """Return the same matrix with its transpose, which is made if it is not there.

        Parameters
        ----------
        n_columns : int
            Number of columns.

        Returns
        -------
        matrix : CountMatrix
            The matrix.
        """
        if self.has_transpose:
            return self
        transposed = CountMatrix.from_entries(
            self.columns.long(), self.rows(), self.counts, n_columns
        )
        return replace(self, transposed=transposed)

    def to(self, device: str | torch.device) -> CountMatrix:
        """Move the matrix to a device.

        Parameters
        ----------
        device : str or torch.device
            Where to.

        Returns
        -------
        counts : CountMatrix
            The same matrix there.
        """
        return CountMatrix(
            self.offsets.to(device),
            self.columns.to(device),
            self.counts.to(device),
            None if self.transposed is None else self.transposed.to(device),
            self.is_symmetric,
        )

    def double(self) -> CountMatrix:
        """Return the same matrix in double precision.

        Returns
        -------
        matrix : CountMatrix
            The matrix.
        """
        transposed = None if self.transposed is None else self.transposed.double()
        return replace(self, counts=self.counts.double(), transposed=transposed)

    def rows(self) -> Tensor:
        """Return the row of each entry.

        Returns
        -------
        rows : Tensor of shape (n_entries,)
            Rows, ascending.
        """
        rows = torch.arange(len(self), device=self.offsets.device)
        return rows.repeat_interleave(self.offsets.diff(), output_size=len(self.columns))

    def row_sums(self) -> Tensor:
        """Return the sum of the entries of each row.

        Returns
        -------
        sums : Tensor of shape (n_rows,)
            The sums.
        """
        return self.counts.new_zeros(len(self)).index_add(0, self.rows(), self.counts)

    def column_sums(self, row_weights: Tensor, n_columns: int) -> Tensor:
        """Return the sum of the entries of each column, with weights for the rows.

        Parameters
        ----------
        row_weights : Tensor of shape (n_rows,)
            Weights of the rows.

        n_columns : int
            Number of columns.

        Returns
        -------
        sums : Tensor of shape (n_columns,)
            The sums, in double precision.
        """
        # In 64 bits, so that the order of the rows does not matter.
        entries = self.counts.double() * row_weights.double()[self.rows()]
        return entries.new_zeros(n_columns).index_add(0, self.columns, entries)

    def scale_columns(self, factors: Tensor) -> CountMatrix:
        """Return the same matrix with a factor for each column, without its transpose.

        Parameters
        ----------
        factors : Tensor of shape (n_columns,)
            The factors.

        Returns
        -------
        scaled : CountMatrix
            The scaled matrix.
        """
        counts = self.counts * factors[self.columns]
        return CountMatrix(self.offsets, self.columns, counts)

    def normalize(self) -> CountMatrix:
        r"""Divide the entries of a square matrix by the roots of two sums.

        Returns
        -------
        normalized : CountMatrix
            The matrix with :math:`a_{ij} / \sqrt{d_i d_j}` in place of :math:`a_{ij}`, where
            :math:`d_i` is the sum of row :math:`i`.
        """
        rows = self.rows()
        total = self.counts.new_zeros(len(self)).index_add(0, rows, self.counts)
        scale = total.masked_fill(total == 0, torch.inf).rsqrt()
        columns = scale.index_select(0, self.columns)
        normalized = replace(self, counts=scale.index_select(0, rows) * self.counts * columns)
        if self.transposed is None:
            return normalized
        counts = self.transposed.counts * scale.index_select(0, self.transposed.rows())
        counts = counts * scale.index_select(0, self.transposed.columns)
        return replace(normalized, transposed=replace(self.transposed, counts=counts))

    def average(self) -> CountMatrix:
        """Divide the entries by the sums of their rows.

        Returns
        -------
        means : CountMatrix
            The matrix; its product with a dense matrix has means of rows in place of sums, and
            zeros in place of means of nothing.
        """
        rows = self.rows()
        total = self.counts.new_zeros(len(self)).index_add(0, rows, self.counts)
        total = torch.where(total == 0, 1, total)
        # Divided first: a large count beside others is about one, and no product overflows.
        counts = self.counts / total.index_select(0, rows)
        transposed = self if self.is_symmetric else self.transposed
        if transposed is not None:
            of_column = total.index_select(0, transposed.columns)
            transposed = CountMatrix(
                transposed.offsets, transposed.columns, transposed.counts / of_column
            )
        return CountMatrix(self.offsets, self.columns, counts, transposed)

    def without_diagonal(self) -> CountMatrix:
        """Return a square matrix without the entries of its diagonal.

        Returns
        -------
        matrix : CountMatrix
            The other entries.
        """
        rows = self.rows()
        is_kept = rows != self.columns
        if is_kept.all():
            return self
        ends = torch.bincount(rows[is_kept], minlength=len(self)).cumsum(0)
        offsets = F.pad(ends, (1, 0)).to(self.offsets.dtype)
        transposed = None if self.transposed is None else self.transposed.without_diagonal()
        kept = CountMatrix(offsets, self.columns[is_kept], self.counts[is_kept])
        return replace(kept, transposed=transposed, is_symmetric=self.is_symmetric)

    def add_diagonal(self, values: Tensor) -> CountMatrix:
        """Return a square matrix with one more entry on the diagonal in each row.

        Parameters
        ----------
        values : Tensor of shape (n_rows,)
            The new entries.

        Returns
        -------
        matrix : CountMatrix
            The matrix.
        """
        nodes = torch.arange(len(self) + 1, device=self.offsets.device)
        # What was there moves behind the new entries of the rows before.
        moved = torch.arange(len(self.columns), device=nodes.device) + self.rows()
        added = self.offsets[1:] + nodes[:-1]
        places = torch.cat([moved, added])
        columns = torch.cat([self.columns, nodes[:-1].to(self.columns.dtype)])
        counts = torch.cat([self.counts, values.to(self.counts.dtype)])
        transposed = None if self.transposed is None else self.transposed.add_diagonal(values)
        return CountMatrix(
            self.offsets + nodes.to(self.offsets.dtype),
            torch.empty_like(columns).index_copy(0, places, columns),
            torch.empty_like(counts).index_copy(0, places, counts),
            transposed,
            self.is_symmetric,
        )

    def take_blocks(self, blocks: Tensor, rows: Tensor, columns: Tensor) -> CountMatrix:
        """Some blocks of a block-diagonal matrix, perhaps several times.

        Parameters
        ----------
        blocks : Tensor of shape (n_taken,)
            Which blocks.

        rows, columns : Tensor of shape (n_blocks + 1,)
            Where the rows and the columns of each block begin, and where the last ones end.

        Returns
        -------
        matrix : CountMatrix
            Their block-diagonal matrix, with its transpose if this matrix holds that.
        """
        sizes = self.offsets.diff()[take_rows(rows, blocks)[0]]
        entries, taken = take_rows(self.offsets[rows], blocks)
        first_columns = F.pad(columns.diff()[blocks].cumsum(0), (1, 0))[:-1]
        shift = (first_columns - columns[blocks]).repeat_interleave(taken.diff())
        return CountMatrix(
            F.pad(sizes.cumsum(0), (1, 0)).to(self.offsets.dtype),
            (self.columns[entries] + shift).to(self.columns.dtype),
            self.counts[entries],
            None if self.transposed is None else self.transposed.take_blocks(blocks, columns, rows),
        )

    def pieces(self, n_rows: int) -> list[CountMatrix]:
        """Return the same matrix in pieces of some rows each, without transposes.

        Parameters
        ----------
        n_rows : int
            The most rows of a piece.

        Returns
        -------
        pieces : list of CountMatrix
            The rows one after the other.
        """
        if len(self) <= n_rows:
            return [self]
        starts = [*range(0, len(self), n_rows), len(self)]
        return [
            CountMatrix(
                self.offsets[i : j + 1] - start, self.columns[start:stop], self.counts[start:stop]
            )
            for (i, j), (start, stop) in zip(
                pairwise(starts), pairwise(self.offsets[starts].tolist()), strict=True
            )
        ]

    def sum_rows(self, x: Tensor) -> Tensor:
        """Return the product with a dense matrix, without gradients.

        Parameters
        ----------
        x : Tensor of shape (n_columns, n_features)
            The dense matrix.

        Returns
        -------
        product : Tensor of shape (n_rows, n_features)
            The product.
        """
        # Of all ways to write this in torch, the fastest on CPU (benchmarks/bench_sparse.py).
        # Not through torch.nn.functional, whose checks take as long as a small product.
        return torch.embedding_bag(
            x,
            self.columns,
            self.offsets,
            mode=_SUM,
            per_sample_weights=self.counts if x.dtype == self.counts.dtype else self.counts.to(x),
            include_last_offset=True,
        )[0]

    def sum_rows_backward(self, gradient: Tensor) -> Tensor:
        """Return the gradient of the product with respect to the dense matrix.

        Parameters
        ----------
        gradient : Tensor of shape (n_rows, n_features)
            The gradient with respect to the product.

        Returns
        -------
        gradient : Tensor of shape (n_columns, n_features)
            The gradient with respect to the dense matrix.
        """
        transposed = self if self.is_symmetric else self.transposed
        if transposed is None:
            raise RuntimeError("This CountMatrix was made without its transpose.")
        return transposed.sum_rows(gradient.contiguous())
