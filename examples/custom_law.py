"""Write a law of your own: rubber whose chains can be stretched only so far (Gent 1996), pulled by a weight."""

from dataclasses import dataclass
from math import log

import numpy as np
from scipy.optimize import fsolve

import continua as ct


@dataclass(frozen=True)
class Gent(ct.CustomLaw):
    """Neo-Hookean, but the energy grows without bound as the stretch comes near a limit."""

    limit: float = 8.0  # largest |F|^2 - 3

    def principal_energy(f, p):  # noqa: N805
        """Compiled by Numba; f are the three principal stretches, p the constants by name."""
        i = f[0] ** 2 + f[1] ** 2 + f[2] ** 2 - 3.0
        j = log(f[0] * f[1] * f[2])
        if i > 0.98 * p.limit:  # beyond, the law goes on as a parabola
            x = i / p.limit - 0.98
            chain = -log(0.02) + x / 0.02 + 0.5 * (x / 0.02) ** 2
        else:
            chain = -log(1.0 - i / p.limit)
        return 0.5 * p.mu * p.limit * chain - p.mu * j + 0.5 * p.lam * j**2


rubber = Gent(young=1e5, poisson=0.4, density=1000.0)
strip = ct.SoftBody(
    ct.mesh.box(size=(0.5, 0.1, 0.1), cells=(5, 1, 1)), material=rubber, damping=(5.0, 0.0), newton=10
)
strip.pin(where=lambda x: x[:, 0] < 1e-6)
world = ct.World([strip], gravity=(0.0, 0.0, 0.0))
ends = {}
for force in (300.0, 3000.0):
    pull = strip.push(where=lambda x: x[:, 0] > 0.5 - 1e-6, force=(force, 0.0, 0.0))
    world.settle()
    pull.remove()
    ends[force] = strip.positions[:, 0].max() / 0.5


def bar(unknown, force):
    """Stress of a bar that is free across: along it the force over the area, and nothing across."""
    stress = rubber.stress(np.diag([unknown[0], unknown[1], unknown[1]]))
    return stress[0, 0] - force / 0.01, stress[1, 1]


for force, stretch in ends.items():
    expected = fsolve(bar, (stretch, stretch**-0.4), (force,))[0]
    print(
        f"{force:5.0f} N stretch it {stretch:.3f} times; a bar that is free everywhere {expected:.3f} times"
    )
    assert abs(stretch / expected - 1.0) < 0.03  # the clamped end hinders the contraction
assert ends[3000.0] < 3.4  # ten times the force cannot pull the chains beyond their limit, sqrt(11) = 3.32
