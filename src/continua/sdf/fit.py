"""Fitting a distance field: an octree with the fewest coefficients for a given error."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh import SurfaceMesh
from continua.sdf import fit_kernels
from continua.sdf.continuity import CellFaces, smooth
from continua.sdf.exact import ExactDistance, exact
from continua.sdf.field import DistanceField, FieldTable, FitReport, evaluate
from continua.sdf.file import mesh_hash
from continua.sdf.octree import Octree, RefinementChoice, RootCell, Sampler
from continua.sdf.sampling_rules import coefficient_count, legendre_to_monomial
from continua.validation import array, function, number, whole_number
from continua.validation import choice as check_choice

__all__ = ["fit"]

_SMALLEST = 1e-13  # squared error at the level of single precision
_MOST_CELLS = 2_000_000  # sampled cells, about 2 GB
_SLOPE = 0.55  # the error decreases approximately as this power of the cost of a coefficient
_TESTS = 8  # points per cell at which the result is compared with exact distances
_TRIES = 6

Progress = Callable[[float, str], None]
Function = Callable[[NDArray[np.float64]], ArrayLike]


def fit(
    source: SurfaceMesh | ExactDistance | Function,
    *,
    tolerance: float = 1e-6,
    near: float = 0.0,
    continuity: float = 0.0,
    bounds: ArrayLike | None = None,
    margin: float = 0.1,
    cells: int = 4,
    sign: str = "normals",
    progress: Progress | None = None,
) -> DistanceField:
    """Fit a distance field by polynomials on the cells of an octree (Koschier 2016).

    Lengths are measured in half the longest side of the body's bounds, so that `tolerance` means the same for bodies of
    all sizes: the root mean square error is about sqrt(tolerance / 8) times half that side.

    Args:
        source: A surface, its exact distance, or a function from points [n, 3] [m] to values [n] [m].
        tolerance: Wanted integral of the squared error over the box, in those units, weighted by `near`.
        near: How much less errors count away from the surface: exp(-near |distance| / diagonal of the box); 0 for not.
        continuity: Weight beta of the fit against jumps between cells; smaller is smoother, 0 leaves the jumps (they
            are as large as the error). Good values are 3 to 10.
        bounds: Lowest and highest corner of the body [m], shape [2, 3]; needed for a function.
        margin: By how much the box is larger than the body on each side, in half its longest side.
        cells: Base cells along the longest side.
        sign: For a surface, "normals" or "winding", see `exact`.
        progress: Called now and then with the part done, from 0 to 1, and what is done.

    Returns:
        The field. Its `report` states the error against exact samples; the tolerance is met.
    """
    _check_numbers(tolerance, near, continuity, margin, cells)
    check_choice(sign, "sign", ("normals", "winding"))
    if progress is not None:
        function(progress, "progress", "a function of the part done and a text")
    if isinstance(source, SurfaceMesh):
        source = exact(source, sign=sign)
    frame = _frame(source, bounds, margin, cells)
    report = progress or (lambda _part, _text: None)
    tree = Octree(frame, _sampler(source), near)
    goal = 0.9 * tolerance
    for _ in range(_TRIES):
        choice = _grow(tree, goal, report)
        report(0.95, "checking against exact distances")
        table = _table(tree, choice, continuity)
        facts = _measure(table, tree, choice, source)
        error = facts["squared_error"]
        if error <= tolerance:
            break
        goal *= 0.8 * tolerance / error
    else:
        raise InputError(
            f"the tolerance {tolerance:g} is not met: the squared error stays at {error:.3g}; the distance may jump"
            " (an open or self-intersecting surface); use a larger tolerance"
        )
    report(1.0, "done")
    found = FitReport(tolerance=tolerance, near=near, continuity=continuity, samples=tree.samples, **facts)
    return DistanceField(table, found, mesh_hash(source.mesh) if isinstance(source, ExactDistance) else "")


def _check_numbers(tolerance: float, near: float, continuity: float, margin: float, cells: int) -> None:
    number(tolerance, "the tolerance of a fit", low=_SMALLEST)
    for name, value in (("near", near), ("continuity", continuity), ("margin", margin)):
        number(value, name, low=0.0)
    whole_number(cells, "the cells of a fit", low=1, high=64)


def _frame(source: ExactDistance | Function, bounds: ArrayLike | None, margin: float, cells: int) -> RootCell:
    """Return the box of the field: cubes around the centre of the body."""
    function(source, "what a distance is fitted to", "a surface or a function")
    if bounds is None:
        if not isinstance(source, ExactDistance):
            raise InputError("the fit of a function needs bounds: the lowest and highest corner of the body")
        bounds = source.bounds
    box = array(bounds, "the bounds of a fit", (2, 3))
    if not (box[1] >= box[0]).all():
        raise InputError("bounds must be the lowest and the highest corner, two rows of three finite numbers")
    scale = 0.5 * float((box[1] - box[0]).max())
    if not scale > 0.0:
        raise InputError("bounds must have some extent")
    extent = box[1] - box[0] + 2.0 * margin * scale
    size = float(extent.max()) / cells
    grid = np.maximum(np.ceil(extent / size - 1e-9), 1.0).astype(np.int32)
    return RootCell(box.mean(axis=0) - 0.5 * size * grid, size, grid, scale)


def _sampler(source: ExactDistance | Function) -> Sampler:
    if isinstance(source, ExactDistance) and source.sign == "normals":

        def sample_mesh(
            centers: NDArray[np.float64], halves: NDArray[np.float64], places: NDArray[np.float64]
        ) -> NDArray[np.float64]:
            values = np.empty((len(centers), *[len(places)] * 3))
            fit_kernels.sample_cells.variant(len(centers) >= 8)(source.tree, centers, halves, places, values)
            return values

        return sample_mesh

    def sample(
        centers: NDArray[np.float64], halves: NDArray[np.float64], places: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        grid = np.stack(np.meshgrid(places, places, places, indexing="ij"), axis=-1)
        points = centers[:, None, None, None, :] + halves[:, None, None, None, None] * grid
        return _evaluate(source, points.reshape(-1, 3)).reshape(points.shape[:-1])

    return sample


def _evaluate(source: Function, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of a function of points, checked."""
    return array(source(points), "what the function of a distance returns", (len(points),))


