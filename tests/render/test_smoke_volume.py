"""Smoke in pictures: transparent without density, opaque by optical depth, hidden behind nearer surfaces."""

from __future__ import annotations

import numpy as np
import pytest

import continua as ct
from continua.frames import BodyFields, BodyFrame, Field, Frame, Volume
from continua.grid_fluids import Inflow, Smoke, WindTunnel
from continua.render import picture
from continua.render.composition import default_color
from continua.scene import Scene
from continua.scene.run_info import run_info


def frame_with(smoke: np.ndarray, colliders=()) -> Frame:
    body = BodyFrame(
        name="smoke",
        kind="grid",
        positions=np.zeros((0, 3)),
        rest_positions=np.zeros((0, 3)),
        cells={},
        triangles=np.zeros((0, 3), np.int32),
        fields=BodyFields({}),
        color=(0.1, 0.1, 0.1),
        volume=Volume((-0.5, -0.5, -0.5), 1.0 / 16, {"smoke": Field(smoke.astype(np.float32), "")}),
    )
    return Frame(0, 0, 0.0, {"smoke": body}, colliders=colliders)


def drawn(smoke: np.ndarray, colliders=()) -> np.ndarray:
    camera = {"azimuth": 0.0, "elevation": 0.0}
    return picture(frame_with(smoke, colliders), size=(96, 96), color="smoke", camera=camera).astype(int)


def test_opacity_grows_with_density_and_clear_air_is_transparent():
    smoke = np.zeros((16, 16, 16))
    clear = drawn(smoke)
    smoke[6:10, 6:10, 6:10] = 0.2
    thin = drawn(smoke)
    thick = drawn(10.0 * smoke)
    middle = (slice(44, 52), slice(44, 52))
    assert thick[middle].mean() < thin[middle].mean() < clear[middle].mean()
    changed = np.abs(thick - clear).sum(axis=2) > 0
    assert not changed[:20, :20].any()


def test_smoke_behind_a_sphere_is_hidden():
    smoke = np.zeros((16, 16, 16))
    smoke[6:10, 6:10, 1:3] = 3.0
    ball = [{"kind": "sphere", "center": (0.0, 0.0, 0.3), "radius": 0.25}]
    np.testing.assert_array_equal(drawn(smoke, ball)[44:52, 44:52], drawn(0.0 * smoke, ball)[44:52, 44:52])


def test_a_2d_wind_tunnel_is_drawn_as_a_surface():
    tunnel = ct.WindTunnel((2.0, 1.0), (32, 16), name="tunnel")
    frame = ct.World([tunnel]).frame()
    camera = {"azimuth": 0.0, "elevation": 0.0}
    pixels = picture(frame, size=(96, 64), color="velocity", camera=camera)
    assert len(np.unique(pixels[32, 10:60].reshape(-1, 3), axis=0)) < 50


def test_a_plane_of_smoke_shows_its_smoke_by_default():
    source = Inflow(ct.Sphere(center=(0.5, 0.5, 0.0), radius=0.2))
    smoke = Smoke((1.0, 1.0), (16, 16), inflow=source, name="smoke")
    frame = ct.World([smoke], dt=0.02).frame()
    camera = {"azimuth": 0, "elevation": 0}
    shown = picture(frame, size=(96, 96), camera=camera).astype(int)
    assert np.array_equal(shown, picture(frame, size=(96, 96), camera=camera, color="smoke").astype(int))
    assert np.abs(shown[48, 48] - shown[48, 30]).max() > 60  # the source stands out from the clean air
    tunnel = WindTunnel((1.0, 1.0), (16, 16), name="wind")
    assert default_color(ct.World([tunnel], dt=0.02).frame()) == "velocity"


@pytest.mark.parametrize(
    ("body", "color"),
    [
        ({"type": "smoke"}, "smoke"),
        ({"type": "wind_tunnel"}, "velocity"),
        ({"type": "wind_tunnel", "streaks": 4}, "smoke"),
    ],
)
def test_films_of_scenes_show_smoke_or_speed_by_default(body, color):
    scene = Scene.model_validate(
        {"name": "air", "bodies": [{"name": "air", "size": [1, 1], "cells": [16, 16], **body}]}
    )
    assert run_info(scene).view["color"] == color
