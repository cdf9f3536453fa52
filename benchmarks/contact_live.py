"""Contact in interactive scenes: an instrument on tissue, a gripper, a figure on the floor, a block that is pulled.

Each soft scene is stepped with and without contact in the same run; a hand moves a point of the body in both. The
figure is the surface in the file $CONTINUA_BUNNY, or a smooth body with a head and two ears.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

import continua as ct
from benchmarks.report import Result
from benchmarks.run import Run
from benchmarks.shared_surfaces import bunny

Figures = dict[str, object]
DT = 0.01


def _soft(mesh: ct.mesh.TetMesh, name: str, young: float, poisson: float = 0.4) -> ct.SoftBody:
    material = ct.Corotated(young=young, poisson=poisson, density=1000.0)
    return ct.SoftBody(mesh, material=material, damping=(0.5, 0.003), name=name)


class _Hand:
    """A spring that moves a point of a body on a circle."""

    def __init__(self, body: ct.SoftBody, point: tuple[float, float, float], radius: float) -> None:
        self.pull = body.pull(point=point)
        self.center, self.radius = np.array(self.pull.target), radius

    def move(self, t: float) -> None:
        angle = 2.0 * np.pi * t
        self.pull.target = self.center + self.radius * np.array([np.sin(angle), 0.5, np.cos(angle) - 1.0])


def _instrument(cells: int, contact: bool) -> tuple[ct.World, list[_Hand]]:
    """A pinned ball under a capsule that presses and slides, while a hand holds a point of its side."""
    ball = _soft(ct.mesh.sphere(0.1, cells), "ball", 2e4)
    ball.pin(where=lambda x: x[:, 1] < -0.07)
    hand = _Hand(ball, (0.1, 0.0, 0.0), 0.02)
    times = np.linspace(0.0, 20.0, 2001)
    press = -0.02 * np.minimum(1.0, times / 0.3) * (0.75 + 0.25 * np.cos(2.0 * np.pi * times))
    path = np.stack([0.03 * np.sin(np.pi * times), press, 0.0 * times], axis=1)
    tool = ct.Capsule(
        (0.0, 0.113, 0.0),
        (0.05, 0.25, 0.02),
        radius=0.012,
        motion=ct.Motion.keyframes(times, path),
        name="tool",
    )
    world = ct.World([ball], colliders=[tool] if contact else [], dt=DT, contact=ct.Contact(friction=0.3))
    return world, [hand]


def _figure(mesh: ct.mesh.TetMesh, young: float, contact: bool) -> tuple[ct.World, list[_Hand]]:
    """A figure that falls on the floor, or the same body pinned at its top and swinging."""
    body = _soft(mesh, "figure", young)
    if contact:
        return ct.World([body], colliders=[ct.Plane()], dt=DT), []
    top = float(body.rest_positions[:, 1].max())
    body.pin(where=lambda x: x[:, 1] > top - 0.03)
    return ct.World([body], dt=DT, gravity=(3.0, -9.81, 0.0)), []


def _tissue(mesh: ct.mesh.TetMesh, contact: bool) -> tuple[ct.World, list[_Hand]]:
    """A block on a table, pulled at two points and pressed by a sphere."""
    body = _soft(mesh, "tissue", 1e4, 0.45)
    body.pin(where=lambda x: x[:, 1] < 1e-6)
    hands = [_Hand(body, (x, 0.05, 0.0), 0.015) for x in (-0.06, 0.06)]
    times = np.linspace(0.0, 20.0, 2001)
    press = -0.02 * np.minimum(1.0, times / 0.3)
    path = np.stack([0.02 * np.sin(np.pi * times), press, 0.02 * np.cos(np.pi * times)], axis=1)
    sphere = ct.Sphere((0.0, 0.075, 0.0), 0.024, motion=ct.Motion.keyframes(times, path), name="sphere")
    return ct.World([body], colliders=[sphere] if contact else [], dt=DT), hands


def _steps(
    run: Run,
    scene: tuple[ct.World, list[_Hand]],
    count: int,
    label: str,
    after: Callable[[], None] | None = None,
) -> tuple[list[float], int]:
    """Return the seconds of each step, and in how many the contact forces did not converge."""
    world, hands = scene
    seconds: list[float] = []
    unconverged = 0
    for _ in run.steps(count, label):
        for hand in hands:
            hand.move(world.time)
        start = time.perf_counter()
        reports = world.step()
        seconds.append(time.perf_counter() - start)
        unconverged += any("did not converge" in text for report in reports for text in report.warnings)
        if after is not None:
            after()
    return seconds, unconverged


def _compare(
    run: Run, make: Callable[[bool], tuple[ct.World, list[_Hand]]], steps: int, skip: int
) -> Figures:
    alone, _ = _steps(run, make(False), skip + steps // 2, "without contact")
    both, unconverged = _steps(run, make(True), skip + steps, "with contact")
    # a case that was stopped early has its last step only
    free, touching = statistics.median(alone[skip:] or alone[-1:]), both[skip:] or both[-1:]
    return {
        "ms per step": 1e3 * statistics.median(touching),
        "ms without contact": 1e3 * free,
        "median ratio": statistics.median(touching) / free,
        "p95 ratio": float(np.percentile(touching, 95)) / free,
        "worst ratio": max(touching) / free,
        "steps/s": 1.0 / statistics.mean(touching),
        "unconverged steps": float(unconverged),
    }


def gripper(squeeze: float, dt: float, friction: float = 0.8, cells: int = 6) -> ct.World:
    """Return a world with a rigid ball of 2.6 N between two soft pads whose backs move inward by `squeeze` [m]."""
    radius, depth, width = 0.04, 0.02, 0.05
    bodies = []
    for side, name in ((-1.0, "left"), (1.0, "right")):
        origin = (-radius - depth if side < 0.0 else radius, -0.5 * width, -0.5 * width)
        mesh = ct.mesh.box((depth, width, width), (max(cells // 2, 1), cells, cells), origin=origin)
        pad = _soft(mesh, name, 2e5)
        back = side * (radius + depth)
        motion = ct.Motion.keyframes([0.0, 0.3], [[0.0, 0.0, 0.0], [-side * squeeze, 0.0, 0.0]])
        pad.drive(lambda x, back=back: np.abs(x[:, 0] - back) < 1e-9, motion)
        bodies.append(pad)
    density = 2.6 / 9.81 / (4.0 / 3.0 * np.pi * radius**3)
    ball = ct.RigidBody(ct.Sphere((0.0, 0.0, 0.0), radius), density=density, name="ball")
    return ct.World([*bodies, ball], dt=dt, contact=ct.Contact(friction=friction))


def _grip(run: Run, dt: float, cells: int) -> Figures:
    world = gripper(0.0105, dt, cells=cells)
    ball = world.bodies[-1]
    hold = run.choose(0.02, 1.0)
    _steps(run, (world, []), round(run.choose(0.05, 0.6) / dt), "closing")
    start = float(ball.center_of_mass[1])
    speeds: list[float] = []
    seconds, unconverged = _steps(
        run,
        (world, []),
        round(hold / dt),
        "holding",
        lambda: speeds.append(float(np.abs(ball.velocities).max())),
    )
    force = float(world.bodies[0].contact_forces[:, 0].sum())
    return {
        "ms per step": 1e3 * statistics.median(seconds),
        "steps/s": 1.0 / statistics.mean(seconds),
        "grip [N]": abs(force),
        "creep [mm/s]": 1e3 * abs(float(ball.center_of_mass[1]) - start) / hold,
        "speed [mm/s]": 1e3 * max(speeds),
        "unconverged steps": float(unconverged),
    }


def _figure_mesh(run: Run) -> ct.mesh.TetMesh:
    if run.quick:
        mesh = ct.mesh.sphere(0.15, 3)
    else:
        surface = bunny()
        surface = surface.transformed(scale=0.3 / float(np.ptp(surface.bounds, axis=0).max()))
        run.stage("filling the figure with tets, once")
        mesh = ct.mesh.tetrahedralize(surface, size=0.0125, tolerance=0.01)
    return mesh.transformed(translate=(0.0, 0.002 - float(mesh.points[:, 1].min()), 0.0))


def _irregular_block(run: Run) -> ct.mesh.TetMesh:
    """Return a block whose inner nodes are displaced at random."""
    cells = run.choose((4, 2, 4), (29, 10, 29))
    mesh = ct.mesh.box((0.2, 0.05, 0.2), cells, origin=(-0.1, 0.0, -0.1))
    points, size = mesh.points.copy(), np.array([0.2, 0.05, 0.2]) / cells
    inside = (np.abs(points - [0.0, 0.025, 0.0]) < np.array([0.1, 0.025, 0.1]) - 1e-6).all(axis=1)
    noise = np.random.default_rng(1).uniform(-0.25, 0.25, points.shape) * size
    points[inside] += noise[inside]
    order = np.random.default_rng(2).permutation(len(points))  # no order of nodes that a lattice would have
    number = np.argsort(order)
    return ct.mesh.TetMesh(points[order], number[mesh.tets].astype(np.int32))


def main(run: Run) -> Result:
    """Step all scenes and compare them with the same bodies without contact."""
    steps, skip = run.choose((6, 4), (150, 40))
    rows: list[dict[str, object]] = []
    ratios: list[float] = []
    box = ct.mesh.box((0.2, 0.05, 0.2), run.choose((4, 2, 4), (29, 10, 29)), origin=(-0.1, 0.0, -0.1))
    scenes = ("instrument small", "instrument large", "gripper 5 ms", "gripper 10 ms", "figure soft", "figure stiff",
              "tissue, lattice", "tissue, irregular")  # fmt: skip
    for scene in run.cases(scenes):
        run.set_threads(2 if scene.startswith("tissue") else 1)
        if scene.startswith("gripper"):
            dt = 0.005 if "5" in scene else 0.01
            rows.append({"scene": scene, **_grip(run, dt, run.choose(3, 6))})
            continue
        if scene.startswith("instrument"):
            cells = run.choose(3, 10 if "small" in scene else 14)
            figures = _compare(run, lambda on, cells=cells: _instrument(cells, on), steps, skip)
        elif scene.startswith("figure"):
            mesh, young = _figure_mesh(run), 1e5 if "soft" in scene else 1e6
            figures = _compare(run, lambda on, m=mesh, e=young: _figure(m, e, on), steps, skip)
        else:
            mesh = box if "lattice" in scene else _irregular_block(run)
            figures = _compare(run, lambda on, m=mesh: _tissue(m, on), steps, skip)
        ratios.append(1.0 / float(str(figures["median ratio"])))
        rows.append({"scene": scene, **figures})
    notes = [
        "ratios are to the median step of the same body without contact; the figure is pinned and swings then",
        "ratio = a median step without contact over one with contact, the smallest of all scenes",
    ]
    return Result("Contact in interactive scenes", rows, min(ratios, default=1.0), None, notes, ("scene",))
