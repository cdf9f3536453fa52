"""Piles of rigid bodies against PyBullet and MuJoCo: the same bodies, places, friction and time step.

Two scenes: 800 boxes, balls and rods fall onto 64 poles, and 800 boxes and balls fall into a bin. Each engine has its
own defaults otherwise. The overlap of the others is what they report; ours is the deepest gap of all contacts.
"""

from __future__ import annotations

import time

import numpy as np

import continua as ct
from benchmarks.report import Result
from continua.numerics import set_threads

DT = 0.01
STEPS = 300
LAST = 100  # steps that are measured, when the pile lies


def bodies(kind: str) -> tuple[list[tuple[str, np.ndarray, np.ndarray]], list[tuple]]:
    """Return (shape, size, places) of the bodies, and the obstacles."""
    rng = np.random.default_rng(0)
    if kind == "bin":
        grid = np.stack(np.meshgrid(np.arange(8), np.arange(13), np.arange(8), indexing="ij"), -1).reshape(
            -1, 3
        )[:800]
        places = grid * 0.25 + [-0.875, 0.3, -0.875] + rng.uniform(-0.02, 0.02, (800, 3))
        walls = [("plane", (0, 0, 0), (0, 1, 0))]
        walls += [
            ("plane", (-1.1 * x, 0, -1.1 * z), (x, 0, z)) for x, z in ((1, 0), (-1, 0), (0, 1), (0, -1))
        ]
        return [("box", np.full(3, 0.2), places[::2]), ("ball", np.array([0.1]), places[1::2])], walls
    grid = np.stack(np.meshgrid(np.arange(10), np.arange(8), np.arange(10), indexing="ij"), -1).reshape(-1, 3)
    places = grid * 0.3 + [-1.35, 1.6, -1.35] + rng.uniform(-0.03, 0.03, (800, 3))
    poles = [
        ("rod", (0.45 * (i - 3.5), 0.0, 0.45 * (j - 3.5)), 0.04, 1.2) for i in range(8) for j in range(8)
    ]
    shapes = [
        ("box", np.array([0.25, 0.15, 0.2]), places[::3]),
        ("ball", np.array([0.1]), places[1::3]),
        ("rod", np.array([0.06, 0.2]), places[2::3]),
    ]
    return shapes, [("plane", (0, 0, 0), (0, 1, 0)), *poles]


def ours(kind: str) -> dict[str, float]:
    shapes, obstacles = bodies(kind)
    groups = []
    for shape, size, places in shapes:
        if shape == "box":
            solid: object = ct.Box(size=tuple(size))
        elif shape == "ball":
            solid = ct.Sphere(radius=float(size[0]))
        else:
            solid = ct.Capsule((0, -0.5 * size[1], 0), (0, 0.5 * size[1], 0), float(size[0]))
        groups.append(ct.RigidInstances(solid, places, density=1000.0, name=shape))  # type: ignore[arg-type]
    colliders: list = []
    for obstacle in obstacles:
        if obstacle[0] == "plane":
            colliders.append(ct.Plane(obstacle[1], obstacle[2]))
        else:
            _, (x, _, z), radius, height = obstacle
            colliders.append(ct.Capsule((x, 0, z), (x, height, z), radius))
    world = ct.World(groups, colliders=colliders, dt=DT)
    times, contacts, depths = [], [], []
    for step in range(STEPS):
        start = time.perf_counter()
        world.step()
        if step >= STEPS - LAST:
            times.append(time.perf_counter() - start)
            rigid = world.system(ct.RigidBody).rigid
            contacts.append(len(rigid.contacts))
            depths.append(rigid.max_penetration)
    return _summary(times, contacts, depths, world.energy()["kinetic"])


