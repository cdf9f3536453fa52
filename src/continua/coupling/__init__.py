"""Bodies that touch: who may meet whom in a step, and the solution of their systems together."""

from continua.coupling.fluid.grid_forces import couple_grid_fluids
from continua.coupling.meeting import Meeting
from continua.coupling.wet import Wetting

__all__ = ["Meeting", "Wetting", "couple_grid_fluids"]
