"""Bodies that touch: who may meet whom in a step, and the solution of their systems together."""

from continua.coupling.meeting import Meeting

__all__ = ["Meeting"]
