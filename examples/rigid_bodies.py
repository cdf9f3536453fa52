"""A wall of bricks is hit by a heavy ball that hangs on a chain."""

import numpy as np

import continua as ct

# bricks on a grid, one on top of the other, with a small gap between
rows, columns = 6, 7
places = np.array(
    [[0.0, 0.1 + 0.2 * j, 0.42 * (i - columns // 2)] for j in range(rows) for i in range(columns)]
)
bricks = ct.RigidInstances(ct.Box(size=(0.2, 0.2, 0.4)), places, density=1800.0, friction=0.6, name="bricks")

# a chain of capsules from a hook in the air, and a ball at its end
count, length = 10, 0.2
hook = np.array([-1.0, 2.6, 0.0])
start = hook + np.array([-length * count, 0.0, 0.0])
links = ct.RigidInstances(
    ct.Capsule((-0.07, 0.0, 0.0), (0.07, 0.0, 0.0), 0.02),
    [hook - [length * (i + 0.5), 0.0, 0.0] for i in range(count)],
    density=7800.0,
    name="links",
)
ball = ct.RigidBody(ct.Sphere(tuple(start - [0.2, 0.0, 0.0]), 0.2), density=7800.0, name="ball")
hinge = [tuple(hook - [length * i, 0.0, 0.0]) for i in range(count)]
chain = [ct.joints.Ball((links, 0), None, point=hinge[0])]
chain += [ct.joints.Ball((links, i), (links, i - 1), point=hinge[i]) for i in range(1, count)]
chain += [ct.joints.Ball(ball, (links, count - 1), point=tuple(start))]

world = ct.World([bricks, links, ball], colliders=[ct.Plane(friction=0.6)], joints=chain, dt=0.01)
for _frame in world.run(seconds=1.5, fps=20):
    pass
fallen = int((np.linalg.norm(bricks.centers_of_mass - places, axis=1) > 0.1).sum())
print(f"after {world.time:g} s {fallen} of {bricks.count} bricks have moved")
print(f"the joints of the chain fit to {world.system(ct.RigidBody).rigid.joints.error:.1e} m")
assert world.system(ct.RigidBody).rigid.joints.error < 1e-6
assert fallen > 0
