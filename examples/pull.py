"""Drag a point of a body with a spring and read the force it takes."""

import numpy as np

import continua as ct

LENGTH, SIDE, YOUNG = 1.0, 0.1, 1e6

bar = ct.SoftBody(
    ct.mesh.box(size=(LENGTH, SIDE, SIDE), cells=(16, 2, 2)),
    material=ct.Corotated(young=YOUNG, poisson=0.3, density=200.0),
    order=2,
    damping=(20.0, 0.01),
)
bar.pin(where=lambda x: x[:, 0] < 1e-6)
world = ct.World([bar], gravity=(0.0, 0.0, 0.0), dt=0.02)

pull = bar.pull(point=(LENGTH, SIDE / 2, SIDE / 2), stiffness=2000.0)
start = pull.point
for lift in np.linspace(0.0, 0.01, 5):
    pull.target = start + (0.0, lift, 0.0)
    for _ in range(50):  # one second, for the bar to come to rest
        world.step()
    rise = pull.point[1] - start[1]
    print(f"target {lift * 1e3:4.1f} mm   tip {rise * 1e3:6.3f} mm   force {pull.force[1]:6.3f} N")

# Timoshenko: a clamped bar resists a force at its tip with the compliance L^3 / 3 E I + L / (5/6 G A).
shear_modulus = YOUNG / (2.0 * (1.0 + 0.3))
compliance = LENGTH**3 / (3.0 * YOUNG * SIDE**4 / 12.0) + LENGTH / (5.0 / 6.0 * shear_modulus * SIDE**2)
print(f"stiffness {pull.force[1] / rise:.2f} N/m; beam theory: {1.0 / compliance:.2f} N/m")
assert abs(pull.force[1] / rise * compliance - 1.0) < 0.03

pull.remove()  # let go: the bar swings back
for _ in range(100):
    world.step()
assert np.abs(bar.positions - bar.rest_positions).max() < 1e-4
