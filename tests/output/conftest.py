from __future__ import annotations

import pytest
from moving_box import box, make_frame


@pytest.fixture(scope="session")
def frames():
    """Six frames of one block."""
    mesh = box()
    return [make_frame(i, mesh=mesh) for i in range(6)]


@pytest.fixture(scope="session")
def two_bodies():
    """Four frames of two blocks, one with a name that no file system likes."""
    mesh = box()
    return [make_frame(i, mesh=mesh, names=("block", "a/b: ü")) for i in range(4)]
