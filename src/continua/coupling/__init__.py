"""Bodies that touch: who may meet whom in a step, and the solution of their systems together."""

from continua.coupling.blown import let_flow_around
from continua.coupling.fluid.sph_boundary import SphBodyCoupling
from continua.coupling.meeting import Meeting

__all__ = ["Meeting", "SphBodyCoupling", "let_flow_around"]
