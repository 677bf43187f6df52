from ._incidence import egonet_incidence as egonet_incidence
