"""Bodies that touch: the system of solids with contact, and the couplings of fluids with solids."""

from continua.coupling.contact import ContactStepper, SolidSystem
from continua.coupling.fluid.grid_coupling import GridFluidCoupling
from continua.coupling.fluid.sph_coupling import SphCoupling

__all__ = ["ContactStepper", "GridFluidCoupling", "SolidSystem", "SphCoupling"]
