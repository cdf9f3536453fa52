"""Cloth touches the surface of a body that has been cut, whose points are no nodes."""

import numpy as np

import continua as ct
from continua.cutting import CutSurface
from tests.shells.throws import square_cloth


def test_a_sheet_lies_on_a_body_that_has_been_cut():
    """A stiff block of 0.3 x 0.1 x 0.3 m lies in two pieces on the floor; the sheet stays on top of both."""
    block = ct.SoftBody(
        ct.mesh.box(size=(0.3, 0.1, 0.3), cells=(3, 2, 3), origin=(-0.15, 0.0, -0.15)),
        material=ct.Corotated(young=1e6, poisson=0.3, density=1000.0),
        name="block",
    )
    sheet = square_cloth(7, 0.25, (0.0, 0.115, 0.0), name="sheet")
    world = ct.World(
        [block, sheet], colliders=[ct.Plane((0, 0, 0), (0, 1, 0))], dt=0.01, contact=ct.Contact(0.5)
    )
    for step in range(30):
        if step == 5:
            block.cut(CutSurface.plane((0.02, 0.05, 0.0), (1.0, 0.1, 0.0)))
        world.step()
        assert sheet.positions[:, 1].min() > 0.0995
    assert sheet.positions[:, 1].max() < 0.12
    assert np.abs(sheet.velocities).max() < 0.05
