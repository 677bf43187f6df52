from ._peer import Peer as Peer
from ._peer import parameter as parameter
from ._peer import parameters as parameters
from ._peer import peer as peer
from ._peer import width as width
from ._tasks import NetworkClassifier as NetworkClassifier
from ._tasks import NetworkRegressor as NetworkRegressor
