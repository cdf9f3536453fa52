"""Bodies that touch: who may meet whom in a step, and the solution of their systems together."""

from continua.coupling.contact import ContactStepper
from continua.coupling.fluid.grid_forces import couple_grid_fluids
from continua.coupling.fluid.sph_boundary import SphBodyCoupling

__all__ = ["ContactStepper", "SphBodyCoupling", "couple_grid_fluids"]
