"""The LoFI layer: the formula, line by line."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sklofi.nn._choices import HISTOGRAM_KERNELS, check_choice
from sklofi.nn._count_matrix import CountMatrix
from sklofi.nn._drawing import draw, member_keys, next_keys
from sklofi.nn._lofi_autograd import Egonets, LayerParameters, fast_lofi
from sklofi.nn._related_egonets import RelatedEgonets

# Cosines lie in [-1, 1]: at a temperature of 1 a node would start out spread almost
# evenly over the words, and histograms would hold little but the size of an egonet.
INITIAL_TEMPERATURE = 5.0


# How far from the data it was drawn from a parameter starts, as a share of its size: masks
# that were drawn from the same egonet have to be able to part.
INITIAL_NOISE = 0.5

# How much larger the logit of a word starts for the relation of the member that it was drawn
# from than for others.
INITIAL_PREFERENCE = 2.0


def tensor_options(generator: torch.Generator | None, dtype: torch.dtype | None) -> dict[str, Any]:
    """Return device and dtype of tensors that a generator fills, whatever torch's defaults."""
    return {"device": None if generator is None else generator.device, "dtype": dtype}


class LoFILayer(nn.Module):
    r"""Localized feature-based histogram intersection.

    Each mask :math:`j` holds a dictionary of words :math:`w_i`, a learned histogram
    :math:`f_j` over these words and a temperature :math:`t_j`. A node is softly assigned
    to the words by cosine similarity, an egonet is the histogram of its members, and the
    node's new feature is how well that histogram fits the learned one:

    .. math::
        s(x_u)_i &= \mathrm{softmax}_i \bigl( t_j \cos(x_u, w_i) \bigr) \\
        h_v &= \sum_{u \in N_v} s(x_u) \\
        z_{v,j} &= K(h_v, f_j)

    with :math:`K(h, f) = \tfrac12 (|h|_1 + |f|_1 - |h - f|_1)` for
    ``kernel="intersection"`` (which is :math:`\sum_i \min(h_i, f_i)`), and
    :math:`K(h, f) = 1 - \tfrac12 |h - f|_1` for ``kernel="l1"``.

    This is the published layer, which is blind to what a member is to the center. With
    `n_relations`, a member :math:`u` stands in a relation to the center :math:`v`, which is
    a vector :math:`r_{uv}` (a unit vector, if relations are categories), and a mask has an
    offset for each word and relation:

    .. math::
        s(x_u, r_{uv})_i &= \mathrm{softmax}_i
        \bigl( t_j \cos(x_u, w_i) + \langle b_{j,i}, r_{uv} \rangle \bigr) \\
        h_v &= \sum_{u \in N_v} a_{uv} \, s(x_u, r_{uv})

    where :math:`a_{uv}` is how much the member counts: how often it occurs, or the weight
    of an edge.

    Parameters
    ----------
    n_features : int
        Width of the node features.

    n_masks : int
        Number of masks, the width of the output.

    n_words : int
        Number of words in each mask's dictionary.

    kernel : {"l1", "intersection"}, default="l1"
        How histograms are compared.

    n_relations : int, default=0
        Width of the vectors of relations; 0 is the published layer.

    generator : torch.Generator, default=None
        Source of the initial values, on the device where they start; None is torch's global
        generator.

    dtype : torch.dtype, default=None
        Type of the parameters; None is torch's default.

    Attributes
    ----------
    dictionary : Parameter of shape (n_masks, n_words, n_features)
        The words of each mask.

    histogram : Parameter of shape (n_masks, n_words)
        The learned histogram of each mask. It is non-negative; :meth:`clip_histogram_` restores
        this after an optimizer's step.

    temperature : Parameter of shape (n_masks,)
        How sharply nodes are assigned to words.

    offset : Parameter of shape (n_masks, n_words, n_relations) or None
        What a relation adds to the logits of the words; None without relations.

    See Also
    --------
    RelatedEgonets : Egonets whose members have relations to the center.

    Examples
    --------
    >>> import torch
    >>> from sklofi.nn import LoFILayer
    >>> layer = LoFILayer(n_features=3, n_masks=4, n_words=2)
    >>> x = torch.eye(3)  # a path of three nodes, each with another label
    >>> egonets = torch.tensor([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    >>> layer(x, egonets.to_sparse()).shape
    torch.Size([3, 4])
    """

    def __init__(
        self,
        n_features: int,
        n_masks: int,
        n_words: int,
        kernel: str = "l1",
        *,
        n_relations: int = 0,
        generator: torch.Generator | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_choice("kernel", kernel, HISTOGRAM_KERNELS)
        self.kernel = kernel
        options = tensor_options(generator, dtype)
        self.dictionary = nn.Parameter(torch.empty(n_masks, n_words, n_features, **options))
        self.histogram = nn.Parameter(torch.empty(n_masks, n_words, **options))
        self.temperature = nn.Parameter(torch.empty(n_masks, **options))
        self.offset = None
        if n_relations:
            self.offset = nn.Parameter(torch.empty(n_masks, n_words, n_relations, **options))
        self.reset_parameters(generator)

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Fill the parameters with initial values.

        Parameters
        ----------
        generator : torch.Generator, default=None
            Source of the values; None is torch's global generator.
        """
        n_words = self.histogram.shape[1]
        self.dictionary.normal_(generator=generator)
        self.histogram.uniform_(0, 2 / n_words, generator=generator)
        self.temperature.fill_(INITIAL_TEMPERATURE)
        if self.offset is not None:
            self.offset.normal_(0, INITIAL_NOISE, generator=generator)

    @torch.no_grad()
    def start_at_data_(
        self,
        x: Tensor,
        egonets: Egonets,
        egonet_counts: Tensor,
        keys: Tensor,
        generator: torch.Generator | None = None,
    ) -> None:
        """Start words near nodes, and learned histograms near egonets, of given graphs.

        Histograms drawn from nowhere can be far from all egonets, which may have dozens
        of members, and then compare nothing but sizes. A word that starts near a member
        also starts with a preference for the relation of that member.

        Parameters
        ----------
        x : Tensor of shape (n_nodes, n_features)
            Features of nodes, or of classes of equal nodes.

        egonets : CountMatrix of shape (n_egonets, n_nodes), or RelatedEgonets
            Egonets in terms of their members.

        egonet_counts : Tensor of shape (n_egonets,)
            How often each egonet occurs.

        keys : Tensor of shape (n_nodes,)
            Numbers that tell nodes apart, whatever their order.

        generator : torch.Generator, default=None
            Source of what is drawn; None is torch's global generator.
        """
        n_masks, _, n_features = self.dictionary.shape
        members = egonets if isinstance(egonets, CountMatrix) else egonets.members
        of_members = x if isinstance(egonets, CountMatrix) else x[egonets.nodes]
        member_counts = members.column_sums(egonet_counts, len(of_members))
        drawn = draw(member_counts, member_keys(keys, egonets), self.histogram.numel(), generator)
        options = tensor_options(generator, self.dictionary.dtype)
        noise = torch.empty(self.dictionary.shape, **options).normal_(generator=generator)
        self.dictionary.copy_(noise * (INITIAL_NOISE * n_features**-0.5))
        self.dictionary.add_(F.normalize(of_members[drawn], dim=-1).view_as(self.dictionary))
        vectors = None
        if self.offset is not None and isinstance(egonets, RelatedEgonets):
            vectors = egonets.vectors[egonets.kinds(len(x))]
            self.offset.copy_(
                torch.empty(self.offset.shape, **options).normal_(generator=generator)
            )
            self.offset.mul_(INITIAL_NOISE)
            start = INITIAL_PREFERENCE * F.normalize(vectors[drawn], dim=-1)
            self.offset.add_(start.view_as(self.offset))

        factor = torch.empty(self.histogram.shape, **options)
        factor.uniform_(1 - INITIAL_NOISE, 1 + INITIAL_NOISE, generator=generator)
        self.histogram.copy_(factor)
        drawn = draw(egonet_counts, next_keys(keys, egonets), n_masks, generator)
        for mask, egonet in enumerate(drawn.tolist()):
            entries = slice(*members.offsets[egonet : egonet + 2].tolist())
            columns = members.columns[entries]
            relations = None if vectors is None else vectors[columns]
            s = self.assign(of_members[columns], slice(mask, mask + 1), relations)[:, 0]
            self.histogram[mask] *= members.counts[entries].to(x.dtype) @ s

    def assign(
        self, x: Tensor, masks: slice = slice(None), relations: Tensor | None = None
    ) -> Tensor:
        """Return the soft assignment of nodes to words.

        Parameters
        ----------
        x : Tensor of shape (n_nodes, n_features)
            Features of nodes.

        masks : slice, default=slice(None)
            Which masks; by default all of them.

        relations : Tensor of shape (n_nodes, n_relations), default=None
            Vectors of their relations to the center; by default there are none, which is
            the same as zeros.

        Returns
        -------
        s : Tensor of shape (n_nodes, n_masks, n_words)
            Shares of each node in the words of each mask, which add up to one.
        """
        words = F.normalize(self.dictionary[masks], dim=-1)  # (n_masks, n_words, n_features)
        x = F.normalize(x, dim=-1)  # (n_nodes, n_features)
        cosine = x @ words.flatten(0, 1).T  # (n_nodes, n_masks * n_words)
        cosine = cosine.view(-1, *words.shape[:2])  # (n_nodes, n_masks, n_words)
        logits = self.temperature[masks, None] * cosine
        if relations is not None and self.offset is not None:
            logits = logits + torch.einsum("nr,mwr->nmw", relations.to(x.dtype), self.offset[masks])
        return torch.softmax(logits, dim=-1)

    @property
    def weights(self) -> LayerParameters:
        """All parameters of the layer."""
        return self.dictionary, self.histogram, self.temperature, self.offset

    def clip_histogram_(self) -> None:
        """Project the learned histogram back onto the non-negative numbers."""
        self.histogram.detach().clamp_(min=0)

    def forward(
        self, x: Tensor, egonets: Tensor | Egonets, presence: Tensor | None = None
    ) -> Tensor:
        """Compare every egonet with every mask.

        Parameters
        ----------
        x : Tensor of shape (n_nodes, n_features)
            Features of nodes, or of classes of equal nodes.

        egonets : sparse Tensor or CountMatrix of shape (n_egonets, n_nodes)
            How often each node, or color, is a member of each egonet. Both give
            the same result; a CountMatrix is faster, but has no second derivatives. With
            relations it is a RelatedEgonets.

        presence : Tensor of shape (n_nodes,) or (n_nodes, n_masks), default=None
            How much of each node is there, from 0 to 1, for all masks or for each; by
            default all of it.

        Returns
        -------
        z : Tensor of shape (n_egonets, n_masks)
            The new feature of each node, the kernel of its egonet and each mask.
        """
        if not isinstance(egonets, Tensor) and (presence is None or presence.ndim == 1):
            return fast_lofi(x, [egonets], self.kernel, [self.weights], presence=presence)[0]
        relations = None
        if isinstance(egonets, RelatedEgonets):  # from here on a node is a pair
            relations = egonets.vectors[egonets.kinds(len(x))]  # (n_nodes, n_relations)
            presence = None if presence is None else presence[egonets.nodes]
            x, egonets = x[egonets.nodes], egonets.members
        f = self.histogram  # (n_masks, n_words)
        s = self.assign(x, relations=relations)  # (n_nodes, n_masks, n_words)
        if presence is not None:
            s = s * presence.view(len(x), -1, 1)  # (n_nodes, n_masks, n_words)
        # A node is assigned alike in every egonet that it belongs to, so the histograms of all
        # egonets are one sparse product.
        h = egonets @ s.flatten(1)  # (n_egonets, n_masks * n_words)
        h = h.reshape(-1, *f.shape)  # (n_egonets, n_masks, n_words)
        difference = (h - f).abs().sum(-1)  # (n_egonets, n_masks)
        if self.kernel == "l1":
            return 1 - difference / 2  # (n_egonets, n_masks)
        mass = h.sum(-1) + f.abs().sum(-1)  # (n_egonets, n_masks)
        return (mass - difference) / 2  # (n_egonets, n_masks)

    def extra_repr(self) -> str:
        """Return the arguments, for the text of the module.

        Returns
        -------
        text : str
            The arguments.
        """
        n_masks, n_words, n_features = self.dictionary.shape
        relations = "" if self.offset is None else f", n_relations={self.offset.shape[-1]}"
        return f"{n_features}, {n_masks}, {n_words}, kernel={self.kernel!r}{relations}"
