"""Make the pictures of the documentation again: `python docs/make_pictures.py [NAME ...]`.

A name is that of a picture or of a shipped scene, or `gallery`: the films of all shipped scenes, their stills and the
picture at the top of the README. Without names all pictures are made. Those of the studio need the extra `studio`,
Playwright and Chromium.
"""

from __future__ import annotations

import io
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageSequence

import continua as ct
from continua.render import Painter, interior_picture, make_view, picture
from continua.studio.browser import require_browser

IMAGES = Path(__file__).parent / "images"
SIZE = (960, 400)


def save(pixels: np.ndarray, name: str) -> None:
    IMAGES.mkdir(exist_ok=True)
    Image.fromarray(pixels).save(IMAGES / f"{name}.webp", quality=88, method=6)


def save_film(pictures: Iterable[np.ndarray], name: str, fps: float) -> None:
    IMAGES.mkdir(exist_ok=True)
    first, *rest = [Image.fromarray(pixels) for pixels in pictures]
    first.save(
        IMAGES / f"{name}.webp",
        save_all=True,
        append_images=rest,
        duration=round(1000 / fps),
        loop=0,
        quality=72,
        method=4,
    )


def frame_at(world: ct.World, seconds: float, fps: float = 60.0) -> ct.Frame:
    *_, last = world.run(seconds, fps)
    return last


HERO = (("torsion", "stairs", "double-dam"), ("wind-tunnel-car", "domino", "grid-dam-break"))
"""Rows of scenes whose films are played side by side at the top of the README."""
HERO_FRAMES, HERO_FPS = 45, 11.25  # 4 s, over which every film is stretched


def hero() -> None:
    """Films of shipped scenes side by side, from the films of the gallery."""
    films = {name: film_frames(name) for row in HERO for name in row}

    def tile(name: str, k: int) -> np.ndarray:
        film = films[name]
        return np.asarray(film[round(k / (HERO_FRAMES - 1) * (len(film) - 1))].resize((400, 225)))

    pictures = (
        np.concatenate([np.concatenate([tile(name, k) for name in row], axis=1) for row in HERO])
        for k in range(HERO_FRAMES)
    )
    save_film(pictures, "hero", HERO_FPS)


def film_frames(name: str) -> list[Image.Image]:
    """Return the frames of a film of the gallery."""
    with Image.open(IMAGES / f"{name}.webp") as film:
        return [frame.convert("RGB") for frame in ImageSequence.Iterator(film)]


def still(name: str) -> None:
    """Save a frame of the film of a shipped scene, small, for the README."""
    frames = film_frames(name)
    frame = frames[round(STILLS.get(name, 0.5) * (len(frames) - 1))]
    (IMAGES / "stills").mkdir(exist_ok=True)
    frame.resize((280, 158), Image.Resampling.LANCZOS).save(
        IMAGES / "stills" / f"{name}.webp", quality=85, method=6
    )


def scene_painter(name: str, frames: list[ct.Frame]) -> Painter:
    """Return a painter with the camera and the colours of a shipped scene."""
    wish = ct.load_scene(name).output.picture
    camera = None if wish.camera is None else wish.camera.model_dump(exclude_none=True)
    asked = wish.color if "color" in wish.model_fields_set else None
    marks = {"contact_forces": wish.contact_forces, "joints": wish.joints}
    look = make_view(frames, size=(560, 315), color=asked, camera=camera, fluid="surface", **marks)
    return Painter(look)


def scene_film(
    name: str, seconds: float, fps: float = 15.0, *, start: float = 0.0, faster: float = 1.0
) -> None:
    frames = [frame for frame in ct.load_scene(name).build().run(seconds, fps) if frame.time >= start]
    painter = scene_painter(name, frames)
    save_film((painter.paint(frame) for frame in frames), name, fps * faster)
    still(name)


