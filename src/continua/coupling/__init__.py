"""Bodies that touch: who may meet whom in a step, and the solution of their systems together."""

from continua.coupling.blown import let_flow_around
from continua.coupling.contact import ContactStepper
from continua.coupling.wet import Wetting

__all__ = ["ContactStepper", "Wetting", "let_flow_around"]
