"""Parametric surfaces, added and edited in the real page."""

import numpy as np
import pytest
from test_studio_editor import add, browser, built, data, editor, fill, positions  # noqa: F401
from test_studio_page import until

from continua.scene import load_scene

pytestmark = pytest.mark.browser


def test_formula_becomes_a_body_and_invalid_ones_are_reported_at_their_field(editor):  # noqa: F811
    page, session, folder = editor
    add(page, "Formula")
    assert data(page)["bodies"][0]["mesh"]["type"] == "parametric"
    built(page)
    until(page, lambda: len(positions(page)))  # in the next frame
    assert np.ptp(positions(page)[:, 1]) == pytest.approx(1.0, abs=0.02)

    page.get_by_role("group", name="Example formulas").get_by_text("Torus").click()
    page.wait_for_function("() => __continua.document().data.bodies[0].mesh.y === '0.15*sin(2*pi*u)'")
    built(page)
    until(page, lambda: np.ptp(positions(page)[:, 1]) == pytest.approx(0.3, abs=0.02))  # in the next frame

    field = page.get_by_label("Y", exact=True).last
    field.fill("0.15*sine(u)")
    field.press("Enter")
    page.get_by_text("the formula has an unknown function 'sine'").wait_for()
    assert data(page)["bodies"][0]["mesh"]["y"] == "0.15*sin(2*pi*u)"
    fill(page, "Y", "0.3*sin(2*pi*u)")
    built(page)
    until(page, lambda: np.ptp(positions(page)[:, 1]) == pytest.approx(0.6, abs=0.02))  # in the next frame

    fill(page, "Y", "u")
    page.get_by_role("alert").get_by_text("the surface is open").wait_for()
    page.get_by_role("button", name="Undo").click()
    built(page)

    page.get_by_role("button", name="File").click()
    page.get_by_role("menuitem", name="Save as").click()
    page.get_by_label("File name").fill("ring")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_function("() => __continua.document().file === 'ring.yaml'")
    body = load_scene(folder / "ring.yaml").build().bodies[0]
    assert body.node_count == session.snapshot.frame["parametric"].positions.shape[0]


def test_formula_as_a_rigid_body_and_as_a_collider(editor):  # noqa: F811
    page, session, _ = editor
    add(page, "Formula", "Rigid body")
    assert session.snapshot.frame["parametric"].positions.shape == (482, 3)  # its own surface, no tetrahedra
    add(page, "Formula", "Collider")
    page.wait_for_function("() => __continua.document().data.colliders.length === 2")
    built(page)
    assert page.evaluate("() => __continua.state().buildError") is None
