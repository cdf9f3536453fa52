"""Edits scenes in the real page with the mouse, and runs them."""

import io
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image
from test_studio_page import browser, opened, pause, serving, settle, until, wait_for_full_resolution  # noqa: F401

from continua.scene import load_scene
from continua.studio.session.catalog import open_session

pytestmark = pytest.mark.browser


@pytest.fixture
def editor(browser, tmp_path):  # noqa: F811
    """A page with an empty scene, its session, and its folder."""
    session, _ = open_session(None, tmp_path)
    with serving(session) as port, opened(browser, port) as page:
        yield page, session, tmp_path


def data(page):
    return page.evaluate("() => __continua.document().data")


def add(page, shape, kind="Soft body"):
    count = page.evaluate("() => __continua.document().version")
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("radio", name=kind).click()
    page.get_by_role("button", name=shape, exact=True).click()
    page.wait_for_function("n => __continua.document().version > n", arg=count)
    built(page)


def built(page):
    """Wait until the world is built from the current document; the first build may have to compile kernels."""
    page.wait_for_function(
        "() => !__continua.state().busy && __continua.state().worldVersion === __continua.document().version",
        timeout=300_000,
    )


def fill(page, label, text):
    """Type a value into a field of a form, and wait until the document has changed."""
    version = page.evaluate("() => __continua.document().version")
    field = page.get_by_label(label, exact=True).last
    field.fill(text)
    field.press("Enter")
    page.wait_for_function("n => __continua.document().version > n", arg=version)


def running(page, steps):
    """Wait for some steps of the simulation; the first may have to compile kernels."""
    page.wait_for_function("n => __continua.frame()?.step > n", arg=steps, timeout=300_000)


def positions(page, body=0):
    return np.reshape(page.evaluate("n => __continua.positions(n)", body), (-1, 3))


def rest(page, body=0):
    return np.reshape(page.evaluate("n => __continua.rest(n)", body), (-1, 3))


def front(page):
    """View from the front, and wait until horizontal and vertical lines are so on the page."""
    page.keyboard.press("1")
    page.wait_for_function(
        "() => { const p = __continua.project, [a, b, c, d] = [p(-1, 0, 0), p(1, 0, 0), p(0, -1, 0), p(0, 1, 0)];"
        " return Math.abs(a[1] - b[1]) < 0.01 && Math.abs(c[0] - d[0]) < 0.01; }"
    )


def box_around(page, points, margin=9):
    """Return the corners of a rectangle on the page around points of the world."""
    corners = np.array([page.evaluate("p => __continua.project(...p)", list(map(float, p))) for p in points])
    return corners.min(axis=0) - margin, corners.max(axis=0) + margin


def drag_box(page, start, end, shift=False):
    """Draw a box from one corner to another."""
    if shift:
        page.keyboard.down("Shift")
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=3)
    page.mouse.up()
    if shift:
        page.keyboard.up("Shift")


