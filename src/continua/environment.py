"""The environment of all bodies of a world: gravity, wind and time."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from math import pi, sin

import numpy as np
from numpy.typing import NDArray

from continua.short_repr import ShortRepr
from continua.validation import number, triple

__all__ = ["Environment", "Wind"]


@dataclass(frozen=True)
class Wind:
    """A uniform wind with gusts, whose pressure acts on windward faces.

    The force on a face of area A and outward normal n is
    density/2 (n.w)^2 A against n, where w = wind - velocity of the face and n.w < 0.

    Attributes:
        velocity: Mean wind [m/s].
        gust: Amplitude of the gusts relative to the mean, at least 0.
        period: Mean period of the gusts [s].
        density: Density of the moving medium [kg/m3]; 1.2 is air.
    """

    velocity: tuple[float, float, float]
    _: KW_ONLY
    gust: float = 0.0
    period: float = 1.0
    density: float = 1.2

    def __post_init__(self) -> None:
        object.__setattr__(self, "velocity", triple(self.velocity, "the wind's velocity"))
        for key, low in (("gust", 0.0), ("period", 1e-9), ("density", 0.0)):
            object.__setattr__(self, key, number(getattr(self, key), f"the wind's {key}", low=low))

    def at(self, time: float) -> NDArray[np.float64]:
        """Return the wind [m/s] at `time` [s]; the gusts are two waves with incommensurable periods."""
        time = number(time, "the time of the wind")
        wave = sin(2 * pi * time / self.period) + 0.5 * sin(2 * pi * time / (2.7 * self.period))
        return np.asarray(self.velocity, dtype=np.float64) * (1.0 + self.gust * wave / 1.5)


@dataclass(repr=False)
class Environment(ShortRepr):
    """Gravity [m/s2], wind, and the time [s] and number of the current step."""

    gravity: NDArray[np.float64] = field(default_factory=lambda: np.array([0.0, -9.81, 0.0]))
    wind: Wind | None = None
    time: float = 0.0
    step: int = 0
