"""Mass-spring systems and position-based dynamics."""

from continua.springs.constraints import (
    Bending,
    Distance,
    GlobalVolume,
    ShapeMatching,
    Strain,
    Volume,
)
from continua.springs.explicit_methods import (
    ForwardEuler,
    RungeKutta2,
    RungeKutta4,
    SymplecticEuler,
    Verlet,
    longest_step,
)
from continua.springs.network import SpringNetwork, lattice, line, rope, sheet, strands
from continua.springs.position_based import PositionBased
from continua.springs.springs import SPRING_INTEGRATORS, Springs

__all__ = [
    "SPRING_INTEGRATORS",
    "Bending",
    "Distance",
    "ForwardEuler",
    "GlobalVolume",
    "PositionBased",
    "RungeKutta2",
    "RungeKutta4",
    "ShapeMatching",
    "SpringNetwork",
    "Springs",
    "Strain",
    "SymplecticEuler",
    "Verlet",
    "Volume",
    "lattice",
    "line",
    "longest_step",
    "rope",
    "sheet",
    "strands",
]
