"""Multiplicative plasticity: constants, state and return mapping."""

from continua.solids.plasticity.plasticity import Plasticity, PlasticState

__all__ = ["PlasticState", "Plasticity"]
