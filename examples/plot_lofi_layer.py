r"""
The LoFI layer, step by step
============================

What does a mask do with a neighborhood? Its members are assigned to words, the assignments are
added up, and this histogram is compared with a learned one:

.. math::
    s(x_u)_i &= \mathrm{softmax}_i \bigl( t \cos(x_u, w_i) \bigr) \\
    h_v &= \sum_{u \in N_v} s(x_u) \\
    z_v &= 1 - \tfrac12 |h_v - f|_1

Here each step is drawn for one mask and one node.
"""

# %%
# A neighborhood
# --------------
# The egonet of a node holds the node and its neighbors: here a C with two O, one N and an H. Node
# features are one-hot labels.
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import torch

from sklofi import GraphSet
from sklofi.egonets import egonet_incidence
from sklofi.nn import LoFILayer

labels = ["C", "H", "N", "O"]
graph = nx.Graph()
graph.add_nodes_from(range(7))
graph.add_edges_from([(0, 1), (0, 2), (0, 3), (0, 4), (3, 5), (4, 6)])
atoms = ["C", "H", "N", "O", "O", "C", "H"]
x = torch.eye(4)[[labels.index(atom) for atom in atoms]]
nx.set_node_attributes(graph, dict(enumerate(atoms)), "label")
egonets = egonet_incidence(GraphSet.from_networkx([graph]), radius=1)
members = egonets[[0]].indices

# %%
# A mask
# ------
# A dictionary of three words, a histogram that says how many members of each word are expected, and
# a temperature. They are learned; here they are set by hand. The first word stands for O, the
# second for C and N alike, the third for H.
layer = LoFILayer(n_features=4, n_masks=1, n_words=3, kernel="l1")
with torch.no_grad():
    layer.dictionary.copy_(torch.tensor([[[0, 0, 0, 1.0], [1, 0, 1, 0], [0, 1, 0, 0]]]))
    layer.histogram.copy_(torch.tensor([[2.0, 1.5, 0.5]]))
    layer.temperature.fill_(5.0)

# %%
# Step by step
# ------------
# The cosines of members and words go through a softmax, and their sum is the histogram. The layer
# itself gives the same number.
words = torch.nn.functional.normalize(layer.dictionary[0], dim=1)
shares = torch.softmax(layer.temperature * (x[members] @ words.T), dim=1).detach().numpy()
histogram, learned = shares.sum(axis=0), layer.histogram[0].detach().numpy()
by_hand = 1 - np.abs(histogram - learned).sum() / 2
by_layer = layer(x, torch.from_numpy(egonets.toarray()).to_sparse())[0, 0].item()
print(f"by hand {by_hand:.4f}, by the layer {by_layer:.4f}")

# %%
# The picture
# -----------
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
colors = ["#f5b041" if node in members else "0.85" for node in graph]
place = nx.kamada_kawai_layout(graph)
nx.draw(graph, place, ax=left, labels=dict(enumerate(atoms)), node_color=colors, node_size=500)
left.set_title("1. the egonet of a C")
names = ["word 1: O", "word 2: C, N", "word 3: H"]
middle.imshow(shares, cmap="Oranges", vmin=0, vmax=1.8, aspect="auto")
for (row, column), share in np.ndenumerate(shares):
    color = "white" if share > 0.5 else "black"
    middle.text(column, row, f"{share:.2f}", ha="center", va="center", color=color)
middle.set_xticks(range(3), names)
middle.set_yticks(range(len(members)), [atoms[member] for member in members])
middle.set_title("2. members are shared out among words")
places = np.arange(3)
right.bar(places - 0.2, histogram, 0.4, color="tab:orange", label="h: the egonet")
right.bar(places + 0.2, learned, 0.4, color="tab:blue", label="f: learned")
right.set_xticks(places, names)
right.set_title(f"3. sums are compared: z = {by_layer:.2f}")
right.legend()
figure.savefig("lofi_layer.png", dpi=120)
