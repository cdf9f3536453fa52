"""The control panel, without a page."""

import json
from dataclasses import dataclass, fields

import numpy as np
import pytest
from studio_world import make_world

import continua as ct
from continua import materials
from continua.errors import InputError
from continua.studio.controls.control_panel import ControlPanel

LAWS = materials.LAWS.values()


def make_body(law=None, **options):
    mesh = ct.mesh.box(size=(1.0, 0.2, 0.2), cells=(3, 1, 1))
    return ct.SoftBody(mesh, material=law, name="body", **options)


def parameters_of(panel):
    """Return the descriptions of all parameters by key."""
    message = panel.describe()
    groups = [*message["world"]]
    for body in message["bodies"]:
        groups += [*body["materials"], *body["others"], body["integration"], *body["boundaryConditions"]]
    return {parameter["key"]: parameter for group in groups for parameter in group["parameters"]}


@pytest.mark.filterwarnings("ignore:the elements of body 'body' lock")
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_every_constant_of_every_law_can_be_changed(law):
    panel = ControlPanel(ct.World([body := make_body(law())]))
    parameters = parameters_of(panel)
    json.dumps([panel.describe(), panel.values()], allow_nan=False)
    for field in fields(law):
        value = getattr(body.material, field.name)
        if not isinstance(value, float) or (
            field.name == "poisson" and law.name in ("editing_material", "orthotropic")  # always 0
        ):
            continue
        parameter = parameters[f"body/material/{field.name}"]
        assert parameter["help"]
        is_modulus = field.name.partition("_")[0] in ("young", "shear") and (
            law.name != "editing_material" or field.name == "young"
        )
        assert (parameter["unit"] == "Pa") == (
            is_modulus or field.name == "strength" or "stiffness" in field.name
        )
        new = 0.9 * value if value else 0.1
        if field.name != "second_stiffness":  # which needs a direction too
            panel.set_value(parameter["key"], new)
            assert getattr(body.material, field.name) == pytest.approx(new)
            assert panel.values()[parameter["key"]] == pytest.approx(new)
        assert panel.describe()["initial"][parameter["key"]] == value


def test_constants_of_a_custom_law_are_described_by_its_docstring():
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

    panel = ControlPanel(ct.World([body := make_body(Bell())]))
    parameter = parameters_of(panel)["body/material/softening"]
    assert (parameter["unit"], parameter["help"]) == ("Pa", "Something that softens it [Pa].")
    panel.set_value("body/material/softening", 0.25)
    assert body.material.softening == 0.25
    assert panel.describe()["bodies"][0]["summary"][0] == "Bell"


def test_parts_have_their_own_parameters_and_region_names():
    body = ct.SoftBody(
        ct.mesh.TetMesh(*box_with_region()),
        parts=[("tip", ct.Corotated(young=5e6)), (lambda x: x[:, 0] < 0.3, ct.Corotated(young=2e5))],
        name="body",
    )
    panel = ControlPanel(ct.World([body]))
    titles = [group["title"] for group in panel.describe()["bodies"][0]["materials"]]
    assert titles == ["Body", "tip", "Part 2"]
    panel.set_value("body/part/0/young", 7e6)
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
        ("beam/material/poisson", 0.6, "at most 0.5"),
        ("beam/material/density", True, "number"),
        ("beam/integrator", "magic", "one of"),
        ("beam/integrator/implicit_euler/newton", 2.5, "integer"),
        ("world/gravity", 9.81, "vector"),
        ("world/dt", 0.0, "greater than 0 s"),
        ("no/such/key", 1.0, "no/such/key"),
    ],
)
def test_invalid_value_is_reported_in_one_sentence_and_changes_nothing(key, value, words):
    panel = ControlPanel(make_world())
    before = panel.values()
    with pytest.raises(InputError, match=words) as caught:
        panel.set_value(key, value)
    assert "\n" not in str(caught.value)
    assert panel.values() == before


def test_integrator_change_replaces_its_parameters():
    panel = ControlPanel(make_world())
    version = panel.version
    panel.set_value("beam/integrator", "newmark")
    assert panel.version > version
    panel.set_value("beam/integrator/newmark/gamma", 0.5)
    panel.set_value("beam/integrator/newmark/newton", 2.0)
    assert panel._world.bodies[0].integrator == ct.Newmark(newton=2)
    assert "beam/integrator/implicit_euler/newton" not in panel.values()
    panel.set_value("beam/integrator", "explicit")
    assert panel.values()["beam/integrator/explicit/substeps"] is True


def test_plasticity_can_be_changed_while_running():
    body = make_body(ct.Corotated(), plasticity=ct.Plasticity(yield_strain=0.2))
    panel = ControlPanel(ct.World([body]))
    panel.set_value("body/plasticity/yield_strain", 0.05)
    panel.set_value("body/plasticity/preserve_volume", True)
    assert body.plasticity == ct.Plasticity(yield_strain=0.05, preserve_volume=True)
    with pytest.raises(InputError, match="greater than 1"):
        panel.set_value("body/plasticity/limit", 0.5)


