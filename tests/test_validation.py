"""What people give that is no number is refused in a sentence."""

import pytest

import continua as ct
from continua.errors import InputError
from continua.validation import isfinite, numbers, pluralize

BOX = ct.mesh.box(size=(1, 1, 1), cells=(1, 1, 1))
BALL = ct.Sphere((0, 0, 0), 1.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda bad: ct.RigidBody(BALL, mass=bad),
        lambda bad: ct.RigidBody(BALL, density=bad),
        lambda bad: ct.RigidBody(BALL, density=1.0, friction=bad),
        lambda bad: ct.Corotated(young=bad),
        lambda bad: ct.StableNeoHookean(density=bad),
        lambda bad: ct.Muscle(optimum=bad),
        lambda bad: ct.FiberReinforced(fiber=bad),
        lambda bad: ct.Newmark(beta=bad),
        lambda bad: ct.ImplicitEuler(newton=bad),
        lambda bad: ct.SoftBody(BOX, damping=bad),
        lambda bad: ct.Fluid(block=bad, particle_radius=0.1),
        lambda bad: ct.Fluid(block=((0, 0, 0), (1, 1, 1)), particle_radius=0.1, solver=bad),
        lambda bad: ct.Fluid(block=((0, 0, 0), (1, 1, 1)), particle_radius=0.1, max_particles=bad),
        lambda bad: ct.DFSPH(max_iterations=bad),
        lambda bad: ct.Sphere((0, 0, 0), bad),
        lambda bad: ct.Gear((0, 0, 0), (0, 0, 1), 1.0, 0.2, teeth=bad),
        lambda bad: ct.Wind((1, 0, 0), density=bad),
        lambda bad: ct.World([], dt=bad),
        lambda bad: ct.Voxels(bad),
    ],
)
def test_text_in_the_place_of_a_number_is_an_input_error(make):
    with pytest.raises(InputError):
        make("heavy")


def test_numbers_and_words():
    assert isfinite(2)
    assert isfinite(1.5)
    assert not isfinite(float("nan"))
    assert not isfinite(None)
    assert numbers([[1, 2]]).shape == (1, 2)
    assert numbers("x").shape == (0,)
    assert pluralize(1, "node") == "1 node"
    assert pluralize(0, "node") == "0 nodes"
    assert pluralize(2, "body", "bodies") == "2 bodies"
