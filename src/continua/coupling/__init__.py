"""Bodies that touch: who may meet whom in a step, and the solution of their systems together."""

from continua.coupling.fluid.grid_forces import let_flow_around
from continua.coupling.meeting import Meeting
from continua.coupling.wet import Wetting

__all__ = ["Meeting", "Wetting", "let_flow_around"]
