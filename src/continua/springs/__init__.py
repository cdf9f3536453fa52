"""Mass-spring systems and position-based dynamics."""

from continua.springs.explicit_methods import (
    ForwardEuler,
    RungeKutta2,
    RungeKutta4,
    SymplecticEuler,
    Verlet,
    longest_step,
)
from continua.springs.network import SpringNetwork, lattice, line, rope, sheet, strands
from continua.springs.springs import SPRING_INTEGRATORS, Springs

__all__ = [
    "SPRING_INTEGRATORS",
    "ForwardEuler",
    "RungeKutta2",
    "RungeKutta4",
    "SpringNetwork",
    "Springs",
    "SymplecticEuler",
    "Verlet",
    "lattice",
    "line",
    "longest_step",
    "rope",
    "sheet",
    "strands",
]