def test_wind_can_be_switched_on():
    panel = ControlPanel(make_world())
    assert panel._world.wind is None
    panel.set_value("world/wind", True)
    panel.set_value("world/wind/velocity", (0.0, 0.0, 3.0))
    assert tuple(panel._world.wind.velocity) == (0.0, 0.0, 3.0)
    panel.set_value("world/wind", False)
    assert panel._world.wind is None


def test_disabled_pin_releases_and_reenabled_pin_returns_its_nodes_smoothly():
    world = make_world()
    panel = ControlPanel(world)
    beam, nodes = world.bodies[0], world.bodies[0].attached[0].nodes
    panel.set_value("beam/boundary/0/on", False)
    for _ in range(20):
        world.step()
    fallen = beam.positions[nodes]
    assert np.abs(fallen - beam.rest_positions[nodes]).max() > 0.1
    assert panel.boundary_forces().forces == {}
    panel.set_value("beam/boundary/0/on", True)
    world.step()
    assert np.linalg.norm(beam.positions[nodes] - fallen, axis=1).max() < 0.02  # not at once
    for _ in range(60):
        world.step()
    np.testing.assert_allclose(beam.positions[nodes], beam.rest_positions[nodes], atol=1e-9)


def test_loads_are_listed_and_changed_and_report_their_force():
    body = make_body(ct.Corotated())
    top = np.flatnonzero(np.isclose(body.rest_positions[:, 1], 0.2))
    body.push(top, (0.0, -3.0, 0.0), until=0.5)
    body.apply_pressure(lambda x, n: n[:, 0] > 0.5, 200.0)
    body.apply_traction(lambda x, n: n[:, 1] > 0.5, lambda time: (0.0, 0.0, 10.0))
    body.apply_body_force("all", (0.0, 0.0, 2.0))
    body.lock(top, "y")
    body.pull(point=(1.0, 0.1, 0.1), target=(1.0, 0.3, 0.1), stiffness=40.0)
    world = ct.World([body], dt=0.01)
    panel = ControlPanel(world)
    conditions = {
        condition["title"]: condition for condition in panel.describe()["bodies"][0]["boundaryConditions"]
    }
    assert {title: condition["note"] for title, condition in conditions.items()} == {
        "Lock along y": "8 nodes",
        "Push": "8 nodes, until 0.5 s",
        "Pressure": "2 faces",
        "Traction": "6 faces",
        "Body force": "18 elements" if body.element_count == 18 else f"{body.element_count} elements",
        "Spring": "a point",
    }
    forces = {
        title: panel.boundary_forces().forces[condition["key"]] for title, condition in conditions.items()
    }
    np.testing.assert_allclose(forces["Push"], [0.0, -3.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(forces["Pressure"], [-200.0 * 0.2 * 0.2, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(forces["Traction"], [0.0, 0.0, 10.0 * 0.2], atol=1e-12)
    np.testing.assert_allclose(forces["Body force"], [0.0, 0.0, 2.0 * 0.2 * 0.2], atol=1e-12)
    np.testing.assert_allclose(forces["Spring"], [0.0, 40.0 * 0.2, 0.0], atol=1e-12)
    changes = {
        "Pressure": ("pressure", 500.0),
        "Push": ("force", (1.0, 0.0, 0.0)),
        "Traction": ("factor", 2.0),
    }
    for title, (name, value) in changes.items():
        panel.set_value(f"{conditions[title]['key']}/{name}", value)
    forces = {title: panel.boundary_forces().forces[conditions[title]["key"]] for title in changes}
    np.testing.assert_allclose(forces["Pressure"], [-500.0 * 0.2 * 0.2, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(forces["Push"], [1.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(forces["Traction"], [0.0, 0.0, 2.0 * 10.0 * 0.2], atol=1e-12)
    for condition in conditions.values():
        panel.set_value(f"{condition['key']}/on", False)
    assert panel.boundary_forces().forces == {}
    panel.set_value(f"{conditions['Spring']['key']}/stiffness", 80.0)
    panel.set_value(f"{conditions['Spring']['key']}/on", True)
    np.testing.assert_allclose(
        panel.boundary_forces().forces[conditions["Spring"]["key"]], [0.0, 16.0, 0.0], atol=1e-12
    )


def test_haptic_handle_is_listed_with_its_force_and_has_no_parameters():
    body = make_body(ct.Corotated())
    tool = body.haptic_tool(point=(1.0, 0.1, 0.1), stiffness=100.0)
    panel = ControlPanel(world := ct.World([body], dt=0.01, gravity=(0, 0, 0)))
    (condition,) = panel.describe()["bodies"][0]["boundaryConditions"]
    assert condition["parameters"] == []
    tool.move((1.0, 0.2, 0.1))
    world.step()
    np.testing.assert_allclose(panel.boundary_forces().forces[condition["key"]], -tool.force)
    assert panel.boundary_forces().forces[condition["key"]][1] > 0.0
