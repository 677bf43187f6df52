from . import baselines as baselines
from . import cluster as cluster
from . import comparison as comparison
from . import datasets as datasets
from . import egonets as egonets
from . import graphs as graphs
from . import inspection as inspection
from . import kernels as kernels
from . import nn as nn
from . import testing as testing
from . import training as training
from ._load import load as load
from ._lofi import LoFIClassifier as LoFIClassifier
from ._lofi import LoFIRegressor as LoFIRegressor
from .baselines import FingerprintClassifier as FingerprintClassifier
from .baselines import FingerprintRegressor as FingerprintRegressor
from .comparison import compare as compare
from .graphs import GraphSet as GraphSet
from .graphs import MoleculesToGraphs as MoleculesToGraphs
from .kernels import GraphKernelSVC as GraphKernelSVC
from .kernels import GraphKernelSVR as GraphKernelSVR
from .kernels import WLVectorizer as WLVectorizer

__version__: str
