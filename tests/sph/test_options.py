"""Options of fluids that cannot work get a sentence."""

import pytest

import continua as ct
from continua.errors import InputError
from continua.scene import parse_scene

CORNERS = ((0.0, 0.0, 0.0), (0.2, 0.2, 0.2))


def water(**options):
    return ct.Fluid(CORNERS, particle_radius=0.01, name="water", **options)


def test_a_courant_number_above_one_is_refused():
    with pytest.raises(InputError, match="cfl must be at most 1, not 2"):
        water(cfl=2.0)


def test_a_sub_step_in_which_particles_fall_through_each_other_is_refused():
    with pytest.raises(InputError, match=r"max_dt of 'water' is 0.5 s.* use at most 0.045 s"):
        ct.World([water(max_dt=0.5)])
    ct.World([water(max_dt=0.045)])
    ct.World([water(max_dt=0.5)], gravity=(0, 0, 0))
    fine = ct.Fluid(points=[[0.0, 0.0, 0.0]], particle_radius=1e-5)
    ct.World([fine])  # the default is never refused


def test_a_fluid_without_walls_says_so():
    fluid = water()
    ct.World([fluid])
    assert "falls for ever" in fluid.notes[0]
    for options in ({"gravity": (0, 0, 0)}, {"colliders": [ct.Plane((0, 0, 0), (0, 1, 0))]}):
        fluid = water()
        ct.World([fluid], **options)
        assert fluid.notes == ()


def test_errors_of_a_scene_name_the_body_the_collider_and_the_line():
    text = """bodies:
  - {type: fluid, name: oil, particle_radius: 0.02, block: {min: [0, 0, 0], max: [0.2, 0.2, 0.2]}}
  - type: fluid
    name: water
    particle_radius: 0.02
    block: {min: [1, -0.5, 0], max: [1.2, -0.3, 0.2]}
colliders:
  - {type: sphere, center: [5, 5, 5], radius: 0.5}
  - {type: plane}
"""
    with pytest.raises(InputError) as caught:
        parse_scene(text, label="scene.yaml").build()
    assert str(caught.value).startswith("scene.yaml:3: bodies[1]: ")
    assert "'water' start inside a plane (collider 2)" in str(caught.value)
    with pytest.raises(InputError, match=r"a plane \(collider 'floor'\)"):
        parse_scene(text.replace("{type: plane}", "{type: plane, name: floor}")).build()
