"""Elements that lock say so: a nearly incompressible cantilever of linear tetrahedra bends far too little."""

from __future__ import annotations

import warnings

import pytest

import continua as ct


def _deflection(poisson: float, order: int) -> float:
    beam = ct.SoftBody(
        ct.mesh.box((1.0, 0.25, 0.25), (8, 2, 2)),
        material=ct.Linear(young=1e6, poisson=poisson, density=1000.0),
        order=order,
        name="beam",
    )
    beam.pin(where=lambda x: x[:, 0] < 1e-9)
    world = ct.World([beam], gravity=(0.0, -1e-3, 0.0))
    world.settle()
    return float((beam.rest_positions - beam.positions)[:, 1].max())


def test_locking_is_reported_where_it_happens() -> None:
    """Between 0.45 and 0.499 the bending stiffness of elements of order 1 triples, of order 2 by a tenth."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        soft, exact_soft = _deflection(0.45, 1), _deflection(0.45, 2)
        exact = _deflection(0.499, 2)
    with pytest.warns(UserWarning, match=r"elements of body 'beam' lock: with a Poisson's ratio of 0\.499"):
        locked = _deflection(0.499, 1)
    assert exact == pytest.approx(exact_soft, rel=0.1)
    assert locked / exact < 0.4 * soft / exact_soft


def test_a_part_that_locks_is_reported() -> None:
    """The largest ratio of all parts counts."""
    rubber = ct.Corotated(young=1e5, poisson=0.495)
    body = ct.SoftBody(
        ct.mesh.box((1.0, 1.0, 1.0), (2, 2, 2)), material=ct.Corotated(poisson=0.3),
        parts=[(lambda x: x[:, 0] > 0.5, rubber)], name="half",
    )  # fmt: skip
    with pytest.warns(UserWarning, match="body 'half' lock"):
        ct.World([body])
