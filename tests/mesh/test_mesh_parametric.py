"""Surfaces from formulas: area and volume of what is known, and refusals of what has no inside or is no formula."""

import numpy as np
import pytest

from continua import mesh
from continua.errors import InputError
from continua.formula import Formula
from continua.scene.templates import FORMULAS

TORUS = ("(0.5 + 0.2*cos(u))*cos(v)", "0.2*sin(u)", "(0.5 + 0.2*cos(u))*sin(v)")


def torus(cells):
    return mesh.parametric(*TORUS, u=(0, 2 * np.pi), v=(0, 2 * np.pi), cells=cells)


def test_ring_closes_along_both_seams_and_converges_to_pappus():
    errors = []
    for n in (12, 24):
        ring = torus((n, 2 * n))
        assert ring.node_count == 2 * n * n
        assert ring.is_closed
        assert ring.is_oriented
        assert ring.node_count - len(ring.edges) + ring.triangle_count == 0  # Euler number of a torus
        errors.append(2 * np.pi**2 * 0.5 * 0.2**2 - ring.volume)
    assert 3.7 < errors[0] / errors[1] < 4.3  # second order
    assert errors[1] > 0.0


def test_poles_become_points_and_the_outside_is_outside():
    inward = mesh.parametric(
        "2*sin(pi*u)*cos(2*pi*v)", "2*cos(pi*u)", "2*sin(pi*u)*sin(2*pi*v)", cells=(40, 80)
    )
    np.testing.assert_allclose(inward.volume, 32 / 3 * np.pi, rtol=4e-3)
    assert inward.node_count == 2 + 39 * 80
    np.testing.assert_allclose(np.linalg.norm(inward.points, axis=1), 2.0, rtol=1e-12)
    assert (np.einsum("ij,ij->i", inward.normals, inward.points) > 0).all()


def test_functions_and_formulas_give_the_same_bits():
    functions = (
        lambda u, v: (0.5 + 0.2 * np.cos(u)) * np.cos(v),
        lambda u, v: 0.2 * np.sin(u),
        lambda u, v: (0.5 + 0.2 * np.cos(u)) * np.sin(v),
    )
    other = mesh.parametric(*functions, u=(0, 2 * np.pi), v=(0, 2 * np.pi), cells=(8, 12))
    np.testing.assert_array_equal(other.points, torus((8, 12)).points)


@pytest.mark.parametrize("name", FORMULAS)
def test_what_the_studio_offers_has_an_inside(name):
    given = FORMULAS[name]
    surface = mesh.parametric(given["x"], given["y"], given["z"], cells=given["cells"])
    assert surface.volume > 0.05


def test_what_has_no_inside_is_refused_unless_wanted():
    with pytest.raises(InputError, match="open: 96 edges"):
        mesh.parametric("cos(2*pi*v)", "u", "sin(2*pi*v)")
    tube = mesh.parametric("cos(2*pi*v)", "u", "sin(2*pi*v)", closed=False)
    assert len(tube.open_edges) == 96
    with pytest.raises(InputError, match="no inside"):
        mesh.parametric("cos(2*pi*u)*cos(2*pi*v)", "0", "cos(2*pi*u)*sin(2*pi*v)*0 + sin(2*pi*u)")
    with pytest.raises(InputError, match=r"y\(u, v\) is inf at u = 0"):
        mesh.parametric("u", "1/u", "v")
    with pytest.raises(InputError, match="range of v"):
        mesh.parametric("u", "v", "v", v=(1, 1))


def test_a_formula_is_worked_out_as_python_would():
    import math

    text = "-2**2 + 3*(u - v)/4 - atan2(u, v)*exp(-v) + max(u, v)^2 + abs(-u) - log(e) + sqrt(u)"
    u, v = 0.7, 1.3
    expected = eval(
        text.replace("^", "**"), {**vars(math), "max": max, "abs": abs, "u": u, "v": v}
    )  # the test's own text
    assert Formula(text, ("u", "v"))(u=u, v=v) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').getcwd()", "u.real", "(lambda: u)()", "[u]", "u if v else 1", "print(u)", "u; v", "u := 1",
        "f'{u}'", "'a'", "True", "u and v", "u < v", "u @ v", "u // v", "sin(u, v)", "sin(x=u)", "sin(*u)", "w", "",
        "(" * 200, "u" + "+u" * 300,
    ],
)  # fmt: skip
def test_nothing_else_is_a_formula(text):
    with pytest.raises(InputError):
        Formula(text, ("u", "v"))


def test_huge_numbers_take_no_time():
    assert np.isinf(Formula("9**9**9**9", ("u",))(u=1.0))
    assert np.isinf(Formula("1" + "0" * 450, ("u",))(u=1.0))