def test_cube_is_built_pinned_loaded_and_run_with_the_mouse(editor):
    page, session, folder = editor
    add(page, "Box")
    page.get_by_role("treeitem", name="floor").hover()
    page.get_by_role("button", name="Remove floor").click()
    page.wait_for_function("() => __continua.document().data.colliders.length === 0")
    for axis in "xyz":
        fill(page, f"Size {axis} in m", "2")
        fill(page, f"Origin {axis} in m", "-1")
    fill(page, "Young’s modulus in Pa", "300")
    fill(page, "Density in kg/m³", "1")
    fill(page, "Mass in 1/s", "10")
    fill(page, "Stiffness in s", "2.5")
    built(page)
    page.get_by_role("button", name="Select nodes").click()
    front(page)  # the left face is a narrow band
    left = rest(page)[:, 0] < rest(page)[:, 0].min() + 1e-6
    drag_box(page, *reversed(box_around(page, rest(page)[left])))
    page.wait_for_function("n => __continua.nodeSelection()?.nodes.length === n", arg=int(left.sum()))
    page.get_by_role("group", name="Selected nodes").get_by_role("button", name="Pin").click()
    page.wait_for_function("() => __continua.document().data.bodies[0].pin?.length === 1")
    page.get_by_role("button", name="Add body force").click()
    page.wait_for_function("() => __continua.document().data.bodies[0].load_volume?.length === 1")
    assert data(page)["bodies"][0]["load_volume"] == [{"force": [0, -5, 0]}]
    page.get_by_role("treeitem", name="scene").get_by_role("button").click()
    fill(page, "Gravity y in m/s²", "0")
    built(page)
    numbers = np.array(page.evaluate("() => __continua.nodes(0)"))
    assert data(page)["bodies"][0]["pin"][0]["where"]["nodes"] == sorted(numbers[left].tolist())

    page.get_by_role("tab", name="Solve").click()
    fill(page, "Time step in s", "0.1")
    fill(page, "Frames per second in 1/s", "10")
    fill(page, "Duration in s", "12")
    page.get_by_label("Stop after 12 s").check()
    page.get_by_role("button", name="Play", exact=True).click()
    running(page, 2)
    pause(page)
    steps = page.evaluate("() => __continua.frame()?.step")
    page.keyboard.press(".")
    page.wait_for_function("n => __continua.frame()?.step === n + 1", arg=steps)
    page.get_by_label("As fast as possible").check()
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_function("() => !__continua.state().playing && __continua.frame()?.time > 11.9")
    settle(page)
    assert page.evaluate("() => __continua.frame()?.time") == pytest.approx(12.0, abs=0.05)
    moved = positions(page) - rest(page)
    assert 0.14 < -moved[:, 1].min() < 0.20
    assert np.abs(moved[left]).max() == 0.0

    page.get_by_role("button", name="File").click()
    page.get_by_role("menuitem", name="Save as").click()
    page.get_by_label("File name").fill("cube")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_function("() => __continua.document().file === 'cube.yaml'")
    scene = load_scene(folder / "cube.yaml")
    assert scene.model_dump() == session.editor.document.scene().model_dump()
    world = scene.build()
    *_, last = world.run(scene.seconds, scene.fps)
    shown = session.snapshot.frame["box"].positions
    np.testing.assert_array_equal(shown, last["box"].positions)  # bitwise identical to a run


@pytest.mark.filterwarnings("ignore:the elements of body 'sphere' lock")  # until it is built anew
def test_forms_reject_invalid_values(editor):
    page, _, _ = editor
    add(page, "Sphere")
    before = data(page)
    for label, text, words in (
        ("Poisson’s ratio", "0.6", "at most"),
        ("Young’s modulus in Pa", "soft", "not a number"),
        ("Density in kg/m³", "-1", "greater than"),
        ("Name", "two words", "short name"),
    ):
        field = page.get_by_label(label, exact=True).last
        field.fill(text)
        field.press("Enter")
        page.get_by_role("alert").filter(has_text=words).wait_for()
    assert data(page) == before
    page.get_by_role("radio", name="Rubber").click()
    page.wait_for_function(
        "() => __continua.document().data.bodies[0].material.type === 'stable_neo_hookean'"
    )
    page.keyboard.press("Control+z")
    page.wait_for_function("() => __continua.document().data.bodies[0].material.type === 'corotated'")
    page.keyboard.press("Control+y")
    page.wait_for_function("() => __continua.document().data.bodies[0].material.young === 2e6")


def inside(box, point):
    """Return whether a point on the page lies well inside a box."""
    (x, y), (w, h) = (box["x"], box["y"]), (box["width"], box["height"])
    return x + 0.1 * w < point[0] < x + 0.9 * w and y + 0.1 * h < point[1] < y + 0.9 * h


