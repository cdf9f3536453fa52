"""Stage times in the real page."""

import re

import pytest
from test_studio_editor import browser, opened, running, serving  # noqa: F401
from test_studio_page import pause

from continua.scene import parse_scene
from continua.studio.session.catalog import open_session

pytestmark = pytest.mark.browser

SCENE = """
seconds: 10
bodies:
- {type: soft, name: box, mesh: {type: box, cells: [3, 3, 3]}, transform: {translate: [0, 0.01, 0]}}
colliders: [{type: plane}]
"""


def test_stage_times_change_and_add_up_to_the_step(browser, tmp_path):  # noqa: F811
    session, _ = open_session(parse_scene(SCENE), tmp_path)
    with serving(session) as port, opened(browser, port) as page:
        page.get_by_role("tab", name="Solve").click()
        running(page, 20)
        timers = page.get_by_role("group", name="Timers")
        first = timers.inner_text()
        page.wait_for_function(
            "text => document.querySelector('.stage-times').innerText !== text", arg=first, timeout=60_000
        )
        pause(page)
        text = timers.inner_text()
        for stage in (
            "Assembly",
            "Forces",
            "Contact search",
            "Contact solve",
            "Rest of the step",
            "Snapshot",
        ):
            assert stage in text
        shares = [int(share) for share in re.findall(r"(\d+) %", text)]
        assert abs(sum(shares) - 100) <= len(shares) / 2  # each is rounded
        assert page.evaluate("() => Object.values(__continua.frame().stageMs).every(ms => ms >= 0)")
        stages = page.evaluate("() => __continua.frame().stageMs")
        step = page.evaluate("() => __continua.frame().stepMs")
        assert sum(ms for name, ms in stages.items() if name != "snapshot") == pytest.approx(step, rel=0.01)
