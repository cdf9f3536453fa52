"""The preview: the picture of a scene at rest while its kernels are compiled and its world is built."""

import json
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from studio_world import ListenerLog
from test_studio_page import browser, opened, serving  # noqa: F401

import continua as ct
from continua.errors import InputError
from continua.numerics.precompile import KernelRequest
from continua.scene import load_scene, parse_scene, shipped_scenes
from continua.scene.build import build_world
from continua.studio import protocol as commands
from continua.studio.session import catalog
from continua.studio.session.catalog import open_session
from continua.studio.session.preview import PreviewBody, preview_world

BEAM = """
name: beam
bodies:
  - type: soft
    name: beam
    mesh: {type: box, size: [1.0, 0.2, 0.2], cells: [4, 1, 1]}
    material: {type: corotated, young: 2.0e+5, poisson: 0.3, density: 1000.0}
colliders: [{type: plane, point: [0, -1, 0], normal: [0, 1, 0]}]
"""
KERNELS = [KernelRequest(f"continua.none{k}", False, (), ()) for k in range(3)]


class Compiler:
    """Stands for the processes that compile; `go_on` lets them finish."""

    def __init__(self):
        self.go_on = threading.Event()
        self.stopped = False
        self.attempted = set()

    def __call__(self, requests):
        assert requests == KERNELS
        return self

    def wait(self, report):
        try:
            while not self.go_on.is_set():
                report(1, 3, 9.0)
                time.sleep(0.01)
            report(3, 3, 0.0)
        except BaseException:
            self.stopped = True
            raise


@pytest.fixture
def compiler(monkeypatch):
    """Kernels that are missing until they are compiled."""
    made = Compiler()
    monkeypatch.setattr(catalog, "missing_kernels", lambda scene: [] if made.go_on.is_set() else KERNELS)
    monkeypatch.setattr(catalog, "Precompiler", made)
    monkeypatch.setattr(catalog, "_attempted", made.attempted)
    monkeypatch.setattr(catalog, "_PAGE_WAIT", 0.0)
    return made


@pytest.fixture
def session(compiler, tmp_path):
    """A session that has started with a preview, and whose kernels are being compiled."""
    made, _ = open_session(parse_scene(BEAM), tmp_path, preview=True)
    made.start()
    until(lambda: made.state["total"] == 3)
    yield made
    compiler.go_on.set()
    made.stop()


