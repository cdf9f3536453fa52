"""Acceptance tests of the editor of soft bodies, with real events in the page.

Covered elsewhere: a whole session by mouse, pause, step, time limit, build, rejected values, loaded faces and view
options in `test_studio_editor`; box selection, new meshes and solvers in `test_studio_view_options`; stage times in
`test_studio_timers`. Material constants apply immediately; other changes wait for *Rebuild needed*.
"""

import numpy as np
import pytest
from test_studio_editor import add, box_around, built, drag_box, editor, fill, front, rest  # noqa: F401
from test_studio_page import browser, pause, settle, until  # noqa: F401

pytestmark = pytest.mark.browser


def test_page_shows_the_deformed_boundary_of_the_body(editor):  # noqa: F811
    page, session, _ = editor
    add(page, "Box")
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_function("() => __continua.frame()?.step > 3", timeout=300_000)
    pause(page)
    settle(page)
    body = session.snapshot.frame["box"]
    nodes = np.array(page.evaluate("() => __continua.nodes(0)"))
    shown = np.reshape(page.evaluate("() => __continua.positions(0)"), (-1, 3))
    moved = body.positions[nodes] - body.rest_positions[nodes]
    assert np.abs(moved).max() > 1e-4
    np.testing.assert_allclose(shown, rest(page) + moved, atol=1e-6)
    triangles = np.reshape(page.evaluate("() => __continua.triangles(0)"), (-1, 3))
    edges = np.sort(
        np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1
    )
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()  # a closed surface, nothing inside
    low, high = body.rest_positions.min(axis=0), body.rest_positions.max(axis=0)
    on = np.isclose(rest(page), low, atol=1e-6) | np.isclose(rest(page), high, atol=1e-6)
    assert on.any(axis=1).all()  # all of it on the sides of the cube


def test_tools_say_what_they_need(editor):  # noqa: F811
    page, _, _ = editor
    add(page, "Box", "Collider")
    page.get_by_role("button", name="Select nodes").click()
    page.get_by_text("Select a soft body to select its nodes.").wait_for()
    add(page, "Sphere", "Rigid body")
    page.get_by_text("Select a soft body to select its nodes.").wait_for()
    front(page)
    ball = rest(page)
    drag_box(page, *box_around(page, ball))
    assert page.evaluate("() => __continua.nodeSelection()") is None
    add(page, "Box")
    page.get_by_text("Draw a box around nodes").wait_for()
    front(page)
    drag_box(page, *box_around(page, rest(page, 1)))
    page.wait_for_function("() => __continua.nodeSelection()?.nodes.length > 0")


def test_file_names_are_kept_and_saved_scenes_show_no_alert(editor):  # noqa: F811
    page, session, _ = editor
    add(page, "Box")
    page.get_by_role("button", name="File").click()
    page.get_by_role("menuitem", name="New scene").click()
    page.get_by_text("An earlier untitled scene was not saved.").wait_for()
    page.get_by_role("button", name="Recover").click()
    page.wait_for_function("() => __continua.bodies()[0] === 'box'")
    built(page)
    page.get_by_role("button", name="File").click()
    page.get_by_role("menuitem", name="Save as …").click()
    page.get_by_label("File name").fill("cube.yaml")
    page.get_by_label("File name").press("Enter")
    page.wait_for_function("() => __continua.document().file === 'cube.yaml'")
    until(page, lambda: page.locator("select.scene-picker").input_value() == "cube.yaml")
    page.get_by_role("button", name="File").click()
    page.get_by_role("menuitem", name="Save as …").click()
    assert page.get_by_label("File name").input_value() == "cube.yaml"
    page.get_by_role("menuitem", name="New scene").click()
    page.wait_for_function("() => __continua.bodies().length === 0")
    assert page.get_by_role("alert").count() == 0  # everything was saved
    page.locator("select.scene-picker").select_option("cube.yaml")
    page.wait_for_function("() => __continua.bodies()[0] === 'box'")
    assert session.editor.document.stem == "cube"


def test_removed_pin_no_longer_acts(editor):  # noqa: F811
    page, _, _ = editor
    add(page, "Box")
    for axis in "xyz":
        fill(page, f"Cells {axis}", "2")
    fill(page, "Origin y in m", "1")  # in the air
    built(page)
    page.get_by_role("button", name="Select nodes").click()
    front(page)
    places = rest(page)
    top = np.flatnonzero(places[:, 1] > places[:, 1].max() - 1e-6)
    drag_box(page, *box_around(page, places[top]))
    until(
        page, lambda: sorted(page.evaluate("() => __continua.nodeSelection()?.nodes ?? []")) == top.tolist()
    )
    page.get_by_role("group", name="Selected nodes").get_by_role("button", name="Pin").click()
    page.wait_for_function("() => __continua.document().data.bodies[0].pin?.length === 1")
    built(page)
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_function("() => __continua.frame()?.step > 5", timeout=300_000)
    pause(page)
    settle(page)
    held = np.reshape(page.evaluate("() => __continua.positions(0)"), (-1, 3)) - rest(page)
    assert np.abs(held[top]).max() == 0.0
    assert np.abs(held).max() > 1e-4
    page.get_by_role("treeitem", name="Pin: 9 nodes").hover()
    page.get_by_role("button", name="Remove Pin: 9 nodes").click()
    page.wait_for_function("() => __continua.document().data.bodies[0].pin.length === 0")
    page.get_by_role("button", name="Rebuild needed").click()
    built(page)
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_function("() => __continua.frame()?.step > 5", timeout=300_000)
    pause(page)
    settle(page)
    free = np.reshape(page.evaluate("() => __continua.positions(0)"), (-1, 3)) - rest(page)
    assert free[top, 1].max() < -1e-4  # it falls