def test_bodies_are_added_moved_hidden_and_removed(editor):
    page, _, _ = editor
    add(page, "Box")
    add(page, "Sphere")
    add(page, "Cylinder", "Collider")
    page.wait_for_function("() => __continua.bodies().length === 2")
    view, ends = page.locator("canvas").first.bounding_box(), rest(page, 1)
    (x0, y0), (x1, y1) = box_around(page, [ends[ends[:, 0].argmax()], ends[ends[:, 1].argmax()]])
    assert view["x"] < x0 < x1 < view["x"] + view["width"]  # added objects come into view
    assert view["y"] < y0 < y1 < view["y"] + view["height"]
    middle = data(page)["colliders"][-1]["center"]
    until(page, lambda: inside(view, page.evaluate("p => __continua.project(...p)", middle)))
    page.get_by_role("treeitem", name="box").get_by_role("button", name="box", exact=True).click()
    page.keyboard.press("g")
    page.keyboard.press("f")
    page.wait_for_function("() => __continua.selected()[1] === 0")
    middle = rest(page).mean(axis=0)
    x, _ = page.evaluate("p => __continua.project(...p)", middle.tolist())
    up = page.evaluate("p => __continua.project(...p)", (middle + [0, 0.3, 0]).tolist())[1]
    page.mouse.move(x, up, steps=3)
    until(page, lambda: page.evaluate("() => __continua.gizmo()") == "Y")
    page.mouse.down()
    page.mouse.move(x, up - 60, steps=6)
    page.mouse.up()
    page.wait_for_function("() => __continua.document().data.bodies[0].transform.translate[1] > 0.6")
    assert data(page)["bodies"][0]["transform"]["translate"][0] == 0
    built(page)
    until(page, lambda: rest(page)[:, 1].min() > 0.1)  # the world is rebuilt from its document
    page.get_by_role("treeitem", name="sphere").hover()
    page.get_by_role("button", name="Hide sphere").click()
    page.get_by_role("button", name="Show sphere").wait_for()
    page.get_by_role("button", name="Remove sphere").click()
    page.wait_for_function("() => __continua.bodies().length === 1")
    page.get_by_role("button", name="Undo removing sphere").click()
    page.wait_for_function("() => __continua.bodies().length === 2")
    page.get_by_role("button", name="Play", exact=True).click()
    running(page, 5)
    page.get_by_role("treeitem", name="cylinder").get_by_role("button", name="cylinder", exact=True).click()
    fill(page, "Radius in m", "0.3")
    page.get_by_role("button", name="Rebuild needed").click()
    page.wait_for_function("() => __continua.frame()?.step === 0 && !__continua.state().playing")
    built(page)


def test_failed_build_is_explained_and_the_page_stays_alive(editor):
    page, _, _ = editor
    add(page, "Box")
    page.get_by_role("button", name="Add pin").click()
    page.wait_for_function("() => __continua.document().data.bodies[0].pin?.length === 1")
    page.get_by_label("Where").select_option(label="Half space")
    banner = page.get_by_role("alert").filter(has_text="selects no node")
    version = page.evaluate("() => __continua.document().version")
    fill(page, "Point y in m", "-50")
    banner.wait_for()
    page.keyboard.press("Control+z")
    page.wait_for_function("n => __continua.document().version > n + 1", arg=version)
    banner.wait_for(state="hidden")
    page.get_by_role("button", name="Play", exact=True).click()
    running(page, 2)


def test_surface_file_becomes_a_body_and_a_broken_one_is_rejected(editor):
    page, _, folder = editor
    cube = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n"
    for a, b, c, d in ((1, 4, 3, 2), (5, 6, 7, 8), (1, 2, 6, 5), (3, 4, 8, 7), (1, 5, 8, 4), (2, 3, 7, 6)):
        cube += f"f {a} {b} {c}\nf {a} {c} {d}\n"
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("radio", name="Rigid body").click()
    files = page.get_by_label("Mesh file", exact=True)
    files.set_input_files({"name": "broken.obj", "mimeType": "", "buffer": b"v 1 2\nf 1 2 3\n"})
    page.locator(".toast").filter(has_text="broken.obj").wait_for()
    assert not (folder / "broken.obj").exists()
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("radio", name="Rigid body").click()
    files.set_input_files({"name": "cube.obj", "mimeType": "", "buffer": cube.encode()})
    page.wait_for_function("() => __continua.bodies().length === 1")
    assert data(page)["bodies"][0]["shape"] == {"type": "file", "path": "cube.obj"}


