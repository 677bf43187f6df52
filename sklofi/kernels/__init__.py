"""Graph kernels: feature maps, kernel matrices, and support vector machines on them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
