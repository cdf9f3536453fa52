"""Cuts in scenes: changes of type `cut`, also after a restart, and what the shipped scenes show."""

from __future__ import annotations

import numpy as np
import pytest

import continua as ct
from continua.errors import InputError
from continua.mesh import connected_pieces

SCENE = {
    "name": "bar",
    "dt": 0.01,
    "seconds": 0.1,
    "bodies": [
        {
            "type": "soft",
            "name": "bar",
            "mesh": {"type": "box", "size": [0.4, 0.1, 0.1], "cells": [4, 2, 2]},
            "pin": [{"where": "left"}],
        }
    ],
    "changes": [
        {
            "type": "cut",
            "time": 0.03,
            "body": "bar",
            "surface": {"type": "plane", "point": [0.23, 0, 0], "normal": [1, 0.2, 0]},
        },
        {
            "type": "cut",
            "time": 0.05,
            "body": "bar",
            "surface": {"type": "sweep", "curve": [[-1, 0.04, -1], [1, 0.05, -1]], "direction": [0, 0, 3]},
        },
    ],
}


def test_cuts_happen_at_their_times_and_a_resumed_run_is_bitwise_the_same(tmp_path):
    world = ct.Scene.from_data(SCENE).build()
    pieces = []
    for step in range(8):
        world.step()
        pieces.append(int(connected_pieces(world["bar"].mesh).max()) + 1)
        if step == 4:
            world.save(tmp_path / "bar.h5")
    assert pieces == [1, 1, 1, 2, 2, 4, 4, 4]
    again = ct.Scene.from_data(SCENE).build()
    again.load(tmp_path / "bar.h5")
    for _ in range(3):
        again.step()
    assert np.array_equal(again["bar"].positions, world["bar"].positions)
    world.reset()
    assert world["bar"].mesh.element_count == 96


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"surface": {"type": "plane", "point": [2, 0, 0], "normal": [1, 0, 0]}}, "does not meet"),
        (
            {"surface": {"type": "sweep", "curve": [[0, 0, 0], [1, 0, 0]], "direction": [0, 0, 0]}},
            "not be zero",
        ),
        ({"body": "other"}, "other"),
    ],
)
def test_cuts_that_cannot_be_are_refused_when_the_scene_is_built(change, message):
    data = SCENE | {"changes": [SCENE["changes"][0] | change]}
    with pytest.raises(InputError, match=message):
        ct.Scene.from_data(data).build()


def test_slices_of_the_loaf_fall_over():
    world = ct.load_scene("slicing").with_options(dt=0.01).build()
    for _ in range(70):
        world.step()
    loaf = world["loaf"]
    assert int(connected_pieces(loaf.mesh).max()) + 1 == 4
    surface = loaf.frame().skin
    at = surface.rest + surface.interpolate(loaf.frame().displacements)
    assert at[:, 0].max() > 0.16 + 0.05  # the first one lies on the board
    assert at[:, 1].min() > -2e-3
    assert loaf.mass_total == pytest.approx(0.32 * 0.12 * 0.08 * 400.0, rel=1e-10)
