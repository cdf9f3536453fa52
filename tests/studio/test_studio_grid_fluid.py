"""Grid fluids in the studio: their fields can be chosen, and they cannot be pulled."""

import pytest

import continua as ct
from continua.output.wire_format import field_list
from continua.studio.interaction.drag_spring import Hand


def test_fields_of_a_tunnel_are_offered_and_a_pull_is_refused():
    tunnel = ct.WindTunnel((1.0, 1.0), (8, 8), streaks=2, name="air")
    frame = ct.World([tunnel]).frame()
    assert {"velocity", "pressure", "vorticity", "smoke"} <= {entry["name"] for entry in field_list(frame)}
    with pytest.raises(ct.InputError, match="cannot be pulled"):
        Hand(tunnel, frame["air"], 0, (1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
