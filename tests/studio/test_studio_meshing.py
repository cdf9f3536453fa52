"""Meshing of a surface in the real page: progress and cancellation."""

import pytest
from test_studio_editor import built, fill, opened, serving
from test_studio_page import browser, pause  # noqa: F401

from continua import mesh
from continua.scene import parse_scene
from continua.studio.editor.document import yaml_text
from continua.studio.session.catalog import open_session

pytestmark = pytest.mark.browser

BALL = {
    "type": "soft",
    "name": "ball",
    "mesh": {"type": "file", "path": "ball.obj", "tetrahedralize": {"size": 0.3}},
}


@pytest.fixture
def page(browser, tmp_path):  # noqa: F811
    """A page with a ball that is meshed from a surface in a file."""
    mesh.write(mesh.surfaces.sphere(0.5, 4), tmp_path / "ball.obj")
    (tmp_path / "ball.yaml").write_text(yaml_text({"name": "ball", "gravity": [0, 0, 0], "bodies": [BALL]}))
    session, _ = open_session(tmp_path / "ball.yaml")
    with serving(session) as port, opened(browser, port) as page:
        pause(page)
        page.get_by_role("button", name="Back to the start").click()
        page.wait_for_function("() => __continua.frame()?.step === 0")
        page.get_by_role("treeitem", name="ball").last.click()
        yield page


def mesh_summary(page):
    return page.evaluate("() => __continua.mesh('ball')")


def test_long_meshing_shows_progress_and_can_be_cancelled(page):
    before = mesh_summary(page)
    fill(page, "Size in m", "0.02")
    page.get_by_role("alertdialog").get_by_role("button", name="Build anyway").click()  # it takes minutes
    work = page.get_by_role("status", name="Progress")
    page.wait_for_function("() => /meshing/.test(__continua.state().busy ?? '')")
    assert work.get_by_text("Building ball (1 of 1)").is_visible()
    work.get_by_role("button", name="Cancel").click()
    page.get_by_role("alert").get_by_text("The build was cancelled.").wait_for()
    page.wait_for_function(
        "() => !__continua.state().busy && __continua.state().worldVersion < __continua.document().version"
    )
    assert mesh_summary(page) == before
    fill(page, "Size in m", "0.25")
    built(page)
    assert mesh_summary(page)["elements"] != before["elements"]


def test_radius_edge_ratio_is_set_in_the_form(page):
    page.get_by_role("button", name="Set radius-edge ratio").click()
    fill(page, "Radius-edge ratio", "1.9")
    built(page)
    summary = mesh_summary(page)
    warned = any("radius to edge" in note for note in summary["warnings"])
    assert (summary["angles"]["maxRadiusEdge"] <= 1.9) != warned
    assert page.get_by_text(
        f"radius-edge ratio at most {summary['angles']['maxRadiusEdge']:.2f}"
    ).is_visible()


def test_scene_validates_the_radius_edge_ratio():
    wish = {"size": 0.3, "max_radius_edge": 2.0}
    text = yaml_text({"bodies": [{**BALL, "mesh": {**BALL["mesh"], "tetrahedralize": wish}}]})
    assert parse_scene(text).bodies[0].mesh.tetrahedralize.max_radius_edge == 2.0
    with pytest.raises(ValueError, match="max_radius_edge"):
        parse_scene(text.replace("2.0", "0.1"))
