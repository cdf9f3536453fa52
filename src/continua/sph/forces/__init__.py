"""Forces on fluid particles other than pressure and gravity, all with the contract `Force`."""

from continua.sph.forces.force import Force
from continua.sph.forces.surface_tension import SurfaceTension
from continua.sph.forces.viscosity import Viscosity
from continua.sph.forces.xsph import XSPH

__all__ = ["XSPH", "Force", "SurfaceTension", "Viscosity"]
