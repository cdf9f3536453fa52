"""What acts on every body of a world: gravity and wind."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import pi, sin

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.validation import isfinite, vector3

__all__ = ["Environment", "Wind"]


@dataclass(frozen=True)
class Wind:
    """A uniform wind that presses on the faces turned against it, with regular gusts.

    A face of area A and outward normal n feels the pressure of the air that runs onto it,
    density/2 (n.w)^2 A against n, where w = wind - velocity of the face and n.w < 0.

    Attributes:
        velocity: Mean wind [m/s].
        gust: Amplitude of the gusts relative to the mean, from 0 on.
        period: Time from gust to gust [s].
        density: Density of the moving medium [kg/m3]; 1.2 is air.
    """

    velocity: tuple[float, float, float]
    gust: float = 0.0
    period: float = 1.0
    density: float = 1.2

    def __post_init__(self) -> None:
        vector3(self.velocity, "the wind's velocity")
        for key, low in (("gust", 0.0), ("period", 1e-9), ("density", 0.0)):
            value = getattr(self, key)
            if not isfinite(value) or value < low:
                raise InputError(f"the wind's {key} must be a finite number of at least {low:g}, not {value}")

    def at(self, time: float) -> NDArray[np.float64]:
        """Return the wind [m/s] at `time` [s]; a second, slower wave keeps gusts from looking mechanical."""
        wave = sin(2 * pi * time / self.period) + 0.5 * sin(2 * pi * time / (2.7 * self.period))
        return np.asarray(self.velocity, dtype=np.float64) * (1.0 + self.gust * wave / 1.5)


@dataclass
class Environment:
    """Gravity [m/s2], wind, and the time [s] and number of the step that is being done."""

    gravity: NDArray[np.float64] = field(default_factory=lambda: np.array([0.0, -9.81, 0.0]))
    wind: Wind | None = None
    time: float = 0.0
    step: int = 0
