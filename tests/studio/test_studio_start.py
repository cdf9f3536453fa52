"""The first minutes with the page: scenes to start from, additions, dropped files, shadows, narrow windows."""

import io
import threading

import numpy as np
import pytest
from PIL import Image
from studio_world import make_session, make_world
from test_studio_document import CUBE
from test_studio_editor import add, built, data
from test_studio_page import browser, click_tool, opened, serving, until, wait_for_full_resolution  # noqa: F401

from continua.studio.editor.starters import STARTERS
from continua.studio.session.catalog import open_session

pytestmark = pytest.mark.browser


@pytest.fixture
def empty(browser, tmp_path):  # noqa: F811
    """A page with an empty scene, and its session."""
    session, _ = open_session(None, tmp_path)
    with serving(session) as port, opened(browser, port) as page:
        yield page, session


def new_scene(page):
    page.get_by_role("button", name="File").click()
    page.get_by_role("menuitem", name="New scene").click()
    page.locator(".start-card").first.wait_for()


def card(page, title):
    return page.locator(".start-card").filter(has=page.get_by_text(title, exact=True))


def runs(page, steps=2):
    page.wait_for_function("n => __continua.frame()?.step >= n", arg=steps, timeout=300_000)


def picture(page):
    """The view as it is drawn at rest, [height, width, 3]."""
    page.wait_for_timeout(200)
    wait_for_full_resolution(page)
    page.wait_for_timeout(200)
    return np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB"), float)


def test_cards_start_scenes_that_run(empty):
    page, _ = empty
    assert page.locator(".start-card").count() == len(STARTERS) + 1
    for starter in STARTERS.values():
        card(page, starter.title).click()
        runs(page)
        assert data(page)["name"] == starter.scene["name"]
        assert page.evaluate("() => __continua.state().playing")
        assert page.locator(".start").count() == 0
        new_scene(page)


def test_undo_brings_the_empty_view_back(empty):
    page, _ = empty
    card(page, "Soft ball").click()
    runs(page)
    click_tool(page, "Undo starting with soft ball")
    click_tool(page, "Back to the start")
    page.locator(".start-card").first.wait_for()
    assert data(page)["bodies"] == []


@pytest.mark.parametrize(("kind", "shape"), [("Smoke", "Smoke"), ("Grid liquid", "Water in a tank")])
def test_additions_of_the_menu_build_and_step(empty, kind, shape):
    """All of them are built and stepped in test_studio_templates."""
    page, _ = empty
    add(page, shape, kind)
    assert not page.evaluate("() => __continua.state().buildError")
    click_tool(page, "One step")
    runs(page, 1)


def test_added_joint_is_selected_and_listed_with_its_bodies(empty):
    page, _ = empty
    add(page, "Hinge", "Joint")
    assert page.evaluate("() => __continua.selected()") == ["joints", 0]
    page.get_by_role("treeitem", name="Hinge: bar").wait_for()
    add(page, "Nozzle", "Emitter")
    add(page, "Nozzle", "Emitter")
    assert [len(body.get("emitters", [])) for body in data(page)["bodies"]] == [0, 2]
    assert page.get_by_role("treeitem", name="Emitters").count() == 2


DROP = """([name, text, kind]) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([text], name));
  const send = (type, target) =>
    target.dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
  send("dragenter", document.querySelector(".stage"));
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
    const target = document.querySelector(`.drop-kind[data-kind=${kind}]`);
    const allowed = !send("dragover", target);
    send("drop", target);
    requestAnimationFrame(() => done(allowed));
  })));
}"""


def drop(page, name, text, kind):
    assert page.evaluate(DROP, [name, text, kind])  # else the browser would open the file
    assert page.locator(".drop-target").count() == 0


