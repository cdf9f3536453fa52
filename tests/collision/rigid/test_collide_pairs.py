"""Contact points of rigid primitives against brute force: distances by optimisation and by dense sampling."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from continua.collision.rigid.narrow_phase import MAX_CONTACTS_PER_PAIR, collide_pairs
from continua.collision.rigid.sweep_and_prune import find_overlapping_pairs, swept_boxes
from continua.geometry.primitive_kernels import BOX, CAPSULE, CYLINDER, PLANE, SPHERE

_CORE = {SPHERE: 0, CAPSULE: 1, BOX: 3}


def _meet(kinds, sizes, positions, turns, reach=10.0):
    pairs = np.array([[0, 1]], np.int32)
    counts, gaps = np.zeros(1, np.int32), np.zeros((1, MAX_CONTACTS_PER_PAIR))
    places, normals = np.zeros((1, MAX_CONTACTS_PER_PAIR, 3)), np.zeros((1, MAX_CONTACTS_PER_PAIR, 3))
    features = np.zeros((1, MAX_CONTACTS_PER_PAIR), np.int64)
    collide_pairs.variant(False)(
        pairs, np.array([reach]), np.array(kinds, np.int32), np.array(sizes, float), np.array(positions, float),
        np.array(turns, float).reshape(2, 9), counts, places, normals, gaps, features,
    )  # fmt: skip
    k = counts[0]
    return places[0, :k], normals[0, :k], gaps[0, :k]


def _closest(kinds, sizes, positions, turns):
    """Return the distance of two convex shapes: cores by bounded optimisation, less their radii."""

    def box(kind, size):
        if kind == SPHERE:
            return np.zeros(3)
        return np.array([0.0, 0.0, size[1]]) if kind == CAPSULE else np.array(size)

    half = np.concatenate([box(k, s) for k, s in zip(kinds, sizes, strict=True)])
    turns = [np.array(t).reshape(3, 3) for t in turns]

    def gap(p):
        d = positions[0] + turns[0] @ p[:3] - positions[1] - turns[1] @ p[3:]
        return d @ d, 2.0 * np.concatenate([turns[0].T @ d, -turns[1].T @ d])

    best = minimize(gap, np.zeros(6), jac=True, bounds=list(zip(-half, half, strict=True)), method="L-BFGS-B",
                    options={"ftol": 1e-16, "gtol": 1e-12})  # fmt: skip
    radius = sum(s[0] for k, s in zip(kinds, sizes, strict=True) if k in (SPHERE, CAPSULE))
    return np.sqrt(best.fun) - radius


def _random(rng, kind):
    if kind == SPHERE:
        return [rng.uniform(0.2, 0.6), 0.0, 0.0]
    if kind == CAPSULE:
        return [rng.uniform(0.1, 0.3), rng.uniform(0.3, 0.8), 0.0]
    return rng.uniform(0.2, 0.7, 3).tolist()


@pytest.mark.parametrize(
    "kinds", [(SPHERE, SPHERE), (SPHERE, BOX), (SPHERE, CAPSULE), (CAPSULE, CAPSULE), (BOX, CAPSULE)]
)
def test_gaps_of_round_pairs_are_distances(kinds):
    rng = np.random.default_rng(7)
    for _ in range(60):
        sizes = [_random(rng, kind) for kind in kinds]
        turns = [Rotation.random(random_state=rng).as_matrix() for _ in kinds]
        positions = [np.zeros(3), rng.normal(size=3) * 1.2]
        expected = _closest(kinds, sizes, positions, turns)
        radius = sum(s[0] for k, s in zip(kinds, sizes, strict=True) if k in (SPHERE, CAPSULE))
        if expected < -0.9 * radius:
            continue  # the cores overlap: no distance to compare with
        _, normals, gaps = _meet(kinds, sizes, positions, turns)
        assert gaps.min() == pytest.approx(expected, abs=2e-6)
        deepest = normals[gaps.argmin()]
        assert deepest @ (positions[0] - positions[1]) > -1e-9 or expected < 0.0


def test_boxes_report_an_overlap_exactly_when_they_overlap():
    rng = np.random.default_rng(3)
    for _ in range(60):
        sizes = [_random(rng, BOX), _random(rng, BOX)]
        turns = [Rotation.random(random_state=rng).as_matrix() for _ in range(2)]
        positions = [np.zeros(3), rng.normal(size=3)]
        distance = _closest((BOX, BOX), sizes, positions, turns)
        _, _, gaps = _meet((BOX, BOX), sizes, positions, turns)
        if distance > 1e-6:
            assert not len(gaps) or gaps.min() > -1e-9
        else:
            assert gaps.min() <= 1e-9


def test_overlapping_boxes_separate_along_their_normal():
    rng = np.random.default_rng(4)
    for _ in range(60):
        sizes = [_random(rng, BOX), _random(rng, BOX)]
        turns = [Rotation.random(random_state=rng).as_matrix() for _ in range(2)]
        positions = [np.zeros(3), 0.5 * rng.normal(size=3)]
        _, normals, gaps = _meet((BOX, BOX), sizes, positions, turns)
        if not len(gaps) or gaps.min() > -1e-3:
            continue
        away = positions[0] + normals[gaps.argmin()] * (-gaps.min() + 1e-3)
        assert _closest((BOX, BOX), sizes, [away, positions[1]], turns) > 0.0


def test_a_face_on_a_face_has_its_four_corners():
    places, normals, gaps = _meet(
        (BOX, BOX), [[0.5, 0.5, 0.5], [1.0, 0.5, 1.0]], [[0, 1.0, 0], [0, 0, 0]], [np.eye(3)] * 2, 0.1
    )
    assert len(places) == 4
    assert normals == pytest.approx(np.tile([0.0, 1.0, 0.0], (4, 1)))
    assert gaps == pytest.approx(np.zeros(4), abs=1e-12)
    assert sorted(map(tuple, np.round(places[:, [0, 2]], 9))) == [
        (-0.5, -0.5),
        (-0.5, 0.5),
        (0.5, -0.5),
        (0.5, 0.5),
    ]


def test_a_lying_cylinder_touches_a_plane_along_its_lowest_line():
    rng = np.random.default_rng(1)
    flat = Rotation.from_rotvec([-np.pi / 2, 0, 0]).as_matrix()  # own z to y: the plane's free side
    for _ in range(50):
        roll = Rotation.from_rotvec([0.0, 0.0, rng.uniform(0, 6)]).as_matrix()
        lying = Rotation.from_rotvec([0.0, rng.uniform(0, 6), 0.0]).as_matrix() @ roll
        places, normals, gaps = _meet(
            (CYLINDER, PLANE), [[0.3, 0.8, 0], [0, 0, 0]], [[0, 0.29, 0], [0, 0, 0]], [lying, flat], 0.01
        )
        assert gaps.min() == pytest.approx(-0.01, abs=1e-12)
        assert (np.abs(gaps + 0.01) < 1e-12).sum() == 2  # one at each end
        assert normals == pytest.approx(np.tile([0.0, 1.0, 0.0], (len(places), 1)), abs=1e-12)


def test_the_sweep_finds_the_pairs_of_a_loop():
    rng = np.random.default_rng(0)
    n = 300
    X = rng.uniform(0, 5, (n, 3))
    size = rng.uniform(0.05, 0.4, (n, 3))
    R = Rotation.random(n, random_state=rng).as_matrix().reshape(n, 9)
    kind = rng.integers(0, 4, n).astype(np.int32)
    V = np.zeros((n, 6))
    low, high = np.empty((n, 3)), np.empty((n, 3))
    swept_boxes(kind, size, X, R, V, np.ones(n), np.zeros(n), 0.01, low, high)
    moves = rng.uniform(size=n) < 0.7
    pairs = np.zeros((20000, 2), np.int32)
    order = np.argsort(low[:, 0], kind="stable")
    count = find_overlapping_pairs(
        order,
        0,
        low,
        high,
        moves,
        np.zeros(n, np.int32),
        np.ones((1, 1), bool),
        kind,
        np.zeros(0, np.int64),
        pairs,
    )
    found = {tuple(sorted(p)) for p in pairs[:count].tolist()}
    slow = {
        (i, j) for i in range(n) for j in range(i + 1, n)
        if (moves[i] or moves[j]) and (low[i] <= high[j]).all() and (low[j] <= high[i]).all()
    }  # fmt: skip
    assert found == slow


def _support(kind, size, turn, directions):
    """Return how far a box or a cylinder reaches along directions [n, 3]."""
    own = np.abs(directions @ np.array(turn).reshape(3, 3))
    if kind == BOX:
        return own @ np.array(size)
    return size[0] * np.hypot(own[:, 0], own[:, 1]) + size[1] * own[:, 2]


def _separation_by_force(kinds, sizes, positions, turns):
    """Return the signed distance of two convex shapes: the largest separation over very many directions, refined."""

    def separation(n):
        along = n @ (positions[0] - positions[1])
        return along - sum(_support(k, s, t, n) for k, s, t in zip(kinds, sizes, turns, strict=True))

    count = 20000
    height = 1 - (2 * np.arange(count) + 1) / count
    turn, flat = np.arange(count) * np.pi * (3 - np.sqrt(5)), np.sqrt(1 - height**2)
    directions = np.stack([flat * np.cos(turn), flat * np.sin(turn), height], axis=1)
    values = separation(directions)
    best, width = directions[np.argsort(values)[-8:]], 0.03
    rng = np.random.default_rng(0)
    for _ in range(30):
        near = (best[:, None] + width * rng.normal(size=(len(best), 200, 3))).reshape(-1, 3)
        near = np.concatenate([near / np.linalg.norm(near, axis=1, keepdims=True), best])
        best, width = near[np.argsort(separation(near))[-8:]], 0.65 * width
    return float(separation(best).max())


@pytest.mark.parametrize("kinds", [(CYLINDER, CYLINDER), (BOX, CYLINDER)])
def test_gaps_of_cylinders_are_those_of_very_many_directions(kinds):
    rng = np.random.default_rng(11)
    apart = near = 0
    for _ in range(120):
        sizes = [rng.uniform(0.2, 0.7, 3).tolist() for _ in kinds]
        turns = [Rotation.random(random_state=rng).as_matrix() for _ in kinds]
        away = rng.normal(size=3)
        positions = [np.zeros(3), away / np.linalg.norm(away) * rng.uniform(0.6, 1.6)]
        expected = _separation_by_force(kinds, sizes, positions, turns)
        if expected < -0.1:
            continue  # so deep in each other that several ways out are as good
        _, _, gaps = _meet(kinds, sizes, positions, turns)
        assert gaps.min() == pytest.approx(expected, abs=2e-4)
        apart, near = apart + (expected > 0.0), near + (expected < 0.0)
    assert apart > 20
    assert near > 5
