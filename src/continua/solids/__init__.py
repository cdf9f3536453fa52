"""Elastic solids: finite elements, plasticity, and the soft body that they make up."""

from continua.solids.derived_fields import FIELDS
from continua.solids.plasticity import Plasticity
from continua.solids.soft_body import SoftBody

__all__ = ["FIELDS", "Plasticity", "SoftBody"]
