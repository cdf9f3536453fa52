"""Load a propped beam, read what its supports carry, then take the prop away while it runs."""

import continua as ct

LENGTH, SIDE, PRESSURE = 2.0, 0.1, 500.0

beam = ct.SoftBody(
    ct.mesh.box(size=(LENGTH, SIDE, SIDE), cells=(32, 2, 2)),
    material=ct.Corotated(young=5e7, poisson=0.3, density=500.0),
    order=2,
    damping=(2.0, 0.01),
)
clamp = beam.pin(where=lambda x: x[:, 0] < 1e-6)
prop = beam.lock(lambda x: (x[:, 0] > LENGTH - 1e-6) & (x[:, 1] < 1e-6), "y")  # rollers under the tip
press = beam.apply_pressure(lambda x, n: n[:, 1] > 0.9, PRESSURE)  # faces chosen by their normals
world = ct.World([beam], gravity=(0.0, 0.0, 0.0), dt=0.01)

world.settle()
load = PRESSURE * LENGTH * SIDE
print(f"load {load:.2f} N: the clamp carries {clamp.reaction[1]:.2f} N, the prop {prop.reaction[1]:.2f} N")
assert abs(clamp.reaction[1] + prop.reaction[1] - load) < 1e-3 * load  # all that presses is carried
assert abs(prop.reaction[1] / load - 3.0 / 8.0) < 0.01  # beam theory: three eighths of it by the prop

prop.remove()  # the tip falls and swings; no matrix is made anew for it
world.schedule(1.0, lambda _: setattr(press, "pressure", 0.0))
for frame in world.run(seconds=2.0, fps=20):
    if frame.index % 5 == 0:
        tip = frame["beam"].positions[:, 1].min()
        print(f"t = {frame.time:4.2f} s   tip {tip * 1e3:7.1f} mm   clamp {clamp.reaction[1]:7.2f} N")
