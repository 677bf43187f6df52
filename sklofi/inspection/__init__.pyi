from ._attribution import mask_evidence as mask_evidence
from ._attribution import node_attribution as node_attribution
from ._displays import AttributionDisplay as AttributionDisplay
from ._displays import MaskDisplay as MaskDisplay
from ._displays import TrainingDisplay as TrainingDisplay
from ._masks import best_egonets as best_egonets
from ._masks import mask_importance as mask_importance
from ._masks import read_mask as read_mask
