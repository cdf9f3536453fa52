"""The reference pages of the studio describe all controls; CONTINUA_DOC_PICTURES=1 also makes their pictures."""

import io
import os
import re
from pathlib import Path

import pytest
from PIL import Image
from studio_world import make_session
from test_studio_editor import add, built, editor, fill, running  # noqa: F401
from test_studio_flow_sketch import tunnel_world
from test_studio_page import browser, opened, pause, serving, until  # noqa: F401

import continua as ct

pytestmark = pytest.mark.browser

DOCS = Path(__file__).parents[2] / "docs"
PICTURES = bool(os.environ.get("CONTINUA_DOC_PICTURES"))
TALL = {"viewport": {"width": 1280, "height": 1300 if PICTURES else 720}}  # whole panels in pictures

CONTROLS = (
    ":not(h2) > button, label, select[aria-label], a, input[aria-label]:not([hidden]), .parameter-label,"
    " .plot-title"
)
NAMES = """(root, controls) => [...root.querySelectorAll(controls)].flatMap(e => {
    const name = e.getAttribute("aria-label") ?? e.innerText;
    const group = e.closest("[role=radiogroup]")?.getAttribute("aria-label");
    return [name, ...(group ? [group] : [])];
}).map(name => name.replace(/\\s+/g, " ").trim()).filter(name => name)"""


class Reference:
    """A page of the docs, and the controls seen in its panel.

    Args:
        name: The page's name below docs/studio.
    """

    def __init__(self, name):
        self.name = name
        self.text = (DOCS / "studio" / f"{name}.md").read_text(encoding="utf-8")
        self.seen, self.titles = set(), set()

    def inspect(self, root, picture=None, height=None, width=None):
        """Collect the controls of a panel, and take a picture of it or of a part of it if pictures are requested."""
        root.wait_for()
        self.seen |= set(root.evaluate(NAMES, CONTROLS))
        self.titles |= set(root.evaluate(NAMES, "h2 > button"))
        if picture and PICTURES:
            root.evaluate("root => { root.scrollTop = 0; root.scrollIntoView({block: 'center'}); }")
            root.page.mouse.move(5, 1295)
            root.page.wait_for_timeout(600)
            clip = root.bounding_box()
            clip |= {"width": width or clip["width"], "height": min(height or 2000, clip["height"])}
            image = Image.open(io.BytesIO(root.page.screenshot(clip=clip))).convert("RGB")
            image.save(DOCS / "images" / f"panel-{picture}.webp", quality=88, method=6)

    def check(self, *generated, complete=True):
        """Check that the tables of the page name existing controls, and, if `complete`, all of them.

        Args:
            generated: Patterns of names that come from the scene.
            complete: Whether all controls must be named.
        """
        named = set()
        for row in re.findall(r"^\| (\*.+?) \|", self.text, re.MULTILINE):
            named |= set(re.findall(r"\*([^*]+)\*", row))
        assert named, self.name
        missing = [
            n for n in named if not any(seen.startswith(_start(n)) for seen in self.seen | self.titles)
        ]
        assert missing == [], f"docs/studio/{self.name}.md names controls that the page does not have"
        if complete:
            documented = tuple(map(_start, re.findall(r"\*([^*]+)\*", self.text)))
            undocumented = [
                n
                for n in self.seen
                if not n.startswith(documented) and not re.match("|".join(generated) or "$", n)
            ]
            assert undocumented == [], f"docs/studio/{self.name}.md does not name all controls of the page"


def _start(name):
    """The constant start of a name."""
    return name.split(" …")[0]


def section(page, title):
    return page.get_by_role("region", name=title, exact=True)


