import numpy as np
import pytest

from continua.errors import InputError
from continua.scene import Scene


def scene(**actions):
    mesh = {"type": "box", "cells": [1, 1, 1]}
    return Scene.from_data({"bodies": [{"type": "soft", "name": "cube", "mesh": mesh, **actions}]})


def test_a_traction_on_numbered_faces_is_their_area_times_it():
    where = {"type": "faces", "faces": [0, 5, 5]}
    body = scene(load_faces=[{"where": where, "traction": [0.0, -8.0, 0.0]}]).build().bodies[0]
    # twelve triangles of half a square metre
    np.testing.assert_allclose(body.attached[0].forces.sum(axis=0), [0, -8.0, 0], atol=1e-12)


def test_numbers_that_do_not_exist_and_nodes_are_refused():
    with pytest.raises(InputError, match="the surface has 12 faces"):
        scene(press=[{"where": {"type": "faces", "faces": [12]}, "pressure": 1.0}]).build()
    with pytest.raises(InputError, match="face numbers choose faces only"):
        scene(pin=[{"where": {"type": "faces", "faces": [0]}}]).build()
