"""Krylov methods: conjugate gradients with cheap preconditioners, and the kernels around other ones."""

from continua.linalg.krylov.merged_pcg import MergedPCG, SlicedEllMatrix
from continua.linalg.krylov.pcg import PCG

__all__ = ["PCG", "MergedPCG", "SlicedEllMatrix"]
