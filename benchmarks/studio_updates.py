"""Updates a second that the studio gives for surfaces of 20,000 vertices while the simulation runs.

At the server: frames that a client on the loopback receives, each acknowledged at once, and what packing one costs. In
the page: frames whose positions were taken over and drawn, in a headless browser of this machine, if there is one and
Playwright is installed. A browser without a graphics card draws in software, which takes most of the time; so the page
is measured at its usual size, and with a picture so small that filling pixels costs next to nothing, while the session
publishes up to 60 frames a second. The page's own work (reading, positions, normals) is timed too.
"""

from __future__ import annotations

import json
import shutil
import struct
import time
from typing import Any

import numpy as np

import continua as ct
from benchmarks.report import Result
from continua.studio.encoding.frame_encoder import FrameEncoder
from continua.studio.server import BackgroundServer, create_app
from continua.studio.server.guard import Policy
from continua.studio.session import publisher
from continua.studio.session.session import Session
from continua.studio.session.snapshot import SessionScene

SECONDS = 6.0
BAR = 30.0  # updates a second
SMALL = "small page updates/s"
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",
)  # as where there is no graphics card


def ball(rows: int = 102, columns: int = 200) -> ct.SurfaceMesh:
    """Return a closed surface of about 20,000 vertices, a ball with waves."""
    u, v = np.meshgrid(
        np.linspace(0.0, np.pi, rows)[1:-1], np.arange(columns) * 2 * np.pi / columns, indexing="ij"
    )
    radius = 0.5 + 0.03 * np.cos(6 * v) * np.sin(u) ** 3
    points = np.stack(
        [radius * np.sin(u) * np.cos(v), radius * np.cos(u), radius * np.sin(u) * np.sin(v)], -1
    )
    ends = np.array([[0.0, 0.5, 0.0], [0.0, -0.5, 0.0]])
    n, i = rows - 2, np.arange(columns)
    j = (i + 1) % columns
    a, b = (np.arange(n - 1)[:, None] * columns + k for k in (i, j))
    quads = np.stack([a, b, b + columns, a, b + columns, a + columns], -1).reshape(-1, 3)
    top = np.stack([np.full(columns, n * columns), j, i], -1)
    last = (n - 1) * columns
    bottom = np.stack([np.full(columns, n * columns + 1), last + i, last + j], -1)
    return ct.SurfaceMesh(np.concatenate([points.reshape(-1, 3), ends]), np.concatenate([quads, top, bottom]))


def rigid_world() -> ct.World:
    """Return a rigid body of 20,000 vertices that spins: all of them move in every step."""
    body = ct.RigidBody(ball(), density=1000.0, angular_velocity=(1.0, 2.0, 0.5), name="ball")
    return ct.World([body], dt=0.01, gravity=(0.0, 0.0, 0.0), name="spinning")


def soft_world() -> ct.World:
    """Return a coarse soft body that carries a skin of 20,000 vertices and swings."""
    body = ct.SoftBody(
        ct.mesh.sphere(0.55, 4),
        material=ct.Corotated(young=2e4),
        skin=ball(),
        name="ball",
        damping=(0.05, 0.0),
    )
    body.pin(where=lambda x: x[:, 1] > 0.45)
    return ct.World([body], dt=0.01, name="carried")


def main(threads: int | None = None) -> Result:
    """Measure both worlds at the server and in the page."""
    ct.set_threads(threads or 1)
    rows = []
    for what, world in (("rigid surface", rigid_world()), ("skin on a soft body", soft_world())):
        world.step()
        rows.append({"surface": what, **_measure(world)})
    measured = [row[name] for row in rows for name in ("server updates/s", SMALL) if name in row]
    slowest = min(float(str(value)) for value in measured)
    notes = [
        f"Surfaces of {len(ball().points):,} vertices; the session publishes at most 30 frames a second.",
        "Page: headless Chromium with software rendering, which takes most of the time at 1280 x 720;",
        "the small picture has 330 x 38 pixels, and up to 60 frames a second are published for it;",
        "'page work' is what the page does with a frame besides drawing.",
    ]
    return Result("Updates a second of the studio", rows, slowest / BAR, 0.95, notes)


def _measure(world: ct.World) -> dict[str, object]:
    frame_ms, size = _packing(world)
    session = Session(world.name, lambda _: SessionScene(world))
    server = BackgroundServer(create_app(session, [], Policy()))
    try:
        return {
            "server updates/s": round(_receive(server.port), 1),
            "packing ms": frame_ms,
            "kB a frame": size / 1e3,
            **_look(server.port, 1280, 720, "page updates/s"),
            **_small(server.port),
        }
    finally:
        server.stop()


def _packing(world: ct.World) -> tuple[float, float]:
    """Return milliseconds and bytes of a frame's message."""
    session = Session(world.name, lambda _: SessionScene(world))
    encoder = FrameEncoder()
    encoder.encode_topology(session.snapshot)
    times, size = [], 0
    for _ in range(20):
        session._step()
        session._publish(force=True)
        begin = time.perf_counter()
        size = len(encoder.encode_frame(session.snapshot))
        times.append(time.perf_counter() - begin)
    return 1e3 * float(np.median(times)), float(size)


def _receive(port: int) -> float:
    """Return the frames a second that a client gets which acknowledges each at once."""
    from websockets.sync.client import connect

    count, start = 0, 0.0
    with connect(f"ws://127.0.0.1:{port}/ws", max_size=2**28, compression=None) as socket:
        while True:
            message = socket.recv(timeout=60)
            if isinstance(message, str):
                continue
            kind, length = struct.unpack_from("<II", message)
            if kind != 2:
                continue
            socket.send(json.dumps({"type": "ack", "seq": json.loads(message[8 : 8 + length])["seq"]}))
            count += 1
            if count == 10:  # the first ones come while it starts
                start = time.perf_counter()
            elif count > 10 and time.perf_counter() - start > SECONDS:
                return (count - 10) / (time.perf_counter() - start)


def _small(port: int) -> dict[str, object]:
    """Return the updates a second of a page that has next to nothing to fill with colour."""
    usual, publisher.MAX_RATE = publisher.MAX_RATE, 60.0
    try:
        return _look(port, 330, 120, SMALL)
    finally:
        publisher.MAX_RATE = usual


def _look(port: int, width: int, height: int, name: str) -> dict[str, object]:
    """Return the updates a second that a page of some size draws, and its own milliseconds for one."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        return {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(_ARGUMENTS))
        page = browser.new_page(viewport={"width": width, "height": height})
        page.goto(f"http://127.0.0.1:{port}/")
        page.wait_for_function("() => window.__continua?.frame() && __continua.drawn() > 10")
        before: Any = page.evaluate("() => __continua.updates()")
        page.wait_for_timeout(1000 * SECONDS)
        after: Any = page.evaluate("() => __continua.updates()")
        browser.close()
    count = after["count"] - before["count"]
    return {
        name: round(count / (after["now"] - before["now"]) * 1e3, 1),
        "page work ms": round((after["workMs"] - before["workMs"]) / max(count, 1), 2),
    }