def test_reference_pages_of_the_editor(browser, tmp_path):  # noqa: F811
    from continua.studio.session.catalog import open_session

    session, _ = open_session(None, tmp_path)
    with serving(session) as port, opened(browser, port, **TALL) as page:
        tree, tools, edit = Reference("tree"), Reference("tools"), Reference("edit")
        add(page, "Box")
        page.get_by_role("button", name="Add pin").click()
        page.wait_for_function("() => __continua.document().data.bodies[0].pin?.length === 1")
        page.get_by_label("Where").select_option(label="Left")
        page.wait_for_function("() => __continua.document().data.bodies[0].pin[0].where === 'left'")
        built(page)
        page.get_by_role("treeitem", name="floor").hover()
        page.get_by_role("button", name="Hide floor").click()
        tree.inspect(page.get_by_role("navigation", name="Scene tree"))
        page.get_by_role("button", name="Show floor").click()
        tree.inspect(page.get_by_role("navigation", name="Scene tree"), "tree", 170)
        page.get_by_role("button", name="Add", exact=True).click()
        tree.inspect(page.get_by_role("navigation", name="Scene tree"), "add", 330, 320)
        for kind in page.get_by_role("radiogroup", name="As").get_by_role("radio").all():
            kind.click()
            tree.inspect(page.get_by_role("navigation", name="Scene tree"))
        page.get_by_role("button", name="Add", exact=True).click()
        tree.check("box", "scene", "floor", "Pin: ", "As$")

        tools.inspect(page.get_by_role("toolbar", name="Tools"), "tools")
        edit.inspect(page.get_by_role("complementary", name="Settings"), "edit", 1000)
        page.get_by_role("button", name="Select nodes").click()
        page.mouse.move(260, 150)
        page.mouse.down()
        page.mouse.move(900, 680, steps=3)
        page.mouse.up()
        edit.inspect(page.get_by_role("group", name="Selected nodes"), "selected-nodes")
        edit.check(complete=False)

        bar = page.locator(".topbar")
        tools.inspect(bar)
        page.get_by_role("button", name="Play", exact=True).click()
        running(page, 30)
        tools.inspect(bar)
        fill(page, "Size x in m", "1.2")
        page.get_by_role("button", name="Rebuild needed").wait_for()
        tools.inspect(bar, "bar")
        tools.check()
        page.get_by_role("button", name="Undo").click()

        solve = Reference("solve")
        page.get_by_role("tab", name="Solve").click()
        solve.inspect(page.get_by_role("complementary", name="Settings"), "solve", 760)
        solve.check("box", "Solver of box", "Edit|Solve|Live", "Leave out")
        check_live_panels(page)
        check_menus(page)


def check_live_panels(page):
    page.get_by_role("tab", name="Live").click()
    colour, body, world, plots = (Reference(name) for name in ("colour", "body", "world", "plots"))
    page.get_by_label("Colour by").select_option(label="Von Mises stress")
    colour.inspect(section(page, "Colour"))
    page.get_by_label("Automatic range").uncheck()
    page.get_by_label("Highest value").wait_for()
    colour.inspect(section(page, "Colour"), "colour")
    page.get_by_label("Automatic range").check()
    colour.seen.add("Draw fluids as")  # test_studio_fluid_encoding selects it
    colour.check()
    body.inspect(section(page, "Body"), "body")
    body.inspect(section(page, "Boundary conditions"), "boundary-conditions")
    body.check(complete=False)
    world.inspect(section(page, "World"), "world")
    section(page, "Time and solver").get_by_role("button").first.click()
    world.inspect(section(page, "Time and solver"), "integration")
    world.check(complete=False)
    page.get_by_role("button", name="Plots").click()
    plots.inspect(page.locator(".plots"), "plots")
    plots.inspect(page.get_by_role("contentinfo", name="Status"), "status")
    page.get_by_role("button", name="Plots").click()


def check_menus(page):
    file = Reference("file")
    page.get_by_role("button", name="File").click()
    file.inspect(page.get_by_role("menu", name="File"), "file")
    page.get_by_role("button", name="Export", exact=True).click()
    file.inspect(page.get_by_role("dialog", name="Export"), "export")
    page.get_by_role("button", name="Record", exact=True).click()
    page.get_by_role("button", name="Stop and write").wait_for()
    file.inspect(page.get_by_role("dialog", name="Export"))
    page.get_by_role("button", name="Discard").click()
    page.get_by_role("button", name="Record", exact=True).wait_for()
    file.check()


def world_with_embedded_surface():
    """Return a pinned ball with an embedded surface."""
    body = ct.SoftBody(
        ct.mesh.sphere(0.5, 2),
        material=ct.Corotated(young=2e4),
        skin=ct.mesh.sphere(0.45, 4).surface,
        name="ball",
    )
    body.pin(where=lambda x: x[:, 1] > 0.3)
    return ct.World([body], dt=0.01)


def test_reference_pages_of_view_and_flow(browser):  # noqa: F811
    view, flow = Reference("view"), Reference("flow")
    with serving(make_session(world_with_embedded_surface())) as port, opened(browser, port, **TALL) as page:
        pause(page)
        page.get_by_label("Colour by").select_option(label="Displacement")
        page.get_by_role("radio", name="Isosurfaces").click()
        view.inspect(section(page, "View"))
        page.get_by_role("radio", name="Volume").click()
        page.get_by_role("slider", name="Opacity").wait_for()
        view.inspect(section(page, "View"), "view")
        page.get_by_role("radio", name="y").click()
        page.get_by_label("Flip side").wait_for()
        view.inspect(section(page, "View"))
    view.check("Clip normal to")
    with serving(make_session(tunnel_world())) as port, opened(browser, port, **TALL) as page:
        page.get_by_label("Draw obstacles").check()
        until(page, lambda: page.evaluate("() => __continua.frame().step") > 20)
        flow.inspect(section(page, "Flow"), "flow")
    flow.seen |= {
        "Draw as",
        "Slice normal to",
        "Slice position",
        "Opacity",
    }  # test_studio_flow_sketch, test_studio_volume
    flow.check()
