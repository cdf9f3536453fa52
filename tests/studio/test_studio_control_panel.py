"""What the panel of the page says and does, without a page."""

import json
from dataclasses import dataclass, fields

import numpy as np
import pytest
from studio_world import make_world

import continua as ct
from continua import solids
from continua.errors import InputError
from continua.studio.controls.control_panel import Board

LAWS = [
    law
    for law in vars(solids).values()
    if isinstance(law, type) and issubclass(law, solids.Law) and law not in (solids.Law, solids.CustomLaw)
]


def make_body(law=None, **options):
    mesh = ct.mesh.box(size=(1.0, 0.2, 0.2), cells=(3, 1, 1))
    return ct.SoftBody(mesh, material=law, name="body", **options)


def knobs_of(board):
    """Return the descriptions of all knobs by key."""
    panel = board.describe()
    groups = [*panel["world"]]
    for body in panel["bodies"]:
        groups += [*body["materials"], *body["others"], body["stepping"], *body["holds"]]
    return {knob["key"]: knob for group in groups for knob in group["knobs"]}


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_every_number_of_every_law_can_be_changed(law):
    board = Board(ct.World([body := make_body(law())]))
    knobs = knobs_of(board)
    json.dumps([board.describe(), board.values()], allow_nan=False)
    for field in fields(law):
        value = getattr(body.material, field.name)
        if not isinstance(value, float) or (law.name, field.name) == ("shape_keeping", "poisson"):
            continue
        knob = knobs[f"body/material/{field.name}"]
        assert knob["help"]
        assert (knob["unit"] == "Pa") == (field.name in ("young", "strength") or "stiffness" in field.name)
        new = 0.9 * value if value else 0.1
        if field.name != "second_stiffness":  # which needs a direction too
            board.turn(knob["key"], new)
            assert getattr(body.material, field.name) == pytest.approx(new)
            assert board.values()[knob["key"]] == pytest.approx(new)
        assert board.describe()["initial"][knob["key"]] == value


def test_a_law_of_ones_own_tells_its_constants_in_its_docstring():
    @dataclass(frozen=True)
    class Bell(ct.CustomLaw):
        """A law.

        Attributes:
            softening: Something that
                softens it [Pa].
        """

        softening: float = 0.5

        def energy(F, p):  # noqa: N805
            strain = F.T @ F - np.eye(3)
            return 0.25 * p.mu * np.sum(strain * strain)

    board = Board(ct.World([body := make_body(Bell())]))
    knob = knobs_of(board)["body/material/softening"]
    assert (knob["unit"], knob["help"]) == ("Pa", "Something that softens it [Pa].")
    board.turn("body/material/softening", 0.25)
    assert body.material.softening == 0.25
    assert board.describe()["bodies"][0]["facts"][0] == "Bell"


def test_parts_have_knobs_of_their_own_and_the_names_of_regions():
    body = ct.SoftBody(
        ct.mesh.TetMesh(*box_with_region()),
        parts=[("tip", ct.Corotated(young=5e6)), (lambda x: x[:, 0] < 0.3, ct.Corotated(young=2e5))],
        name="body",
    )
    board = Board(ct.World([body]))
    titles = [group["title"] for group in board.describe()["bodies"][0]["materials"]]
    assert titles == ["Body", "tip", "Part 2"]
    board.turn("body/part/0/young", 7e6)
    assert [law.young for _, law in body.parts] == [7e6, 2e5]
    assert body.material.young == 1e6


def box_with_region():
    mesh = ct.mesh.box(size=(1.0, 0.2, 0.2), cells=(3, 1, 1))
    centers = mesh.points[mesh.cells].mean(axis=1)
    return mesh.points, mesh.cells, {"tip": np.flatnonzero(centers[:, 0] > 0.7)}


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("beam/material/young", -1.0, "at least 0 Pa"),
        ("beam/material/poisson", 0.5, "less than 0.5"),
        ("beam/material/density", True, "number"),
        ("beam/integrator", "magic", "one of"),
        ("beam/integrator/implicit_euler/newton", 2.5, "whole"),
        ("world/gravity", 9.81, "vector"),
        ("world/dt", 0.0, "greater than 0 s"),
        ("no/such/key", 1.0, "no/such/key"),
    ],
)
def test_a_bad_value_gets_one_sentence_and_changes_nothing(key, value, words):
    board = Board(make_world())
    before = board.values()
    with pytest.raises(InputError, match=words) as caught:
        board.turn(key, value)
    assert "\n" not in str(caught.value)
    assert board.values() == before


def test_another_integrator_brings_its_own_constants():
    board = Board(make_world())
    version = board.version
    board.turn("beam/integrator", "newmark")
    assert board.version > version
    board.turn("beam/integrator/newmark/gamma", 0.5)
    board.turn("beam/integrator/newmark/newton", 2.0)
    assert board._world.bodies[0].integrator == ct.Newmark(newton=2)
    assert "beam/integrator/implicit_euler/newton" not in board.values()
    board.turn("beam/integrator", "explicit")
    assert board.values()["beam/integrator/explicit/substeps"] is True