def beams(kinds: Iterable[dict], seconds: float) -> ct.Frame:
    """Let beams of several kinds hang side by side, damped, and return the last frame."""
    bodies = []
    for k, kind in enumerate(kinds):
        cells, law, order = kind["cells"], kind["law"], kind["order"]
        mesh = ct.mesh.box(size=(1.0, 0.25, 0.25), cells=cells, origin=(1.3 * k, 0.0, 0.0))
        material = law(young=kind.get("young", 1e6), poisson=0.3, density=1000.0)
        body = ct.SoftBody(
            mesh, material=material, order=order, damping=(4.0, 0.01), color=kind["color"], name=f"beam{k}"
        )
        body.pin(where=lambda x: x[:, 0] < x[:, 0].min() + 1e-6)
        bodies.append(body)
    frame = frame_at(ct.World(bodies), seconds)
    for body, shown in zip(bodies, frame, strict=True):
        tip = body.rest_positions[:, 0] > body.rest_positions[:, 0].max() - 1e-6
        volume = sum(_volume(shown.positions[cell]) for cell in body.mesh.tets)
        print(
            f"  {body.material.name}, order {body.order}, {body.node_count} nodes: "
            f"sag {-shown.displacements[tip, 1].mean():.4f} m, volume {volume / body.mesh.volume - 1.0:+.1%}"
        )
    return frame


def _volume(corners: np.ndarray) -> float:
    return float(np.linalg.det(corners[1:] - corners[0])) / 6.0


BLUE, RED, GREY = (0.30, 0.61, 0.91), (0.91, 0.33, 0.30), (0.62, 0.65, 0.70)
SIDE_VIEW = {"azimuth": 12, "elevation": 10}


def linear_and_corotated() -> None:
    """The same soft beam with both laws: linear strain swells where the beam turns."""
    kinds = [
        {"cells": (16, 4, 4), "law": ct.Linear, "order": 2, "color": RED, "young": 3e5},
        {"cells": (16, 4, 4), "law": ct.Corotated, "order": 2, "color": BLUE, "young": 3e5},
    ]
    frame = beams(kinds, 3.0)
    save(picture(frame, size=SIZE, color="plain", camera=SIDE_VIEW), "linear_and_corotated")


def orders() -> None:
    """A coarse mesh of both orders and a fine one: how much stiffer the linear elements are."""
    kinds = [
        {"cells": (4, 1, 1), "law": ct.Corotated, "order": 1, "color": RED},
        {"cells": (4, 1, 1), "law": ct.Corotated, "order": 2, "color": BLUE},
        {"cells": (16, 4, 4), "law": ct.Corotated, "order": 2, "color": GREY},
    ]
    frame = beams(kinds, 3.0)
    save(picture(frame, size=SIZE, color="plain", camera=SIDE_VIEW), "orders")


def curved_elements() -> None:
    """Coarse balls and rings with straight edges, and curved of order 2 and 3."""
    bodies = []
    for row, mesh in enumerate((ct.mesh.sphere(0.45, 1), ct.mesh.torus(0.33, 0.13, (1, 8)))):
        for column, (order, curved, color) in enumerate(((2, False, RED), (2, True, BLUE), (3, True, GREY))):
            placed = mesh.transformed(rotate=(0.5, 0.0, 0.0), translate=(1.3 * column, -0.85 * row, 0.0))
            name = f"{row} {column}"
            bodies.append(ct.SoftBody(placed, order=order, curved=curved, color=color, name=name))
    frame = ct.World(bodies).frame()
    view = {"position": (1.3, 0.1, 5.2), "target": (1.3, -0.4, 0.0)}
    save(picture(frame, size=SIZE, color="plain", camera=view), "curved-elements")


