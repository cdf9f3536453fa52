"""What people give that is no number is refused in a sentence."""

import numpy as np
import pytest

import continua as ct
from continua.errors import InputError
from continua.validation import (
    array,
    check_memory,
    number,
    pluralize,
    shortened,
    unit_vector,
    whole_number,
)

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
        lambda bad: ct.Gear((0, 0, 0), axis=(0, 0, 1), radius=1.0, width=0.2, teeth=bad),
        lambda bad: ct.Wind((1, 0, 0), density=bad),
        lambda bad: ct.World([], dt=bad),
        lambda bad: ct.Voxels(bad),
    ],
)
def test_text_in_the_place_of_a_number_is_an_input_error(make):
    with pytest.raises(InputError):
        make("heavy")


def refusal(check, *arguments, **options):
    with pytest.raises(InputError) as caught:
        check(*arguments, **options)
    return str(caught.value)


def test_numbers_are_converted_or_refused_with_what_is_wanted_and_given():
    assert number(np.float32(2), "x") == 2.0
    assert number(float("inf"), "x", infinite=True) == float("inf")
    assert refusal(number, "3", "the mass", above=0.0, unit="kg") == (
        "the mass must be a finite number greater than 0 kg, not '3'"
    )
    assert refusal(number, 10**400, "x", low=0.0, high=1.0) == (
        "x must be a finite number from 0 to 1, not an integer of about 401 digits"
    )
    for bad in (True, None, float("nan"), 1j, 1e300, -(10**5000), [1.0], np.zeros(3)):
        refusal(number, bad, "x")
    assert whole_number(3.0, "n") == 3
    assert refusal(whole_number, 2.5, "n", low=1, high=7) == "n must be a whole number from 1 to 7, not 2.5"


def test_arrays_are_new_finite_and_of_the_wanted_shape():
    given = np.zeros((2, 3))
    assert array(given, "x", (None, 3)) is not given
    assert array([], "x", (None, 3)).shape == (0, 3)
    assert refusal(array, np.zeros((5, 2)), "points", (None, 3)) == (
        "points must be finite numbers of shape [n, 3], not an array of shape [5, 2] and type float64"
    )
    for bad in ("abc", [[1, 2], [3]], [10**400] * 3, [1j], [None], np.array(["x"]), {1: 2}, [float("nan")]):
        refusal(array, bad, "x")
    assert unit_vector((0.0, 1e-300, 0.0), "axis").tolist() == [0.0, 1.0, 0.0]
    assert "must not be zero" in refusal(unit_vector, (0.0, 0.0, 0.0), "axis")


def test_what_was_given_is_told_in_at_most_80_characters():
    for value in (
        10**5000,
        "x" * 10**6,
        list(range(10**5)),
        np.zeros((99, 99)),
        {"a": "b" * 999},
        BOX,
        pytest,
    ):
        assert len(shortened(value)) <= 80
    assert shortened(BALL) == "a Sphere"
    assert shortened(np.float64(2.5)) == "2.5"


def test_what_does_not_fit_into_memory_is_refused():
    message = refusal(check_memory, 10**27, 100, "a mesh", "elements", "use fewer cells")
    assert "a mesh of 1e+27 elements needs about" in message


def test_counts_have_their_noun():
    assert pluralize(1, "node") == "1 node"
    assert pluralize(0, "node") == "0 nodes"
    assert pluralize(2, "body", "bodies") == "2 bodies"


@pytest.mark.parametrize(
    "make",
    [
        lambda: ct.Cylinder((0, 0, 0), 0.5, 1.0),
        lambda: ct.Gear((0, 0, 0), 1.0, 0.5),
        lambda: ct.Box((0, 0, 0), (1, 1, 1), 0.1),
        lambda: ct.Emitter((0, 0, 0), (1, 0, 0), 1.0, 0.03),
        lambda: ct.Wind((1, 0, 0), 1.2),
        lambda: ct.Plasticity(0.1, 0.5),
        lambda: ct.Contact(0.3, 0.001),
    ],
)
def test_numbers_that_are_easily_mixed_up_need_their_names(make):
    with pytest.raises(TypeError, match="positional argument"):
        make()
