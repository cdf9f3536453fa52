"""Material laws: energy, stress and tangent as functions of the deformation gradient. One law a file."""

from continua.solids.laws.corotated import Corotated
from continua.solids.laws.law import Law
from continua.solids.laws.linear import Linear

__all__ = ["Corotated", "Law", "Linear"]
