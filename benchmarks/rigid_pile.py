"""Piles of rigid bodies against PyBullet and MuJoCo: the same bodies, positions, friction and time step.

Two scenes: 800 boxes, balls and rods fall onto 64 poles, and 800 boxes and balls fall into a bin. Everything else is at
the defaults of each engine. The penetration is what each engine reports. The figures are medians over the last third
of the steps that all engines have done.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

import continua as ct
from benchmarks.report import Result
from benchmarks.run import Run

DT = 0.01
STEPS = 300


@dataclass
class History:
    """Seconds, contacts and the largest penetration [m] of every step; where an engine was not asked, NaN."""

    seconds: list[float] = field(default_factory=list)
    contacts: list[float] = field(default_factory=list)
    depths: list[float] = field(default_factory=list)

    def add(self, seconds: float, contacts: float = np.nan, depth: float = np.nan) -> None:
        """Add a step."""
        self.seconds.append(seconds)
        self.contacts.append(contacts)
        self.depths.append(depth)

    def summary(self, steps: int | None = None) -> dict[str, float]:
        """Return the figures over the last third of the first steps."""
        steps = len(self.seconds) if steps is None else steps
        part = slice(2 * steps // 3, steps)
        return {
            "ms per step": 1e3 * float(np.median(self.seconds[part])),
            "contacts": float(np.nanmean(self.contacts[part])),
            "max penetration [mm]": 1e3 * float(np.nanmax(self.depths[part])),
        }


def bodies(kind: str, count: int) -> tuple[list[tuple[str, np.ndarray, np.ndarray]], list[tuple]]:
    """Return (shape, size, positions) of `count` bodies, and the obstacles."""
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
        places = places[:count]
        return [("box", np.full(3, 0.2), places[::2]), ("ball", np.array([0.1]), places[1::2])], walls
    grid = np.stack(np.meshgrid(np.arange(10), np.arange(8), np.arange(10), indexing="ij"), -1).reshape(-1, 3)
    places = grid * 0.3 + [-1.35, 1.6, -1.35] + rng.uniform(-0.03, 0.03, (800, 3))
    poles = [
        ("rod", (0.45 * (i - 3.5), 0.0, 0.45 * (j - 3.5)), 0.04, 1.2) for i in range(8) for j in range(8)
    ]
    places = places[:count]
    shapes = [
        ("box", np.array([0.25, 0.15, 0.2]), places[::3]),
        ("ball", np.array([0.1]), places[1::3]),
        ("rod", np.array([0.06, 0.2]), places[2::3]),
    ]
    return shapes, [("plane", (0, 0, 0), (0, 1, 0)), *poles]


def ours(run: Run, kind: str, count: int = 800) -> History:
    """Simulate the scene with Continua."""
    shapes, obstacles = bodies(kind, count)
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
    found = History()
    for _ in run.steps(run.choose(3, STEPS), "Continua", 0.4):
        start = time.perf_counter()
        world.step()
        seconds = time.perf_counter() - start
        rigid = world.system(ct.RigidBody).rigid
        assert rigid is not None
        assert rigid.contacts is not None
        found.add(seconds, len(rigid.contacts), rigid.max_penetration)
    return found


def bullet(run: Run, kind: str, count: int = 800) -> History:
    """Simulate the scene with PyBullet."""
    import pybullet as p

    client = p.connect(p.DIRECT)
    p.setGravity(0, -9.81, 0)
    p.setTimeStep(DT)
    shapes, obstacles = bodies(kind, count)
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
        p.changeDynamics(body, -1, lateralFriction=np.sqrt(0.5))  # it multiplies the two
    found = History()
    for step in run.steps(run.choose(3, STEPS), "PyBullet", 0.6):
        start = time.perf_counter()
        p.stepSimulation()
        seconds = time.perf_counter() - start
        if step % 10 and not run.quick:
            found.add(seconds)
            continue
        points = p.getContactPoints()
        found.add(seconds, len(points), max([0.0, *(-point[8] for point in points)]))
    p.disconnect(client)
    return found


def mujoco_(run: Run, kind: str, count: int = 800) -> History:
    """Simulate the scene with MuJoCo."""
    import mujoco

    shapes, obstacles = bodies(kind, count)
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
    found = History()
    for _ in run.steps(run.choose(3, STEPS), "MuJoCo"):
        start = time.perf_counter()
        mujoco.mj_step(model, data)
        seconds = time.perf_counter() - start
        found.add(seconds, data.ncon, max(0.0, -float(data.contact.dist.min(initial=0.0))))
    return found


ENGINES = {"Continua": ours, "PyBullet": bullet, "MuJoCo": mujoco_}


def main(run: Run) -> Result:
    """Run all engines on both scenes."""
    run.set_threads(2)
    count = run.choose(8, 800)
    rows: list[dict[str, object]] = []
    ratios = []
    for kind in run.cases(("bin", "poles")):
        found: dict[str, History] = {}
        for name, simulate in ENGINES.items():
            history = run.peer(name, lambda simulate=simulate, kind=kind: simulate(run, kind, count))
            if history is not None:
                found[name] = history
        steps = min(len(history.seconds) for history in found.values())
        figures = {name: history.summary(steps) for name, history in found.items()}
        rows += [
            {"scene": kind, "engine": name, "steps": steps, **values} for name, values in figures.items()
        ]
        peers = [values["ms per step"] for name, values in figures.items() if name != "Continua"]
        if peers:
            ratios.append(min(peers) / figures["Continua"]["ms per step"])
    return Result(
        f"{count} rigid bodies at a step of {DT * 1e3:g} ms, the last third of the steps",
        rows,
        min(ratios, default=None),
        0.5,
        ["ratio = the faster peer over ours, the smaller of both scenes"],
        ("scene", "engine"),
    )