def test_unsaved_edits_of_a_killed_studio_are_recovered(browser, tmp_path):  # noqa: F811
    """Kill the process after an autosave: the next one offers the unsaved edits."""
    script = (
        "import json, pathlib, sys, time\n"
        "from continua.studio.session.catalog import open_session\n"
        "from continua.studio.protocol import parse_command\n"
        "session, _ = open_session(None, pathlib.Path(sys.argv[1]))\n"
        "session.start()\n"
        "session.submit(1, parse_command(json.dumps({'type': 'add_shape', 'kind': 'soft', 'shape': 'torus'})))\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE)
    kept = tmp_path / ".continua" / "scene.autosave.yaml"
    try:
        assert process.stdout.readline()
        until_exists(kept)
    finally:
        process.kill()
        process.communicate()
    session, _ = open_session(None, tmp_path)
    with serving(session) as port, opened(browser, port) as page:
        page.get_by_role("button", name="Recover").click()
        page.wait_for_function("() => __continua.bodies()[0] === 'torus'")


def until_exists(path, seconds=60):
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"{path} did not come"
        time.sleep(0.05)


def picture(page):
    """Return the central pixels of the view, once two consecutive pictures are equal."""
    box = page.locator("canvas").first.bounding_box()
    clip = {
        "x": box["x"] + 60,
        "y": box["y"] + 70,
        "width": box["width"] - 120,
        "height": box["height"] - 110,
    }
    wait_for_full_resolution(page)
    before = None
    while True:
        now = np.asarray(Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB"), dtype=int)
        if before is not None and np.array_equal(before, now):
            return now
        before = now
        page.wait_for_timeout(120)


def changed(a, b):
    return (np.abs(a - b).max(axis=2) > 8).mean()


def test_faces_are_loaded_and_view_options_change_the_picture(editor):
    page, session, _ = editor
    add(page, "Box")
    page.get_by_role("button", name="Add pin").click()
    page.wait_for_function("() => __continua.document().data.bodies[0].pin?.length === 1")
    built(page)
    page.keyboard.press("f")
    page.keyboard.press("p")
    top = rest(page).mean(axis=0) + [0.05, 0.5, 0.12]
    x, y = page.evaluate("p => __continua.project(...p)", top.tolist())

    def press(distance):
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x, y + distance, steps=4)
        tag = page.locator(".value-tag").inner_text()
        page.mouse.up()
        return tag

    page.keyboard.down("Control")
    assert press(40).startswith("push")
    page.keyboard.up("Control")
    page.wait_for_function("() => __continua.document().data.bodies[0].load_faces?.length === 1")
    load = data(page)["bodies"][0]["load_faces"][0]
    assert load["traction"] < 0
    built(page)
    force = session.panel.boundary_forces().forces["box/boundary/1"]
    # 192 equal faces on a cube of side 1, and the load of one of those on the top points down
    np.testing.assert_allclose(force, [0, load["traction"] * 6 / 192, 0], rtol=1e-9, atol=1e-12)
    press(-40)  # without Ctrl the load is not part of the scene
    until(page, lambda: len(session.interaction._face_loads) == 1)
    page.keyboard.press(".")
    running(page, 0)
    until(page, lambda: session.interaction._face_loads == [])
    assert len(data(page)["bodies"][0]["load_faces"]) == 1

    page.get_by_role("tab", name="Live").click()
    for _ in range(9):
        page.keyboard.press(".")
    running(page, 9)
    plain = picture(page)
    for label in ("Edges", "Nodes", "Rest shape"):
        page.get_by_label(label, exact=True).check()
        assert changed(plain, picture(page)) > 0.001, label
        page.get_by_label(label, exact=True).uncheck()
        assert changed(plain, picture(page)) < 1e-4, label
    slider = page.get_by_label("Exaggeration")
    slider.focus()
    slider.press("End")
    assert changed(plain, picture(page)) > 0.01
    slider.press("Home")
    assert changed(plain, picture(page)) < 1e-4
    whole = len(page.evaluate("() => __continua.triangles(0)"))
    page.get_by_role("radiogroup", name="Clip normal to").get_by_role("radio", name="z").click()
    page.wait_for_function("n => __continua.triangles(0).length < n", arg=whole)
    # half of the cube has 4 x 4 cells: two faces of 32 triangles, and four sides of 16
    assert len(page.evaluate("() => __continua.triangles(0)")) == 3 * (2 * 32 + 4 * 16)
    assert changed(plain, picture(page)) > 0.01
    page.get_by_role("radiogroup", name="Clip normal to").get_by_role("radio", name="Off").click()
    page.wait_for_function("n => __continua.triangles(0).length === n", arg=whole)
    assert changed(plain, picture(page)) < 1e-4