def topology() -> None:
    """A beam as it was made, refined at its support while it bends, and cut through; tetrahedra are shrunk."""
    body = ct.SoftBody(
        ct.mesh.box((1.0, 0.25, 0.25), (8, 2, 2)), material=ct.Corotated(young=2e5), damping=(2.0, 0.01)
    )
    body.prepare(ct.environment.Environment(np.array([0.0, -9.81, 0.0])))
    body.pin(where=lambda x: x[:, 0] < 1e-6)
    moments = []
    for change, steps in (
        (lambda: None, 40),
        (lambda: body.refine(lambda x: x[:, 0] < 0.3), 0),
        (lambda: body.split(lambda x: x[:, 0] < 0.6), 18),
    ):
        change()
        for _ in range(steps):
            body.step(0.01)
        moments.append(shrunk_tets(body, len(moments)))
    frame = ct.Frame(0, 0, 0.0, {moment.name: moment for moment in moments})
    save(picture(frame, size=SIZE, color="plain", camera=SIDE_VIEW), "topology")


def shrunk_tets(body: ct.SoftBody, number: int) -> ct.BodyFrame:
    """Return the tetrahedra of a body, each shrunk towards its centre, as one surface."""
    corners = body.positions[body.mesh.tets]
    center = corners.mean(axis=1, keepdims=True)
    points = (center + 0.85 * (corners - center)).reshape(-1, 3) + (1.25 * number, 0.0, 0.0)
    first = 4 * np.arange(len(corners), dtype=np.int32)
    triangles = (first[:, None, None] + ct.TetMesh.FACES).reshape(-1, 3)
    color = (GREY, BLUE, RED)[number]
    return ct.BodyFrame(f"beam{number}", "soft", points, points, {}, triangles, {}, color)


