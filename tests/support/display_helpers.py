"""What tests of displays share."""

QUICK = {"n_layers": 2, "n_masks": 4, "n_words": 3, "max_epochs": 5, "random_state": 0}


def texts(ax):
    return [text.get_text() for text in ax.texts]
