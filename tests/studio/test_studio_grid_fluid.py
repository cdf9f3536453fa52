"""Grid fluids in the studio: their fields are listed, and they cannot be pulled."""

import pytest

import continua as ct
from continua.output.wire_format import field_list
from continua.studio.interaction.drag_spring import DragSpring


def test_fields_of_a_grid_fluid_are_listed_and_pulls_are_rejected():
    tunnel = ct.WindTunnel((1.0, 1.0), (8, 8), streaks=2, name="air")
    frame = ct.World([tunnel]).frame()
    assert {"velocity", "pressure", "vorticity", "smoke"} <= {entry["name"] for entry in field_list(frame)}
    with pytest.raises(ct.InputError, match="cannot be pulled"):
        DragSpring(tunnel, frame["air"], 0, (1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
