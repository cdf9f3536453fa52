"""A body whose mesh changes while the studio runs: the next message has the new mesh, and the page shows it."""

import json
import threading
from dataclasses import replace

import numpy as np
import pytest
from studio_world import make_session, make_world
from test_studio_page import browser, opened, pause, serving, until  # noqa: F401
from test_studio_protocol import unpack

from continua.frames import Field, RunInfo, readonly_copy
from continua.mesh.refinement import refine
from continua.output import make_sink
from continua.output.wire_format import MessageKind
from continua.studio.encoding.frame_encoder import FrameEncoder
from continua.studio.session.snapshot import Snapshot, Stats


def refined_frame(body, mesh, version):
    """Return a body frame with the nodes, elements and surface of a refined mesh."""
    refinement = refine(mesh)
    spread = refinement.interpolation()
    positions = readonly_copy(spread @ body.positions)
    fine = refinement.mesh
    fields = {
        name: Field(readonly_copy(spread @ np.asarray(body[name])), body.fields[name].unit)
        for name in ("displacement", "velocity", "von_mises")
    }
    return replace(
        body,
        positions=positions,
        rest_positions=fine.points,
        cells={"tetra": fine.cells},
        triangles=fine.boundary_triangles,
        fields=fields,
        topology_version=version,
        contacts=None,
    )


class RefinedWorld:
    """A world whose frames show a refined mesh while `refined` is set."""

    def __init__(self):
        self._world = make_world()
        self.refined = threading.Event()
        self.version = 1

    def __getattr__(self, name):
        return getattr(self._world, name)

    def frame(self):
        frame = self._world.frame()
        if not self.refined.is_set():
            return frame
        fine = refined_frame(frame["beam"], self._world.bodies[0].mesh, self.version)
        return replace(frame, bodies={"beam": fine})


def snapshot_of(session, seq, markers=None):
    scene = session.snapshot.scene
    return Snapshot(
        seq,
        1,
        scene.world.frame(),
        Stats(),
        scene,
        markers=session.snapshot.markers if markers is None else markers,
    )


@pytest.fixture
def session():
    return make_session(RefinedWorld())


def assert_shows(arrays, body):
    np.testing.assert_allclose(
        arrays["0/rest"][arrays["0/triangles"]], body.rest_positions[body.triangles], rtol=1e-6, atol=1e-7
    )
    np.testing.assert_allclose(
        arrays["0/positions"][arrays["0/triangles"]], body.positions[body.triangles], rtol=1e-6, atol=1e-7
    )
    np.testing.assert_array_equal(arrays["0/nodes"][arrays["0/triangles"]], body.triangles)


def test_the_next_frame_has_the_new_mesh_and_later_ones_do_not(session):
    world, encoder = session.snapshot.scene.world, FrameEncoder()
    encoder.encode_topology(session.snapshot)
    _, header, arrays = unpack(encoder.encode_frame(snapshot_of(session, 1)))
    assert header["bodies"] == {}
    assert "0/triangles" not in arrays
    coarse = len(arrays["0/positions"])

    world.refined.set()
    snapshot = snapshot_of(session, 2)
    assert encoder.is_current(snapshot)  # the scene is still the same
    kind, header, arrays = unpack(encoder.encode_frame(snapshot))
    body = snapshot.frame["beam"]
    assert kind == MessageKind.FRAME
    assert header["bodies"]["0"]["topologyVersion"] == 1
    assert header["bodies"]["0"]["cells"] == {"tetra": len(body.cells["tetra"])}
    assert len(arrays["0/positions"]) > 2 * coarse
    assert_shows(arrays, body)
    assert len(arrays["0/displacement"]) == len(arrays["0/positions"])

    _, header, arrays = unpack(encoder.encode_frame(snapshot_of(session, 3)))
    assert header["bodies"] == {}
    assert not {"0/triangles", "0/nodes", "0/rest"} & set(arrays)

    world.refined.clear()  # a reset returns to the first mesh, with another version
    back = snapshot_of(session, 4)
    frame = replace(back.frame, bodies={"beam": replace(back.frame["beam"], topology_version=2)})
    _, header, arrays = unpack(encoder.encode_frame(replace(back, frame=frame)))
    assert header["bodies"]["0"]["topologyVersion"] == 2
    assert_shows(arrays, frame["beam"])


def test_markers_refer_to_the_new_mesh(session):
    world, encoder = session.snapshot.scene.world, FrameEncoder()
    encoder.encode_topology(session.snapshot)
    world.refined.set()
    snapshot = snapshot_of(session, 1)
    body = snapshot.frame["beam"]
    key, (owner, _) = next(iter(snapshot.markers.items()))
    pinned = np.flatnonzero(body.rest_positions[:, 0] < 1e-6).astype(np.int32)
    _, _, arrays = unpack(encoder.encode_frame(replace(snapshot, markers={key: (owner, pinned)})))
    np.testing.assert_array_equal(arrays["0/nodes"][arrays[f"{key}/markers"]], pinned)


