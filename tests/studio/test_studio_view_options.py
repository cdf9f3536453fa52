"""View options and node selection with a real mouse, and two pages of which one disconnects during a drag."""

import re

import numpy as np
import pytest
from studio_world import make_session
from test_studio_editor import (  # noqa: F401
    add,
    box_around,
    built,
    changed,
    data,
    drag_box,
    editor,
    fill,
    front,
    picture,
    positions,
    rest,
    running,
)
from test_studio_page import browser, opened, pause, point_on_tip, serving, tip_height, until  # noqa: F401

import continua as ct

pytestmark = pytest.mark.browser


def lying_world():
    """Return a ball with an embedded fine surface that rests on the ground."""
    ball = ct.SoftBody(
        ct.mesh.sphere(0.5, 2),
        material=ct.Corotated(young=2e4),
        damping=(5.0, 0.0),
        skin=ct.mesh.sphere(0.5, 5).surface,
        name="ball",
    )
    return ct.World([ball], dt=0.01, colliders=[ct.Plane((0, -0.49, 0), (0, 1, 0))])


@pytest.mark.filterwarnings("ignore:body .ball. starts 0.01 m inside")
def test_embedded_surface_interior_and_contact_forces_change_only_their_layer(browser):  # noqa: F811
    session = make_session(lying_world())
    with serving(session) as port, opened(browser, port) as page:
        page.wait_for_function("() => __continua.frame().step > 20 && __continua.frame().contacts > 0")
        pause(page)
        shown = session.snapshot.frame["ball"].positions[page.evaluate("() => __continua.nodes(0)")]
        np.testing.assert_allclose(
            positions(page), shown, rtol=0, atol=1e-6
        )  # what is drawn is what was computed
        page.get_by_label("Colour by").select_option(label="Displacement")
        page.wait_for_function("() => !document.querySelector('.legend')?.innerText.includes('…')")
        with_embedded_surface = picture(page)
        for label in ("Skin", "Contact forces"):
            page.get_by_label(label, exact=True).click()
            until(page, lambda: changed(with_embedded_surface, picture(page)) > 0.001)
            page.get_by_label(label, exact=True).click()
            until(page, lambda: changed(with_embedded_surface, picture(page)) < 1e-4)
        inside = page.get_by_role("radiogroup", name="Interior")
        looks = {}
        for name in ("Isosurfaces", "Volume"):
            inside.get_by_role("radio", name=name).click()
            until(page, lambda: changed(with_embedded_surface, picture(page)) > 0.01)
            looks[name] = picture(page)
        assert changed(looks["Isosurfaces"], looks["Volume"]) > 0.01
        inside.get_by_role("radio", name="Isosurfaces").click()
        page.get_by_role("slider", name="Isosurfaces").press("Home")  # one surface instead of four
        until(page, lambda: changed(looks["Isosurfaces"], picture(page)) > 0.002)
        inside.get_by_role("radio", name="Nothing").click()
        until(page, lambda: changed(with_embedded_surface, picture(page)) < 1e-4)


def test_disconnected_page_ends_its_pull_and_the_other_page_continues(browser):  # noqa: F811
    session = make_session()
    with serving(session) as port, opened(browser, port) as watching:
        with opened(browser, port) as pulling:
            pulling.wait_for_function("() => __continua.frame().step > 0")
            pause(pulling)
            watching.get_by_role("button", name="Play", exact=True).wait_for()  # both pages agree
            hanging = tip_height(pulling)
            x, y = point_on_tip(pulling)
            pulling.mouse.move(x, y)
            pulling.mouse.down()
            pulling.mouse.move(x, y - 150, steps=8)
            pulling.keyboard.press(" ")
            until(watching, lambda: tip_height(watching) > hanging + 0.1)
            lifted = tip_height(watching)
        # its connection is gone, with the button still down
        until(watching, lambda: not session.interaction.pulls)
        until(watching, lambda: tip_height(watching) < lifted - 0.1)
        step = watching.evaluate("() => __continua.frame().step")
        watching.wait_for_function("n => __continua.frame().step > n + 10", arg=step)
        pause(watching)
        x, y = point_on_tip(watching)
        watching.mouse.move(x, y)
        watching.mouse.down()
        watching.mouse.move(x, y - 60, steps=4)
        watching.wait_for_function("() => __continua.pulls().length === 1")
        watching.mouse.up()
        assert session.state["error"] is None