def _grow(tree: Octree, goal: float, report: Progress) -> RefinementChoice:
    """Refine until the estimated error is within the goal; return the cheapest choice that is."""
    choice = tree.choose(0.0)
    start = max(choice.error, 10.0 * goal)
    price = start / max(choice.size, 1)
    dear = price
    while True:
        while len(worth := tree.worth_splitting(price)):
            if len(tree.levels) + 8 * len(worth) > _MOST_CELLS:
                raise InputError(
                    f"the tolerance needs more than {_MOST_CELLS:,} cells; use a larger one, or near > 0"
                )
            tree.split(worth)
        choice = tree.choose(price)
        done = np.log(start / max(choice.error, goal)) / np.log(start / goal)
        report(
            0.05 + 0.85 * float(done), f"{len(tree.levels):,} cells, {tree.samples / 1e6:.1f} million samples"
        )
        if choice.error <= goal:
            break
        dear = price
        price *= min(0.8, max(1.0 / 3.0, (goal / choice.error) ** (1.0 / _SLOPE)))
        if price < 1e-16 * goal:
            raise InputError("the tolerance cannot be met; use a larger one")
    for _ in range(12):
        middle = np.sqrt(price * dear)
        trial = tree.choose(middle)
        if trial.error <= goal:
            price, choice = middle, trial
        else:
            dear = middle
    return choice


def _table(tree: Octree, choice: RefinementChoice, continuity: float) -> FieldTable:
    """Put the chosen leaves together."""
    frame = tree.frame
    nodes, order = tree.numbered(choice.leaves)
    choice = choice._replace(leaves=choice.leaves[order], degrees=choice.degrees[order])
    coefficients, starts = tree.coefficients(choice)
    ends = starts + coefficient_count(choice.degrees)
    table = FieldTable(
        np.array([*frame.lower, 1.0 / frame.size]),
        frame.grid.copy(),
        nodes,
        ends.astype(np.int32),
        choice.degrees.astype(np.uint8),
        np.empty(len(coefficients), np.float32),
    )
    if continuity > 0.0:
        faces = CellFaces(table, *tree.geometry(choice.leaves), frame.scale)
        coefficients = smooth(faces, coefficients, continuity)
    result = np.empty_like(coefficients)
    to_powers = legendre_to_monomial(int(choice.degrees.max()))
    fit_kernels.change_basis.variant(len(starts) > 64)(to_powers, starts, table.degrees, coefficients, result)
    table.coefficients[:] = result
    return table


def _measure(table: FieldTable, tree: Octree, choice: RefinementChoice, source: Function) -> dict[str, float]:
    """Compare with exact distances at random places in every cell, and return the errors of a `FitReport`."""
    scale = tree.frame.scale
    centers, halves = tree.geometry(choice.leaves)
    count = max(_TESTS, -(-20_000 // len(halves)))
    shifts = np.random.default_rng(0).uniform(-1.0, 1.0, (len(halves), count, 3))
    points = (centers[:, None, :] + halves[:, None, None] * shifts).reshape(-1, 3)
    exact = _evaluate(source, points).reshape(len(halves), count)
    errors = evaluate(table, points).reshape(exact.shape) - exact
    volumes = (2.0 * halves / scale) ** 3
    squares = (errors / scale) ** 2
    shares = np.broadcast_to(volumes[:, None], errors.shape)
    close = np.abs(exact) < 0.05 * scale
    near = (shares * squares)[close].sum() / max(float(shares[close].sum()), 1e-300)
    return {
        "squared_error": float((volumes * (tree.weights(exact) * squares).mean(axis=1)).sum()),
        "rms_error": scale * float(np.sqrt((volumes * squares.mean(axis=1)).sum() / volumes.sum())),
        "max_error": float(np.abs(errors).max()),
        "near_error": scale * float(np.sqrt(near)),
        "scale": scale,
    }
