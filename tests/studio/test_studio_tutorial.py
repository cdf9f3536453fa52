"""Follows docs/first-soft-body.md with the mouse; CONTINUA_DOC_PICTURES=1 also makes the pictures of that page."""

import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from test_studio_editor import (  # noqa: F401
    add,
    box_around,
    built,
    data,
    drag_box,
    editor,
    fill,
    front,
    positions,
    rest,
    running,
)
from test_studio_page import browser, pause, until  # noqa: F401

pytestmark = pytest.mark.browser

PICTURES = Path(__file__).parents[2] / "docs" / "images"


def snap(page, name):
    """Make a picture of the page for the tutorial, if pictures are wanted."""
    if os.environ.get("CONTINUA_DOC_PICTURES"):
        until(page, lambda: page.locator(".toast").count() == 0)  # messages go away by themselves
        page.wait_for_timeout(700)
        Image.open(io.BytesIO(page.screenshot())).convert("RGB").save(
            PICTURES / f"first-{name}.webp", quality=84, method=6
        )


def test_first_soft_body_tutorial(editor):  # noqa: F811
    page, session, folder = editor
    add(page, "Box")
    assert data(page)["bodies"][0]["type"] == "soft"
    fill(page, "Young’s modulus in Pa", "1 MPa")
    fill(page, "Translate y in m", "1.5")
    fill(page, "Size x in m", "2")
    fill(page, "Cells x", "8")
    until(page, lambda: len(np.unique(rest(page)[:, 0].round(6))) == 9)  # only then is it the beam of 8 cells
    built(page)
    page.keyboard.press("f")
    snap(page, "add")

    page.get_by_role("button", name="Select nodes").click()
    front(page)
    left = rest(page)[:, 0] < rest(page)[:, 0].min() + 1e-6
    drag_box(page, *box_around(page, rest(page)[left]))
    page.wait_for_function("n => __continua.nodeSelection()?.nodes.length === n", arg=int(left.sum()))
    snap(page, "nodes")
    page.get_by_role("group", name="Selected nodes").get_by_role("button", name="Pin").click()
    page.wait_for_function("() => __continua.document().data.bodies[0].pin?.length === 1")
    built(page)

    page.keyboard.press("0")
    page.get_by_role("tab", name="Live").click()
    page.get_by_role("button", name="Play", exact=True).click()
    running(page, 60)
    page.get_by_label("Colour by").select_option(label="Von Mises stress")
    assert (positions(page) - rest(page))[:, 1].min() < -0.05  # it sags
    assert np.abs((positions(page) - rest(page))[left]).max() == 0.0
    snap(page, "run")

    pause(page)
    now = positions(page)
    corner = np.argmax(now @ [1.0, 0.2, 0.5])
    tip = now[corner] - [0.15, 0.1, 0.0]
    x, y = page.evaluate("p => __continua.project(...p)", list(map(float, tip)))
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y - 120, steps=8)
    page.wait_for_function("() => __continua.pulls().length === 1")
    page.keyboard.press(" ")
    until(page, lambda: page.locator(".force-tag").inner_text().endswith("N"))
    until(page, lambda: positions(page)[corner, 1] > now[corner, 1] + 0.1)
    snap(page, "pull")
    page.mouse.up()

    page.get_by_role("button", name="File").click()
    page.get_by_role("menuitem", name="Save as").click()
    page.get_by_label("File name").fill("first")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_function("() => __continua.document().file === 'first.yaml'")
    page.get_by_role("button", name="Export", exact=True).click()
    page.get_by_role("button", name="Export the run").click()
    page.get_by_role("link", name=".html").wait_for(timeout=300_000)
    snap(page, "export")
    assert session.state["error"] is None
    assert next(folder.rglob("*.html")).stat().st_size > 1_000_000