def test_box_selection_is_independent_of_its_start_corner_and_cleared_by_a_new_mesh(editor):  # noqa: F811
    page, _, _ = editor
    add(page, "Box")
    page.get_by_role("button", name="Select nodes").click()
    front(page)
    places = rest(page)
    left = np.flatnonzero(places[:, 0] < places[:, 0].min() + 1e-6)
    (x0, y0), (x1, y1) = box_around(page, places[left])
    corners = [((x0, y0), (x1, y1)), ((x1, y1), (x0, y0)), ((x0, y1), (x1, y0)), ((x1, y0), (x0, y1))]
    for start, end in corners:
        drag_box(page, start, end)
        until(
            page,
            lambda: sorted(page.evaluate("() => __continua.nodeSelection()?.nodes ?? []")) == left.tolist(),
        )
        page.keyboard.press("Escape")
        page.wait_for_function("() => !__continua.nodeSelection()")
    low = np.flatnonzero(places[:, 1] < places[:, 1].min() + 1e-6)
    drag_box(page, *corners[0])
    drag_box(page, *box_around(page, places[low]), shift=True)  # each of them the other way round
    both = sorted(set(left) ^ set(low))
    until(page, lambda: sorted(page.evaluate("() => __continua.nodeSelection()?.nodes ?? []")) == both)
    page.get_by_role("group", name="Selected nodes").get_by_role("button", name="Pin").click()
    page.wait_for_function("() => __continua.document().data.bodies[0].pin?.length === 1")
    count = page.get_by_text(re.compile(r"\d+ nodes ·"))
    before = count.inner_text()
    fill(page, "Cells x", "3")
    page.wait_for_function("() => !__continua.document().data.bodies[0].pin?.length")  # its nodes are no more
    until(page, lambda: count.inner_text() != before)


def test_drag_from_outside_of_the_view_selects_nothing(editor):  # noqa: F811
    page, _, _ = editor
    add(page, "Box")
    page.get_by_role("button", name="Select nodes").click()
    front(page)
    places = rest(page)
    start, end = box_around(page, places)
    tree = page.get_by_role("tree").bounding_box()
    outside = [
        (start[0], 8),  # the bar at the top
        (tree["x"] + 0.5 * tree["width"], tree["y"] + tree["height"] + 40),  # below the tree
        (page.viewport_size["width"] - 2, end[1]),  # the edge of the panel
        (end[0], page.viewport_size["height"] - 4),  # the status line
    ]
    for corner in outside:
        for way in ((corner, start), (corner, end)):
            drag_box(page, *way)
            assert page.evaluate("() => __continua.nodeSelection()") is None
    drag_box(page, start, end)
    until(page, lambda: len(page.evaluate("() => __continua.nodeSelection()?.nodes ?? []")) == len(places))


def test_solvers_agree_and_stage_times_add_up(editor):  # noqa: F811
    page, _, _ = editor
    add(page, "Box")
    page.get_by_role("button", name="Add pin").click()
    page.wait_for_function("() => __continua.document().data.bodies[0].pin?.length === 1")
    built(page)
    page.get_by_role("tab", name="Solve").click()
    seen = []
    for solver in ("Conjugate gradients", "Direct (factorised)"):
        page.get_by_label("Solver of box").select_option(label=solver)
        page.get_by_role("button", name="Build", exact=True).click()
        page.wait_for_function("() => __continua.frame()?.step === 0")
        built(page)
        for number in range(8):
            page.get_by_role("button", name="One step").click()
            running(page, number)
        seen.append(positions(page) - rest(page))
    largest = np.abs(seen[0]).max()
    assert largest > 1e-3
    np.testing.assert_allclose(seen[0], seen[1], rtol=0, atol=2e-3 * largest)
    shares = [int(n) for n in re.findall(r"(\d+) %", page.get_by_role("group", name="Timers").inner_text())]
    assert sum(shares) == pytest.approx(100, abs=0.5 * len(shares))  # each is rounded
    page.get_by_role("button", name="Build", exact=True).click()
    page.wait_for_function("() => __continua.frame()?.step === 0 && __continua.frame().time === 0")