def bullet(kind: str) -> dict[str, float]:
    import pybullet as p

    client = p.connect(p.DIRECT)
    p.setGravity(0, -9.81, 0)
    p.setTimeStep(DT)
    shapes, obstacles = bodies(kind)
    for shape, size, places in shapes:
        if shape == "box":
            form, volume = (
                p.createCollisionShape(p.GEOM_BOX, halfExtents=(size / 2).tolist()),
                float(size.prod()),
            )
        elif shape == "ball":
            form = p.createCollisionShape(p.GEOM_SPHERE, radius=float(size[0]))
            volume = 4 / 3 * np.pi * size[0] ** 3
        else:
            form = p.createCollisionShape(p.GEOM_CAPSULE, radius=float(size[0]), height=float(size[1]))
            volume = np.pi * size[0] ** 2 * (size[1] + 4 / 3 * size[0])
        turn = p.getQuaternionFromEuler([np.pi / 2, 0, 0]) if shape == "rod" else [0, 0, 0, 1]
        for place in places:
            p.createMultiBody(1000.0 * volume, form, basePosition=place.tolist(), baseOrientation=turn)
    for obstacle in obstacles:
        if obstacle[0] == "plane":
            form = p.createCollisionShape(p.GEOM_PLANE, planeNormal=obstacle[2])
            p.createMultiBody(0, form, basePosition=obstacle[1])
        else:
            _, (x, _, z), radius, height = obstacle
            form = p.createCollisionShape(p.GEOM_CAPSULE, radius=radius, height=height)
            turn = p.getQuaternionFromEuler([np.pi / 2, 0, 0])
            p.createMultiBody(0, form, basePosition=[x, height / 2, z], baseOrientation=turn)
    for body in range(p.getNumBodies()):
        p.changeDynamics(body, -1, lateralFriction=np.sqrt(0.5))  # products of two
    times, contacts, depths = [], [], []
    for step in range(STEPS):
        start = time.perf_counter()
        p.stepSimulation()
        if step >= STEPS - LAST:
            times.append(time.perf_counter() - start)
            if step % 10 == 0:
                points = p.getContactPoints()
                contacts.append(len(points))
                depths.append(max([0.0, *(-point[8] for point in points)]))
    motion = [p.getBaseVelocity(body) for body in range(800)]
    p.disconnect(client)
    return _summary(times, contacts, depths, sum(4.0 * np.dot(v, v) for v, _ in motion))


def mujoco_(kind: str) -> dict[str, float]:
    import mujoco

    shapes, obstacles = bodies(kind)
    text = [f'<mujoco><option timestep="{DT}" gravity="0 -9.81 0" integrator="implicitfast"/>']
    text += [
        '<size memory="800M"/><default><geom friction="0.5 0.005 0.0001" density="1000"/></default><worldbody>'
    ]
    for obstacle in obstacles:
        if obstacle[0] == "plane":
            at, axis = (" ".join(map(str, v)) for v in obstacle[1:])
            text.append(f'<geom type="plane" size="5 5 0.1" pos="{at}" zaxis="{axis}"/>')
        else:
            _, (x, _, z), radius, height = obstacle
            text.append(f'<geom type="capsule" fromto="{x} 0 {z} {x} {height} {z}" size="{radius}"/>')
    for shape, size, places in shapes:
        for place in places:
            at = " ".join(f"{c:.6f}" for c in place)
            if shape == "box":
                geom = f'type="box" size="{" ".join(str(s / 2) for s in size)}"'
            elif shape == "ball":
                geom = f'type="sphere" size="{size[0]}"'
            else:
                geom = f'type="capsule" size="{size[0]}" fromto="0 {-size[1] / 2} 0 0 {size[1] / 2} 0"'
            text.append(f'<body pos="{at}"><freejoint/><geom {geom}/></body>')
    model = mujoco.MjModel.from_xml_string("".join([*text, "</worldbody></mujoco>"]))
    data = mujoco.MjData(model)
    times, contacts, depths = [], [], []
    steps = STEPS // 3  # it takes long; by then the heap has formed
    for step in range(steps):
        start = time.perf_counter()
        mujoco.mj_step(model, data)
        if step >= steps - LAST // 4:
            times.append(time.perf_counter() - start)
            contacts.append(data.ncon)
            depths.append(max(0.0, -float(data.contact.dist.min(initial=0.0))))
    return _summary(times, contacts, depths, float("nan"))


def _summary(times: list, contacts: list, depths: list, kinetic: float) -> dict[str, float]:
    return {
        "ms a step": 1e3 * float(np.median(times)),
        "contacts": float(np.mean(contacts)),
        "deepest overlap [mm]": 1e3 * float(np.max(depths)),
        "kinetic energy [J]": kinetic,
    }


def main(threads: int | None = None) -> Result:
    """Run all engines on both scenes."""
    set_threads(threads or 2)
    rows, ratios = [], []
    for kind in ("bin", "poles"):
        times = {}
        for name, run in (("continua", ours), ("PyBullet", bullet), ("MuJoCo", mujoco_)):
            try:
                values = run(kind)
            except ImportError:
                continue
            times[name] = values["ms a step"]
            rows.append({"scene": kind, "engine": name, **values})
        others = [value for name, value in times.items() if name != "continua"]
        ratios.append(min(others, default=float("nan")) / times["continua"])
    return Result(
        f"800 rigid bodies at a step of {DT * 1e3:g} ms, the last {LAST} of {STEPS} steps (MuJoCo: of {STEPS // 3})",
        rows,
        float(min(ratios)),
        bar=0.5,
        notes=["ratio: time of the faster of the others over ours, the smaller of both scenes"],
    )
