"""
Explain predictions, node by node
=================================

Which nodes of a graph speak for the predicted class, and which against it? Attributions
answer this for many graphs at once. Here the answer is known, so it can be checked.
"""

# %%
# Graphs whose class is decided by a planted motif
# ------------------------------------------------
# Class 1 has an "N" between two "O", class 2 a ring of two "N" and two "O"; in class 0, and
# wherever a motif is not planted, its atoms are scattered.
import networkx as nx
import numpy as np
from sklearn.metrics import roc_auc_score

from sklofi import LoFIClassifier
from sklofi.datasets import make_motif_graphs
from sklofi.inspection import AttributionDisplay, node_attribution

group, ring = nx.star_graph(2), nx.cycle_graph(4)
nx.set_node_attributes(group, dict(enumerate("NOO")), "label")
nx.set_node_attributes(ring, dict(enumerate("NONO")), "label")
graphs, y, motif_nodes = make_motif_graphs(
    600, motifs=[group, ring], n_nodes=16, return_motif_nodes=True, random_state=0
)
training, test = slice(500), slice(500, None)
classifier = LoFIClassifier(n_members=3, random_state=0).fit(graphs[training], y[training])
print(f"accuracy on 100 unseen graphs: {classifier.score(graphs[test], y[test]):.2f}")

# %%
# One number for each node
# ------------------------
# The numbers of a graph sum to the evidence for its class minus that of the empty graph. The
# difference is the error of a numerical integral, at most a hundredth.
result = node_attribution(classifier, graphs[test])
values, output, baseline = result.attributions[0], result.outputs[0], result.baselines[0]
print(f"graph 0: {values.sum():.2f} of {output:.2f} - ({baseline:.2f}) = {output - baseline:.2f}")

# %%
# Are they right?
# ---------------
# In graphs with a motif its nodes should come first: the area under the ROC curve is 1 if all
# of them do, and 0.5 by chance.
areas = [
    roc_auc_score([node in planted for node in graph], values)
    for graph, planted, values in zip(
        graphs[test], motif_nodes[test], result.attributions, strict=True
    )
    if planted
]
print(f"nodes of the motif against all others: {np.mean(areas):.3f}")

# %%
# Pictures
# --------
# Red nodes speak for the class that is predicted, blue ones against it.
examples = [int(np.flatnonzero(y[test] == label)[i]) for label in (1, 2) for i in range(3)]
display = AttributionDisplay.from_estimator(
    classifier, [graphs[test][i] for i in examples], y[test][examples]
)
display.figure_.savefig("explain_predictions.png", dpi=110)