def until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def run_with_empty_cache(code, folder):
    """Run code in a process that has no compiled kernels; return what it prints last, as JSON."""
    environment = {**os.environ, "CONTINUA_CACHE": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_importing_all_modules_compiles_no_kernel(tmp_path):
    code = (
        "import importlib, json, pkgutil, continua\n"
        "for module in pkgutil.walk_packages(continua.__path__, 'continua.'):\n"
        "    if not module.name.endswith('__main__'):\n"
        "        importlib.import_module(module.name)\n"
        "from continua.numerics import compile_stats\n"
        "print(json.dumps(compile_stats()[0]))"
    )
    assert run_with_empty_cache(code, tmp_path) == 0


def test_previews_of_all_shipped_scenes_compile_no_kernel(tmp_path):
    code = (
        "import json\n"
        "from continua.numerics import compile_stats\n"
        "from continua.scene import load_scene, shipped_scenes\n"
        "from continua.studio.session.preview import preview_world\n"
        "found = {}\n"
        "for name in shipped_scenes():\n"
        "    frame = preview_world(load_scene(name), 60.0).frame()\n"
        "    found[name] = [list(frame.bodies), len(frame.colliders)]\n"
        "print(json.dumps([compile_stats()[0], found]))"
    )
    compiled, found = run_with_empty_cache(code, tmp_path)
    assert compiled == 0
    for name, (bodies, colliders) in found.items():
        scene = load_scene(name)
        obstacles = sum(len(getattr(body, "obstacles", ())) for body in scene.bodies)
        # patterns are meshed by a kernel
        drawn = [b for b in scene.bodies if getattr(getattr(b, "mesh", None), "type", "") != "patterns"]
        assert bodies == [body.name for body in drawn]
        assert colliders == len(scene.colliders) + obstacles


@pytest.mark.parametrize("name", shipped_scenes())
def test_a_preview_has_the_extent_of_the_world(name):
    scene = load_scene(name)
    preview, frame = preview_world(scene, 60.0).frame(), build_world(scene).frame()
    for body in frame:
        drawn = body.with_embedded_surface().positions
        shown = preview[body.name].positions
        assert bool(len(shown)) == bool(len(drawn))
        if len(drawn):
            low, high = drawn.min(axis=0), drawn.max(axis=0)
            tolerance = 0.05 * np.max(high - low)  # a preview of a blob is coarser
            np.testing.assert_allclose(shown.min(axis=0), low, atol=tolerance)
            np.testing.assert_allclose(shown.max(axis=0), high, atol=tolerance)
    assert len(preview.colliders) == len(frame.colliders)


def test_large_meshes_and_fluids_are_drawn_with_fewer_elements():
    scene = ct.Scene.from_data(
        {
            "name": "large",
            "bodies": [
                {
                    "type": "soft",
                    "name": "block",
                    "mesh": {"type": "box", "size": [2, 1, 1], "cells": [80, 40, 40]},
                },
                {"type": "soft", "name": "ball", "mesh": {"type": "sphere", "radius": 0.5, "cells": 30}},
                {
                    "type": "fluid",
                    "name": "water",
                    "particle_radius": 0.002,
                    "block": {"min": [0, 2, 0], "max": [1, 3, 1]},
                },
            ],
        }
    )
    frame = preview_world(scene, 60.0).frame()
    for name, size in (("block", [2, 1, 1]), ("ball", [1, 1, 1]), ("water", [1, 1, 1])):
        assert 1000 < len(frame[name].positions) < 100_000
        np.testing.assert_allclose(np.ptp(frame[name].positions, axis=0), size, rtol=0.1)


def test_what_cannot_be_drawn_is_left_out():
    data = {
        "name": "partly",
        "bodies": [
            {
                "type": "soft",
                "name": "missing",
                "mesh": {"type": "file", "path": "none.obj", "tetrahedralize": {"size": 0.1}},
            },
            {"type": "rigid", "name": "ball", "shape": {"type": "sphere", "radius": 0.1}},
        ],
    }
    assert list(preview_world(ct.Scene.from_data(data)).frame().bodies) == ["ball"]
    assert preview_world(ct.Scene.from_data(data), 0.0).bodies == ()


def test_a_preview_cannot_be_stepped():
    world = preview_world(parse_scene(BEAM))
    with pytest.raises(InputError, match="not built yet"):
        world.step()


def test_the_scene_is_shown_while_its_kernels_are_compiled(session, compiler):
    state, snapshot = session.state, session.snapshot
    assert state["busy"] == "compiling kernels"
    assert (state["done"], state["total"], state["secondsLeft"]) == (1, 3, 9.0)
    assert state["cancellable"]
    assert not state["playing"]
    assert isinstance(snapshot.scene.world.body("beam"), PreviewBody)
    assert len(snapshot.frame["beam"].triangles)
    assert not session.wait_until_ready(0.05)
    compiler.go_on.set()
    assert session.wait_until_ready(120.0)
    assert session.snapshot.scene_id == snapshot.scene_id  # the camera stays
    assert not session.snapshot.scene.is_preview
    assert session.state["busy"] is None
    assert session.state["playing"]
    log = ListenerLog()
    session.add_listener(1, log.listener)
    until(lambda: session.snapshot.frame.step > 0)


def test_a_cancelled_build_leaves_the_preview_until_it_is_played(session, compiler):
    log = ListenerLog()
    session.add_listener(1, log.listener)
    session.submit(1, commands.Cancel(type="cancel"))
    assert session.wait_until_ready(10.0)
    assert compiler.stopped
    assert session.state["buildError"] == "The build was cancelled."
    assert session.snapshot.scene.is_preview
    session.submit(1, commands.Step(type="step"))
    until(lambda: log.failures)
    assert log.failures == [("the scene is not built yet; press Play to build it", "")]
    assert session.state["error"] is None
    compiler.go_on.set()
    session.submit(1, commands.Play(type="play"))
    until(lambda: session.snapshot.frame.step > 0)
    assert session.state["buildError"] is None


def test_other_scenes_and_edits_report_the_kernels_they_compile(session, compiler):
    compiler.go_on.set()
    assert session.wait_until_ready(120.0)
    compiler.go_on.clear()
    compiler.attempted.clear()
    session.submit(1, commands.LoadScene(type="load_scene", name="newton-cradle"))
    until(lambda: session.state["total"] == 3)
    session.submit(1, commands.Cancel(type="cancel"))
    until(lambda: session.state["busy"] is None)
    assert session.state["scene"] == "beam"
    session.submit(1, commands.Pause(type="pause"))
    session.submit(1, commands.Reset(type="reset"))
    change = commands.Change(op="set", path=["bodies", 0, "mesh", "cells"], value=[5, 1, 1])
    session.submit(1, commands.EditScene(type="edit", changes=[change]))
    until(lambda: session.state["total"] == 3)
    compiler.go_on.set()
    until(lambda: session.state["busy"] is None)
    until(lambda: session.snapshot.frame["beam"].cells["tetra"].shape == (5 * 6, 4))


def test_kernels_that_cannot_be_compiled_are_tried_once(monkeypatch):
    tried = []

    class Failing:
        def __init__(self, requests):
            tried.append(requests)

        def wait(self, progress):
            pass

    monkeypatch.setattr(catalog, "missing_kernels", lambda scene: KERNELS)
    monkeypatch.setattr(catalog, "Precompiler", Failing)
    monkeypatch.setattr(catalog, "_attempted", set())
    catalog.compile_kernels(parse_scene(BEAM))
    catalog.compile_kernels(parse_scene(BEAM))
    assert tried == [KERNELS]


def test_stopping_ends_the_compiler(session, compiler):
    session.stop()
    assert compiler.stopped


def test_a_scene_that_cannot_be_built_says_why(tmp_path, capsys):
    text = BEAM.replace(
        "{type: box, size: [1.0, 0.2, 0.2], cells: [4, 1, 1]}", "{type: file, path: none.msh}"
    )
    session, _ = open_session(parse_scene(text), tmp_path, preview=True)
    session.start()
    assert session.wait_until_ready(60.0)
    session.stop()
    assert "none.msh" in session.state["buildError"]
    assert "none.msh" in capsys.readouterr().out


def test_without_a_preview_the_session_is_ready_at_once(tmp_path):
    session, _ = open_session(parse_scene(BEAM), tmp_path)
    assert session.snapshot.frame["beam"].cells["tetra"].shape == (4 * 6, 4)
    empty, _ = open_session(None, tmp_path, preview=True)
    assert not empty.snapshot.scene.is_preview


@pytest.mark.browser
def test_the_page_shows_the_progress_and_then_the_world(browser, compiler, tmp_path):  # noqa: F811
    session, _ = open_session(parse_scene(BEAM), tmp_path, preview=True)
    with serving(session) as port, opened(browser, port) as page:
        page.get_by_text("compiling kernels 1 of 3").first.wait_for()
        assert page.evaluate("() => __continua.frame().step") == 0
        compiler.go_on.set()
        page.wait_for_function("() => __continua.frame()?.step > 0")
        page.get_by_text("compiling kernels 1 of 3").first.wait_for(state="detached")