@pytest.mark.parametrize("interior", ["volume", "surfaces"])
def test_the_interior_follows(session, interior):
    world, encoder = session.snapshot.scene.world, FrameEncoder()
    encoder.set_interior(interior, (1e-9,))
    encoder.encode_topology(session.snapshot)
    encoder.encode_frame(snapshot_of(session, 1))
    world.refined.set()
    world.step()
    snapshot = snapshot_of(session, 2)
    body = snapshot.frame["beam"]
    _, _, arrays = unpack(encoder.encode_frame(snapshot))
    if interior == "volume":
        tets = arrays["0/interior/tets"]
        np.testing.assert_array_equal(arrays["0/nodes"][tets], body.cells["tetra"])
        assert len(arrays["0/positions"]) == len(body.positions)
    else:
        assert len(arrays["0/iso/points"]) > 0


def test_the_clip_plane_cuts_the_new_mesh(session):
    world, encoder = session.snapshot.scene.world, FrameEncoder()
    encoder.encode_topology(session.snapshot)
    encoder.set_clip_plane(0, 0.5, False)
    encoder.encode_topology(session.snapshot)
    world.refined.set()
    _, _, arrays = unpack(encoder.encode_frame(snapshot_of(session, 1)))
    shown = arrays["0/rest"][np.unique(arrays["0/triangles"])]
    assert shown[:, 0].max() == pytest.approx(0.5, abs=1.0 / 12 + 1e-6)


def test_the_page_shows_the_new_mesh_and_keeps_the_scene(browser):  # noqa: F811
    world = RefinedWorld()
    session = make_session(world)
    with serving(session) as port, opened(browser, port) as page:
        before = page.evaluate("() => __continua.triangles(0).length")
        samples = page.evaluate("() => __continua.samples()")
        world.refined.set()
        until(page, lambda: page.evaluate("() => __continua.triangles(0).length") == 4 * before)
        assert page.evaluate("() => __continua.samples()") > samples  # the plots go on
        body = world.frame()["beam"]
        rest = np.reshape(page.evaluate("() => __continua.rest(0)"), (-1, 3))
        triangles = np.reshape(page.evaluate("() => __continua.triangles(0)"), (-1, 3))
        np.testing.assert_allclose(rest[triangles], body.rest_positions[body.triangles], atol=1e-6)
        pause(page)
        positions = np.reshape(page.evaluate("() => __continua.positions(0)"), (-1, 3))
        # the drawn surface is under the mouse: hovering over a triangle of the new mesh offers a pull
        middle = positions[triangles].mean(axis=1)
        near = middle[np.argmax(middle[:, 2] + 0.3 * middle[:, 0])]
        x, y = page.evaluate("([x, y, z]) => __continua.project(x, y, z)", near.tolist())
        page.mouse.move(x, y)
        until(page, lambda: page.evaluate("() => document.querySelector('canvas').style.cursor") == "grab")
        world.version = 2
        world.refined.clear()
        session.submit(1, _step())
        until(page, lambda: page.evaluate("() => __continua.triangles(0).length") == before)


def _step():
    from continua.studio.protocol import parse_command

    return parse_command(json.dumps({"type": "step"}))


def test_a_replay_shows_each_mesh_in_both_directions(browser, tmp_path):  # noqa: F811
    world = RefinedWorld()
    sink = make_sink("html", tmp_path)
    sink.open(RunInfo(name="refined", fps=10.0, seconds=0.5, view={"color": "displacement"}))
    frames = []
    for index in range(4):
        if index == 2:
            world.refined.set()
        frames.append(replace(world.frame(), index=index, time=index / 10.0))
        sink.write(frames[-1])
        world.step()
    (path,) = sink.close()
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_function("() => window.__continua?.frame() && window.__continua.drawn() > 0")
    until(page, lambda: page.evaluate("() => __continua.frame().frame") == 3)
    for index in (3, 2, 1, 0, 2):
        page.get_by_label("Time", exact=True).fill(str(index))
        until(page, lambda index=index: page.evaluate("() => __continua.frame().frame") == index)
        body = frames[index]["beam"]
        positions = np.reshape(page.evaluate("() => __continua.positions(0)"), (-1, 3))
        triangles = np.reshape(page.evaluate("() => __continua.triangles(0)"), (-1, 3))
        np.testing.assert_allclose(positions[triangles], body.positions[body.triangles], atol=1e-4)
    context.close()
    assert errors == []