def scan(low: np.ndarray, high: np.ndarray, shape: tuple[int, int, int], seed: int = 2) -> np.ndarray:
    """Return an image like a scan of a liver in a box: branching vessels and a ball in soft tissue."""
    rng = np.random.default_rng(seed)
    axes = [np.linspace(a, b, n) for a, b, n in zip(low, high, shape, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    image = np.full(shape, 0.08)
    image[np.linalg.norm(grid - [0.06, 0.01, 0.02], axis=-1) < 0.016] = 0.65
    start = ((-0.12, 0.0, 0.0), (1.0, 0.1, 0.0), 0.008, 3), ((0.1, -0.03, 0.01), (-1.0, 0.3, 0.2), 0.007, 3)
    todo = [(np.array(place), np.array(way), radius, forks) for place, way, radius, forks in start]
    while todo:
        place, way, radius, forks = todo.pop()
        for _ in range(int(3250 * radius) + 4):
            way = way + 0.25 * rng.normal(size=3)
            way /= np.linalg.norm(way)
            place = place + 0.006 * way
            middle = np.rint((place - low) / (high - low) * (np.array(shape) - 1)).astype(int)
            near = tuple(slice(max(m - 9, 0), max(m + 10, 0)) for m in middle)
            distance = np.linalg.norm(grid[near] - place, axis=-1)
            image[near] = np.maximum(image[near], np.clip(1.4 - distance / radius, 0.0, 1.0))
            if forks and rng.random() < 0.28:
                todo.append((place, way + 0.8 * rng.normal(size=3), 0.7 * radius, forks - 1))
    return image


def voxels() -> None:
    """A soft body that carries a generated scan, at rest and bent by its weight."""
    half = np.array([0.15, 0.085, 0.07])
    mesh = ct.mesh.fill(
        lambda x: 0.08 * (np.linalg.norm(x / half, axis=1) - 1.0), 1.2 * np.stack([-half, half]), 0.016
    )
    body = ct.SoftBody(
        mesh,
        material=ct.Corotated(young=2.2e4, poisson=0.45, density=1060.0),
        damping=(2.0, 0.02),
        voxels=ct.Voxels.around(scan(*mesh.bounds, (150, 90, 75)), mesh.bounds),
        name="liver",
    )
    body.pin(where=lambda x: x[:, 0] < -0.06)
    world = ct.World([body])
    look = {"inside": "volume", "color": "voxels", "size": (480, 400), "value_range": (0.0, 1.0)}
    view = {"position": (0.25, 0.06, 0.68), "target": (0.03, -0.02, 0.0)}
    frames = world.frame(), frame_at(world, 0.6)
    save(np.hstack([interior_picture(frame, camera=view, **look) for frame in frames]), "voxels")


def contact_forces() -> None:
    """A soft block that carries a heavy ball and a tower of bricks: arrows of the forces on all of them."""
    block = ct.SoftBody(
        ct.mesh.box(size=(0.8, 0.16, 0.4), cells=(12, 3, 6)),
        material=ct.Corotated(young=4e4, density=300.0),
        damping=(4.0, 0.02),
        color=(0.85, 0.62, 0.45),
        name="block",
    )
    ball = ct.RigidBody(ct.Sphere((0.2, 0.255, 0.2), 0.09), density=2500.0, color=BLUE, name="ball")
    places = [[0.56, 0.205, 0.2], [0.56, 0.285, 0.2], [0.58, 0.365, 0.2]]
    bricks = ct.RigidInstances(
        ct.Box(size=(0.16, 0.08, 0.12)), places, density=900.0, color=(0.55, 0.58, 0.62), name="bricks"
    )
    world = ct.World([block, ball, bricks], colliders=[ct.Plane()], contact=ct.Contact(friction=0.6))
    frame = frame_at(world, 1.2, fps=100.0)
    view = {"position": (0.75, 0.55, 1.55), "target": (0.4, 0.17, 0.2)}
    save(picture(frame, size=SIZE, color="plain", camera=view, contact_forces=True), "contact-forces")


def pressed_tissue() -> None:
    """A soft block that a sphere presses and two hands pull, with the stress and the forces of contact."""
    mesh = ct.mesh.box((0.2, 0.05, 0.2), (24, 8, 24), origin=(-0.1, 0.0, -0.1))
    body = ct.SoftBody(
        mesh, material=ct.Corotated(young=1e4, poisson=0.45), damping=(0.5, 0.003), name="tissue"
    )
    body.pin(where=lambda x: x[:, 1] < 1e-6)
    for x in (-0.06, 0.06):
        pull = body.pull(point=(x, 0.05, 0.0))
        pull.target = np.array([x, 0.062, 0.01])
    motion = ct.Motion.keyframes([0.0, 0.3, 0.6], [[0, 0, 0], [0, -0.02, 0], [0.015, -0.02, 0.01]])
    sphere = ct.Sphere((0.0, 0.075, 0.0), 0.024, motion=motion)
    frame = frame_at(ct.World([body], colliders=[sphere], dt=0.01), 0.6, fps=100.0)
    view = {"position": (0.2, 0.17, 0.24), "target": (0.0, 0.03, 0.0)}
    save(picture(frame, size=SIZE, camera=view, contact_forces=True), "pressed-tissue")


def overlaps() -> None:
    """Three soft rings that overlap each other at the start, coloured where they do."""
    rings = [
        ct.SoftBody(
            ct.mesh.torus(0.3, 0.1, cells=(6, 48)).transformed(rotate=turn, translate=place), name=f"ring {k}"
        )
        for k, (turn, place) in enumerate(
            [((0, 0, 0), (0, 0, 0)), ((1.2, 0, 0.3), (0.45, 0.05, 0)), ((0.2, 0, 0.4), (0.85, 0.02, 0.1))]
        )
    ]
    frame = ct.World(rings).frame()
    view = {"position": (0.5, 1.1, 1.9), "target": (0.42, 0.0, 0)}
    save(picture(frame, size=SIZE, color="overlap", camera=view), "overlaps")


def colliders() -> None:
    """Every shape that can stand in the way, with balls on it."""
    torus = ct.mesh.surfaces.torus(0.26, 0.1).transformed(translate=(2.5, 0.12, 0), rotate=(np.pi / 2, 0, 0))
    shapes = [
        ct.Plane(),
        ct.Box((-1.3, 0.15, 0), (0.5, 0.3, 0.5), rotate=(0, 0, 0.3), rounding=0.03),
        ct.Sphere((-0.45, 0.2, 0), 0.28),
        ct.Capsule((0.2, 0.12, -0.3), (0.45, 0.3, 0.3), 0.12),
        ct.Cylinder((1.1, 0.16, 0), radius=0.3, height=0.32),
        ct.Gear((1.8, 0.25, 0), radius=0.3, width=0.3, teeth=10, depth=0.08),
        ct.MeshShape(torus),
    ]
    rng = np.random.default_rng(2)
    places = np.stack([np.linspace(-1.4, 2.7, 60), rng.uniform(0.7, 1.6, 60), rng.uniform(-0.2, 0.2, 60)], 1)
    balls = ct.RigidInstances(
        ct.Sphere(radius=0.06), places, density=1000.0, color=(0.90, 0.45, 0.30), name="balls"
    )
    frame = frame_at(ct.World([balls], colliders=shapes), 0.62)
    view = {"position": (1.6, 1.7, 4.6), "target": (0.65, 0.15, 0)}
    save(picture(frame, size=SIZE, color="plain", camera=view), "colliders")


FRONT = """() => {
    const rest = __continua.rest(0), now = __continua.positions(0);
    const reach = (i) => Math.hypot(rest[i] - 4.3, rest[i + 1] - 0.6, rest[i + 2] - 1);
    let best = 0;
    for (let i = 0; i < rest.length; i += 3) if (reach(i) < reach(best)) best = i;
    return __continua.project(now[best], now[best + 1], now[best + 2]);
}"""
"""Where the middle of the bridge's front is on the page."""


@contextmanager
def studio_page(*scene: str) -> Iterator[Any]:
    """The page of `continua studio SCENE`, or of an empty scene, in a browser without a window."""
    from playwright.sync_api import sync_playwright

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "continua", "studio", *scene, "--port", str(port), "--no-open"]
    command += ["--token", "pictures"]
    folder = tempfile.TemporaryDirectory()  # edits are kept aside beside the scene
    server = subprocess.Popen(command, cwd=folder.name)
    try:
        wait_for(port)
        with sync_playwright() as play:
            browser = play.chromium.launch(
                executable_path=require_browser(),
                args=["--use-gl=angle", "--use-angle=swiftshader", "--no-sandbox"],
            )
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.set_default_timeout(300_000)
            page.goto(f"http://127.0.0.1:{port}/?token=pictures&graphics=full")  # as with a graphics card
            yield page
            browser.close()
    finally:
        server.terminate()
        server.wait()
        folder.cleanup()


def save_page(page: Any, name: str) -> None:
    data = io.BytesIO(page.screenshot())
    Image.open(data).convert("RGB").save(IMAGES / f"{name}.webp", quality=88, method=6)


def studio() -> None:
    """The bridge in the studio, being pulled by the mouse."""
    with studio_page("bridge") as page:
        page.wait_for_function("() => window.__continua?.frame()?.time > 6")
        page.keyboard.press(" ")
        page.wait_for_timeout(1000)
        x, y = page.evaluate(FRONT)
        page.mouse.move(x, y)
        page.mouse.down()
        page.keyboard.press(" ")
        page.mouse.move(x + 20, y - 150, steps=20)
        page.wait_for_timeout(8000)  # until the message that it was paused is gone
        save_page(page, "studio")


def studio_empty() -> None:
    """The empty view with the scenes to start from."""
    with studio_page() as page:
        page.locator(".start-card").first.wait_for()
        page.wait_for_timeout(1000)
        save_page(page, "studio-empty")


def panel_add() -> None:
    """The menu of what can be added."""
    with studio_page() as page:
        page.get_by_role("button", name="Add", exact=True).click()
        page.get_by_role("radio", name="Joint").click()
        data = io.BytesIO(page.locator(".add-menu .menu").screenshot())
        Image.open(data).convert("RGB").save(IMAGES / "panel-add.webp", quality=88, method=6)


WING = [(0.0, 0.0), (0.12, 0.085), (0.3, 0.1), (0.5, 0.06), (0.72, -0.02), (0.5, -0.03), (0.25, -0.05)]
"""Corners of what is drawn into the wind, from its first one [m]."""


def studio_tunnel() -> None:
    """Wind around a post, and around a wing that the mouse has drawn."""
    with studio_page("karman") as page:
        page.wait_for_function("() => window.__continua?.frame()?.time > 1")

        def go_to(x: float, y: float) -> None:
            page.mouse.move(*page.evaluate(f"() => __continua.project({x}, {y}, 0)"), steps=3)

        page.get_by_role("tab", name="Live").click()
        page.get_by_label("Draw obstacles").check()
        go_to(2.2 + WING[0][0], 1.25 + WING[0][1])
        page.mouse.down()
        for x, y in WING[1:]:
            go_to(2.2 + x, 1.25 + y)
        page.mouse.up()
        page.get_by_label("Streamlines").check()
        now = page.evaluate("() => __continua.frame().time")
        page.wait_for_function(f"() => __continua.frame().time > {now + 12}")
        go_to(3.6, 1.1)
        page.wait_for_timeout(1500)
        save_page(page, "studio-tunnel")


def studio_volume() -> None:
    """Stress inside of the bridge, by rays."""
    with studio_page("bridge") as page:
        page.wait_for_function("() => window.__continua?.frame()?.time > 1.5")
        page.get_by_role("button", name="Pause", exact=True).click()
        page.get_by_role("button", name="Play", exact=True).wait_for()
        page.get_by_role("tab", name="Live").click()
        page.get_by_label("Colour by").select_option(label="Von Mises stress")
        page.get_by_role("radiogroup", name="Interior").get_by_role("radio", name="Volume").click()
        page.mouse.move(640, 60)
        page.wait_for_timeout(10_000)  # until the message that it was paused is gone
        save_page(page, "studio-volume")


def wait_for(port: int) -> None:
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError("the studio did not start")


FILMS: dict[str, dict[str, float]] = {
    "arm": {"seconds": 4.0},
    "rolling": {"seconds": 2.0},
    "beam": {"seconds": 1.6},
    "bridge": {"seconds": 3.0},
    "jelly": {"seconds": 2.5},
    "towers": {"seconds": 4.0},
    "torsion": {"seconds": 3.6},
    "laws": {"seconds": 5.5, "fps": 10.0},
    "image-drag": {"seconds": 4.0, "fps": 6.0},
    "gears": {"seconds": 4.0, "fps": 12.0},
    "horse": {"seconds": 2.4},
    "puddle": {"seconds": 3.4},
    "torsion-orders": {"seconds": 3.4},
    "elastica": {"seconds": 2.0},
    "hanging-bar": {"seconds": 3.0},
    "clay": {"seconds": 2.8},
    "muscle": {"seconds": 2.8},
    "domino": {"seconds": 4.4},
    "newton-cradle": {"seconds": 4.0},
    "stairs": {"seconds": 2.8, "fps": 10.0},
    "tori-pile": {"seconds": 1.6, "fps": 12.0},
    "slicing": {"seconds": 2.6, "fps": 10.0},
    "slab": {"seconds": 1.2, "fps": 15.0},
    "hinged-cube": {"seconds": 2.4, "fps": 10.0},
    "plates": {"seconds": 2.6, "fps": 10.0},
    "squeezed-torus": {"seconds": 3.0, "fps": 10.0},
    "ring-pile": {"seconds": 2.0, "fps": 10.0},
    "marbles": {"seconds": 2.4, "fps": 10.0},
    "dam-break": {"seconds": 1.6},
    "double-dam": {"seconds": 2.4, "fps": 12.0},
    "honey": {"seconds": 4.5, "fps": 10.0},
    "karman": {"seconds": 22.0, "fps": 5.0, "start": 14.0, "faster": 2.4},
    "grid-dam-break": {"seconds": 2.6, "fps": 15.0},
    "grid-floats": {"seconds": 3.2, "fps": 12.5},
    "droplet": {"seconds": 1.6, "fps": 25.0, "faster": 0.6},
    "smoke-sphere": {"seconds": 3.4, "fps": 12.5},
    "wind-tunnel-car": {"seconds": 3.0, "fps": 12.5},
    "floating-bodies": {"seconds": 3.0, "fps": 10.0},
    "bunny-bath": {"seconds": 2.4, "fps": 10.0},
    "water-wheel": {"seconds": 3.6, "fps": 10.0},
    "rotating-sphere": {"seconds": 3.0, "fps": 10.0},
    "jelly-in-water": {"seconds": 2.4, "fps": 10.0},
    "incline": {"seconds": 1.5},
    "cushion": {"seconds": 2.5},
    "squeeze": {"seconds": 2.6},
    "split-block": {"seconds": 2.0, "faster": 0.6},
    "flag": {"seconds": 2.4, "fps": 12.5},
    "drape": {"seconds": 1.6, "fps": 10.0},
    "skirt": {"seconds": 3.0, "fps": 10.0},
    "curtain": {"seconds": 2.4, "fps": 10.0},
    "cushions": {"seconds": 2.0, "fps": 10.0},
    "crumple": {"seconds": 2.6, "fps": 8.0},
    "cloth-stack": {"seconds": 0.8, "fps": 12.5, "faster": 0.5},
    "rolling-cloth": {"seconds": 1.6, "fps": 10.0},
    "rope-bridge": {"seconds": 3.0, "fps": 10.0},
    "net": {"seconds": 2.4, "fps": 12.0},
    "jello-lattice": {"seconds": 2.4, "fps": 12.0},
    "hair": {"seconds": 2.0, "fps": 5.0},
    "methods": {"seconds": 2.4, "fps": 10.0},
    "knot": {"seconds": 1.6, "fps": 10.0},
    "sleeve": {"seconds": 1.6, "fps": 10.0},
}
"""The part of every shipped scene that its film shows."""
STILLS = {
    "arm": 0.2,
    "beam": 0.33,
    "bridge": 0.33,
    "bunny-bath": 0.35,
    "cloth-stack": 0.9,
    "crumple": 0.7,
    "cushions": 0.7,
    "dam-break": 0.75,
    "drape": 1.0,
    "incline": 0.8,
    "muscle": 0.9,
    "plates": 0.65,
    "rolling": 0.7,
    "slicing": 0.9,
    "smoke-sphere": 0.9,
    "skirt": 0.85,
    "split-block": 0.3,
    "squeeze": 0.35,
    "squeezed-torus": 0.37,
    "towers": 0.33,
}
"""Where in its film [0 to 1] the still of a scene is taken; in the middle, unless told here."""

PICTURES: dict[str, Callable[[], None]] = {
    **{name: partial(scene_film, name, **part) for name, part in FILMS.items()},
    "hero": hero,
    "contact-forces": contact_forces,
    "pressed-tissue": pressed_tissue,
    "voxels": voxels,
    "colliders": colliders,
    "overlaps": overlaps,
    "linear_and_corotated": linear_and_corotated,
    "orders": orders,
    "curved-elements": curved_elements,
    "topology": topology,
    "studio": studio,
    "studio-empty": studio_empty,
    "panel-add": panel_add,
    "studio-tunnel": studio_tunnel,
    "studio-volume": studio_volume,
}


if __name__ == "__main__":
    names = sys.argv[1:] or list(PICTURES)
    for wanted in [*FILMS, "hero"] if names == ["gallery"] else names:
        print(wanted, flush=True)
        PICTURES[wanted]()