@pytest.mark.parametrize(
    ("kind", "key"), [("soft", "bodies"), ("rigid", "bodies"), ("collider", "colliders")]
)
def test_mesh_file_is_dropped_on_the_page(empty, kind, key):
    page, _ = empty
    drop(page, "cube.obj", CUBE, kind)
    page.wait_for_function("key => __continua.document().data[key].some((e) => e.name === 'cube')", arg=key)
    if key == "bodies":
        page.wait_for_function(
            "() => __continua.bodies()[0] === 'cube' && __continua.frame()", timeout=300_000
        )
        click_tool(page, "One step")
        runs(page, 1)


def test_other_files_are_dropped_on_the_page(empty):
    page, _ = empty
    drop(page, "notes.txt", "hello", "soft")
    page.get_by_text("notes.txt is neither a mesh").wait_for()
    drop(page, "other.yaml", "bodies: [{type: rigid, name: marble, shape: {type: sphere}}]", "soft")
    page.wait_for_function("() => __continua.document().data.bodies[0]?.name === 'marble'")


def test_mesh_file_is_chosen_with_the_card(empty):
    page, _ = empty
    with page.expect_file_chooser() as chooser:
        card(page, "A mesh file").click()
    chooser.value.set_files([{"name": "cube.obj", "mimeType": "text/plain", "buffer": CUBE.encode()}])
    page.wait_for_function("() => __continua.document().data.bodies[0]?.name === 'cube'")


def test_smoke_opens_as_a_volume_with_a_legend_without_a_unit(empty):
    page, _ = empty
    card(page, "Smoke").click()
    page.wait_for_function("() => __continua.frame()?.time > 0.3", timeout=300_000)
    click_tool(page, "Pause")
    page.get_by_role("tab", name="Live").click()
    assert page.get_by_role("radio", name="Volume").last.get_attribute("aria-checked") == "true"
    legend = page.locator(".legend")
    legend.wait_for()
    assert legend.locator(".ticks span").all_inner_texts() == ["0", "0.500", "1.00"]
    volume = picture(page)
    page.get_by_role("radio", name="Mid-plane").click()
    plane = picture(page)
    corner = page.evaluate(
        "() => __continua.project(-0.45, 1.4, 0)"
    )  # the mid-plane is opaque, clear air is not
    x, y = map(round, corner)
    assert np.abs(volume[y, x] - plane[y, x]).max() > 60
    assert volume[y, x].min() > 180


def floor_brightness(page, points=((0, 0, 0), (1.8, 0, 0.9))):
    """Brightness of the floor at some points: by default at the origin, and far from it."""
    shown = picture(page)
    values = []
    for point in map(list, points):
        x, y = map(round, page.evaluate("p => __continua.project(...p)", point))
        values.append(np.median(shown[y - 6 : y + 7, x - 6 : x + 7]))
    return values


def test_shadow_on_the_floor_is_darker_below_lower_bodies(empty):
    page, _ = empty
    card(page, "Soft ball").click()
    runs(page, 1)
    click_tool(page, "Back to the start")
    page.wait_for_function("() => __continua.frame()?.step === 0 && !__continua.state().playing")
    page.get_by_role("button", name="soft-ball", exact=True).click()  # no gizmo
    page.keyboard.press("4")
    below, beside = floor_brightness(page)
    assert below < beside - 8
    page.get_by_role("button", name="Hide ball").click()
    clear, far = floor_brightness(page)
    assert clear > below + 8
    assert abs(far - beside) < 3
    page.get_by_role("button", name="Show ball").click()
    for height in (0.9, 2.2):
        version = page.evaluate("() => __continua.document().version")
        page.get_by_role("button", name="ball", exact=True).click()
        field = page.get_by_label("Translate y in m", exact=True).last
        field.fill(str(height))
        field.press("Enter")
        page.wait_for_function("n => __continua.document().version > n", arg=version)
        built(page)
        page.get_by_role("button", name="soft-ball", exact=True).click()
        if height == 0.9:
            low = floor_brightness(page)[0]
    high = floor_brightness(page)[0]
    assert low < high - 5


