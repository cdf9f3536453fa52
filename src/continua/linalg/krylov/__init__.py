"""Krylov methods: conjugate gradients with cheap preconditioners, and MINRES for symmetric indefinite systems."""

from continua.linalg.krylov.merged_pcg import MergedPCG, SlicedEllMatrix
from continua.linalg.krylov.minres import MINRES
from continua.linalg.krylov.pcg import PCG

__all__ = ["MINRES", "PCG", "MergedPCG", "SlicedEllMatrix"]
