"""Shake a tower by its foot with a motion of your own, and find its resonance."""

import numpy as np

import continua as ct

HEIGHT, SIDE, YOUNG, DENSITY = 2.0, 0.2, 5e6, 500.0
SHAKE = 0.002  # m


def shaken(frequency: float) -> float:
    """Return how far the top swings [m] when the foot is shaken with `frequency` [Hz]."""

    def motion(time: float, rest: np.ndarray) -> np.ndarray:
        return rest + (SHAKE * np.sin(2.0 * np.pi * frequency * time), 0.0, 0.0)

    tower = ct.SoftBody(
        ct.mesh.box(size=(SIDE, HEIGHT, SIDE), cells=(1, 10, 1)),
        material=ct.Corotated(young=YOUNG, poisson=0.3, density=DENSITY),
        order=2,
        damping=(0.5, 0.0),
    )
    foot = tower.drive(where=lambda x: x[:, 1] < 1e-6, motion=motion)
    world = ct.World([tower], gravity=(0.0, 0.0, 0.0), dt=0.005)
    top = tower.rest_positions[:, 1] > HEIGHT - 1e-6
    swing = 0.0
    for _ in range(400):
        world.step()
        moved = tower.positions - tower.rest_positions
        assert np.allclose(moved[foot.nodes], motion(world.time, np.zeros(3)), atol=1e-12)
        swing = max(swing, abs(moved[top, 0].mean()))
    return swing


# The first bending mode of a clamped beam: 1.8751^2 / (2 pi) sqrt(E I / (m L^4)).
natural = 1.8751**2 / (2.0 * np.pi) * np.sqrt(YOUNG * SIDE**2 / 12.0 / (DENSITY * HEIGHT**4))
swings = {}
for part in (0.25, 0.5, 1.0, 2.0):
    swings[part] = shaken(part * natural)
    print(f"{part * natural:5.2f} Hz: the top swings by {swings[part] / SHAKE:5.2f} times the foot")

assert swings[0.25] < 1.5 * SHAKE  # far below resonance the tower moves as one piece
assert swings[1.0] > 4.0 * swings[0.25]  # at resonance it swings up
assert swings[2.0] < 0.5 * swings[1.0]  # above, it is left behind