def test_plasticity_is_changed_while_it_runs():
    body = make_body(ct.Corotated(), plasticity=ct.Plasticity(yield_strain=0.2))
    board = Board(ct.World([body]))
    board.turn("body/plasticity/yield_strain", 0.05)
    board.turn("body/plasticity/preserve_volume", True)
    assert body.plasticity == ct.Plasticity(yield_strain=0.05, preserve_volume=True)
    with pytest.raises(InputError, match="greater than 1"):
        board.turn("body/plasticity/limit", 0.5)


def test_wind_is_switched_on_and_blows():
    board = Board(make_world())
    assert board._world.wind is None
    board.turn("world/wind", True)
    board.turn("world/wind/velocity", (0.0, 0.0, 3.0))
    assert tuple(board._world.wind.velocity) == (0.0, 0.0, 3.0)
    board.turn("world/wind", False)
    assert board._world.wind is None


def test_a_pin_lets_go_and_leads_its_nodes_back():
    world = make_world()
    board = Board(world)
    beam, nodes = world.bodies[0], world.bodies[0].attached[0].nodes
    board.turn("beam/hold/0/on", False)
    for _ in range(20):
        world.step()
    fallen = beam.positions[nodes]
    assert np.abs(fallen - beam.rest_positions[nodes]).max() > 0.1
    assert board.live().forces == {}
    board.turn("beam/hold/0/on", True)
    world.step()
    assert np.linalg.norm(beam.positions[nodes] - fallen, axis=1).max() < 0.02  # not at once
    for _ in range(60):
        world.step()
    np.testing.assert_allclose(beam.positions[nodes], beam.rest_positions[nodes], atol=1e-9)


def test_loads_are_listed_changed_and_tell_their_force():
    body = make_body(ct.Corotated())
    top = np.flatnonzero(np.isclose(body.rest_positions[:, 1], 0.2))
    body.push(top, (0.0, -3.0, 0.0), until=0.5)
    body.press(lambda x, n: n[:, 0] > 0.5, 200.0)
    body.load_faces(lambda x, n: n[:, 1] > 0.5, lambda time: (0.0, 0.0, 10.0))
    body.load_volume("all", (0.0, 0.0, 2.0))
    body.lock(top, "y")
    body.pull(point=(1.0, 0.1, 0.1), target=(1.0, 0.3, 0.1), stiffness=40.0)
    world = ct.World([body], dt=0.01)
    board = Board(world)
    holds = {hold["title"]: hold for hold in board.describe()["bodies"][0]["holds"]}
    assert {title: hold["note"] for title, hold in holds.items()} == {
        "Lock along y": "8 nodes",
        "Push": "8 nodes, until 0.5 s",
        "Pressure": "2 faces",
        "Traction": "6 faces",
        "Volume force": "18 elements" if body.element_count == 18 else f"{body.element_count} elements",
        "Spring": "a point",
    }
    forces = {title: board.live().forces[hold["key"]] for title, hold in holds.items()}
    np.testing.assert_allclose(forces["Push"], [0.0, -3.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(forces["Pressure"], [-200.0 * 0.2 * 0.2, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(forces["Traction"], [0.0, 0.0, 10.0 * 0.2], atol=1e-12)
    np.testing.assert_allclose(forces["Volume force"], [0.0, 0.0, 2.0 * 0.2 * 0.2], atol=1e-12)
    np.testing.assert_allclose(forces["Spring"], [0.0, 40.0 * 0.2, 0.0], atol=1e-12)
    changes = {
        "Pressure": ("pressure", 500.0),
        "Push": ("force", (1.0, 0.0, 0.0)),
        "Traction": ("factor", 2.0),
    }
    for title, (name, value) in changes.items():
        board.turn(f"{holds[title]['key']}/{name}", value)
    forces = {title: board.live().forces[holds[title]["key"]] for title in changes}
    np.testing.assert_allclose(forces["Pressure"], [-500.0 * 0.2 * 0.2, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(forces["Push"], [1.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(forces["Traction"], [0.0, 0.0, 2.0 * 10.0 * 0.2], atol=1e-12)
    for hold in holds.values():
        board.turn(f"{hold['key']}/on", False)
    assert board.live().forces == {}
    board.turn(f"{holds['Spring']['key']}/stiffness", 80.0)
    board.turn(f"{holds['Spring']['key']}/on", True)
    np.testing.assert_allclose(board.live().forces[holds["Spring"]["key"]], [0.0, 16.0, 0.0], atol=1e-12)


def test_a_tool_is_listed_with_its_force_but_belongs_to_the_device():
    body = make_body(ct.Corotated())
    tool = body.handle(point=(1.0, 0.1, 0.1), stiffness=100.0)
    board = Board(world := ct.World([body], dt=0.01, gravity=(0, 0, 0)))
    (hold,) = board.describe()["bodies"][0]["holds"]
    assert hold["knobs"] == []
    tool.move((1.0, 0.2, 0.1))
    world.step()
    np.testing.assert_allclose(board.live().forces[hold["key"]], -tool.force)
    assert board.live().forces[hold["key"]][1] > 0.0