def test_flat_scene_has_no_shadow(empty):
    page, _ = empty
    add(page, "Wind tunnel", "Wind tunnel")
    before, far = floor_brightness(page, ((0.5, 0, 0.25), (0.5, 0, 1.1)))
    assert abs(before - far) < 6


# every visible control lies in the window, and a click in its middle reaches it
COVERED = """() => {
  const faults = [];
  for (const control of document.querySelectorAll("button, select, input, a[href], [role=tab]")) {
    const box = control.getBoundingClientRect();
    const style = getComputedStyle(control);
    if (box.width === 0 || style.visibility === "hidden" || style.opacity === "0") continue;
    const name = control.getAttribute("aria-label") || control.textContent.trim() || control.tagName;
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    let scrolled = false;
    for (let outer = control.parentElement; outer; outer = outer.parentElement) {
      if (!/auto|scroll/.test(getComputedStyle(outer).overflowY)) continue;
      const view = outer.getBoundingClientRect();
      scrolled ||= y < view.top + 2 || y > view.bottom - 2;
    }
    if (scrolled) continue;
    if (box.left < 0 || box.right > innerWidth + 0.5 || box.top < 0 || box.bottom > innerHeight + 0.5)
      faults.push(`${name}: outside of the window`);
    const hit = document.elementFromPoint(x, y);
    if (!(hit && (control.contains(hit) || hit.contains(control) || hit.closest("label")?.contains(control))))
      faults.push(`${name}: covered by ${hit?.className || hit?.tagName}`);
  }
  return faults;
}"""


@pytest.mark.parametrize("width", [420, 700, 1280])
def test_controls_are_within_reach_at_every_width(browser, tmp_path, width):  # noqa: F811
    session, _ = open_session(None, tmp_path)
    size = {"width": width, "height": 860}
    with serving(session) as port, opened(browser, port, viewport=size) as page:
        narrow = width < 900
        assert page.evaluate(COVERED) == []
        if narrow:
            click_tool(page, "Scene tree")
        page.get_by_role("button", name="Add", exact=True).click()
        boxes = [page.locator(place).bounding_box() for place in (".add-menu .menu", ".tree")]
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
        page.get_by_role("button", name="Torus", exact=True).click()
        page.wait_for_function("() => __continua.document().version > 0")
        built(page)
        assert page.locator(".tree").count() == (0 if narrow else 1)
        if narrow:
            click_tool(page, "Panel")
        page.locator(".panel").wait_for()
        assert page.evaluate(COVERED) == []
        for tab in ("Solve", "Live"):
            page.get_by_role("tab", name=tab).click()
            assert page.evaluate(COVERED) == []
        page.get_by_role("button", name="Export").click()
        menu = page.locator(".export-menu").bounding_box()
        assert menu["x"] >= 0
        assert menu["x"] + menu["width"] <= width
        page.keyboard.press("Escape")
        click_tool(page, "Play")
        runs(page, 1)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_counted_work_is_shown_with_a_bar(browser):  # noqa: F811
    class CompilingWorld:
        world, done = make_world(), threading.Event()

        def __getattr__(self, name):
            return getattr(self.world, name)

        def step(self):
            if not self.done.is_set():
                session._busy.report("compiling", done=3, total=12, seconds_left=20.4)
                self.done.wait(60)
            return self.world.step()

    world = CompilingWorld()
    session = make_session(world)
    try:
        with serving(session) as port, opened(browser, port) as page:
            page.get_by_text("Compiling 3 of 12, about 20 s left").wait_for()
            assert page.get_by_label("Completed fraction").get_attribute("value") == "0.25"
            assert page.evaluate("() => __continua.bodies()") == [
                "beam"
            ]  # the scene at rest is shown meanwhile
            world.done.set()
            until(page, lambda: page.locator(".busy").count() == 0)
    finally:
        world.done.set()
