"""Questions and messages of the real page: each is shown when it has a cause, and goes with it."""

import json

import pytest
from studio_world import FragileWorld, make_session
from test_studio_page import TOKEN, browser, opened, serving  # noqa: F401

from continua.scene import cost, parse_scene
from continua.studio.protocol import parse_command
from continua.studio.session.catalog import open_session

pytestmark = pytest.mark.browser

SCENE = {
    "name": "bar",
    "bodies": [
        {
            "type": "soft",
            "name": "bar",
            "mesh": {"type": "box", "size": [1.0, 0.2, 0.2], "cells": [4, 1, 1]},
            "pin": [{"where": "left"}],
        }
    ],
}


@pytest.fixture
def editor(browser, tmp_path):  # noqa: F811
    """A page with a scene, its session, and its folder."""
    session, _ = open_session(parse_scene(json.dumps(SCENE)), tmp_path)
    with serving(session) as port, opened(browser, port) as page:
        yield page, session, tmp_path


def dialog(page):
    return page.get_by_role("alertdialog")


def test_saving_over_another_file_asks_first(editor):
    page, session, folder = editor
    (folder / "taken.yaml").write_text("not a scene")
    page.keyboard.press("Control+s")
    field = page.get_by_label("File name")
    field.fill("taken")
    field.press("Enter")
    assert "taken.yaml exists in this folder" in dialog(page).inner_text()
    dialog(page).get_by_role("button", name="Cancel").click()
    dialog(page).wait_for(state="detached")
    assert (folder / "taken.yaml").read_text() == "not a scene"
    page.keyboard.press("Control+s")
    field.fill("taken")
    field.press("Enter")
    dialog(page).get_by_role("button", name="Replace").click()
    page.wait_for_function("() => __continua.document().file === 'taken.yaml'")
    assert parse_scene((folder / "taken.yaml").read_text()).bodies[0].name == "bar"
    change = {"op": "set", "path": ["description"], "value": "new"}
    session.submit(1, parse_command(json.dumps({"type": "edit", "changes": [change]})))
    page.wait_for_function("() => __continua.document().changed")
    page.keyboard.press("Control+s")  # its own file now: no question
    page.wait_for_function("() => !__continua.document().changed")
    assert dialog(page).count() == 0


def test_large_scene_is_built_after_a_confirmation(browser, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(cost, "_ASK_MEMORY", cost.BASE_MEMORY)
    session, _ = open_session(parse_scene(json.dumps(SCENE)), tmp_path)
    assert not session._world.bodies
    with serving(session) as port, opened(browser, port) as page:
        text = dialog(page).inner_text()
        assert "about 24 tetrahedra, 0.2 GB of memory, less than a second to start" in text
        dialog(page).get_by_role("button", name="Cancel").click()
        dialog(page).wait_for(state="detached")
        page.get_by_role("button", name="Rebuild needed").click()
        dialog(page).get_by_role("button", name="Build anyway").click()
        page.wait_for_function("() => __continua.bodies().includes('bar')", timeout=300_000)
        assert dialog(page).count() == 0
        assert page.get_by_role("button", name="Rebuild needed").count() == 0


def test_rejected_value_is_forgotten_after_the_next_change(editor):
    page, _, _ = editor
    page.get_by_role("button", name="Pause", exact=True).click()
    page.get_by_role("tab", name="Live").click()
    page.get_by_label("Time step in s").fill("-3")
    page.get_by_label("Time step in s").press("Enter")
    error = page.locator(".field-error")
    error.wait_for()
    page.wait_for_timeout(500)  # changes that come with an error do not end it
    page.get_by_label("Gravity y in m/s²").fill("-3")
    page.get_by_label("Gravity y in m/s²").press("Enter")
    error.wait_for(state="detached")


@pytest.mark.parametrize("key", ["r", "Control+z"])
def test_failed_command_is_forgotten_after_reset_and_undo(editor, key):
    page, session, _ = editor
    page.get_by_role("tab", name="Live").click()
    page.get_by_label("Gravity y in m/s²").fill("-3")
    page.get_by_label("Gravity y in m/s²").press("Enter")
    page.wait_for_function("() => __continua.state().values['world/gravity'][1] === -3")
    page.wait_for_function("() => __continua.frame().time > 0.05")
    for client in session.publisher.listeners._listeners:
        session.publisher.listeners.notify_failure(client, "the time limit is reached", "")
    toast = page.locator(".toast")
    toast.wait_for()
    page.wait_for_timeout(500)
    page.mouse.click(640, 500)
    page.keyboard.press(key)
    toast.wait_for(state="detached", timeout=4000)  # it would stay for 7 s by itself


def test_unstable_simulation_can_continue_after_a_correction(browser):  # noqa: F811
    world = FragileWorld()
    session = make_session(world)
    with serving(session) as port, opened(browser, port) as page:
        banner = page.locator(".banner")
        banner.wait_for()
        assert "became unstable" in banner.inner_text()
        world.diverges = False
        page.get_by_label("Gravity y in m/s²").fill("-1")
        page.get_by_label("Gravity y in m/s²").press("Enter")
        banner.wait_for(state="detached")
        page.get_by_role("button", name="Play", exact=True).click()
        page.wait_for_function("() => __continua.frame().step > 6")


def test_page_without_the_token_says_what_to_do(browser):  # noqa: F811
    with serving(make_session()) as port:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{port}/")
        assert "open the full address that the studio printed" in page.inner_text("body")
        page.goto(f"http://127.0.0.1:{port}/?token={TOKEN}")
        page.wait_for_function("() => window.__continua?.frame()")
        page.goto(f"http://127.0.0.1:{port}/")  # by the cookie
        page.wait_for_function("() => window.__continua?.frame()")
        context.close()
