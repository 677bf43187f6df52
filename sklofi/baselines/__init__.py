"""The methods that GNN-LoFI was compared with, as estimators with the same contract."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
