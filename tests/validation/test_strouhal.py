"""Vortices leave a post as often as they should."""

from __future__ import annotations

import pytest

from validation.strouhal import street


def test_strouhal_number_and_drag_at_reynolds_number_100():
    found = street(across=6, seconds=60.0, size=(12.0, 8.0), upstream=3.0, cfl=0.8)
    print(found)
    assert 0.16 < found.strouhal < 0.20
    assert found.swing > 0.5  # a street, not a wake at rest
    assert found.drag == pytest.approx(found.loss, rel=0.12)  # what the post feels is what the air loses
