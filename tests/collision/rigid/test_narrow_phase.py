"""Thousands of random pairs of primitives against brute force: the largest separation over very many directions."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from continua.collision.rigid.narrow_phase import MAX_CONTACTS_PER_PAIR, collide_pairs
from continua.geometry.primitive_kernels import BOX, CAPSULE, CYLINDER, INVERTED_SPHERE, PLANE, SPHERE

COUNT = 400
NAMES = {
    SPHERE: "ball",
    BOX: "box",
    CAPSULE: "rod",
    CYLINDER: "cylinder",
    PLANE: "plane",
    INVERTED_SPHERE: "hollow",
}
PAIRS = [(a, b) for a in (SPHERE, BOX, CAPSULE, CYLINDER) for b in (SPHERE, BOX, CAPSULE, CYLINDER) if a <= b]


def _meet(kinds, sizes, places, turns, reach):
    n = len(places[0])
    pairs = np.stack([np.arange(n), np.arange(n) + n], axis=1).astype(np.int32)
    counts, gaps = np.zeros(n, np.int32), np.zeros((n, MAX_CONTACTS_PER_PAIR))
    points, normals = np.zeros((n, MAX_CONTACTS_PER_PAIR, 3)), np.zeros((n, MAX_CONTACTS_PER_PAIR, 3))
    collide_pairs.variant(False)(
        pairs, np.full(n, reach), np.repeat(kinds, n).astype(np.int32), np.concatenate(sizes), np.concatenate(places),
        np.concatenate(turns).reshape(-1, 9), counts, points, normals, gaps,
        np.zeros((n, MAX_CONTACTS_PER_PAIR), np.int64),
    )  # fmt: skip
    gaps[np.arange(MAX_CONTACTS_PER_PAIR) >= counts[:, None]] = np.inf
    return counts, points, normals, gaps


def _sizes(rng, kind, n):
    if kind in (SPHERE, INVERTED_SPHERE):
        return np.stack([rng.uniform(0.2, 0.6, n), np.zeros(n), np.zeros(n)], axis=1)
    if kind in (CAPSULE, CYLINDER):
        return np.stack([rng.uniform(0.1, 0.4, n), rng.uniform(0.2, 0.8, n), np.zeros(n)], axis=1)
    return rng.uniform(0.2, 0.7, (n, 3))


def _support(kind, size, n):
    """Return how far shapes reach along directions n [k, m, 3] in their own axes."""
    if kind == SPHERE:
        return np.broadcast_to(size[:, None, 0], n.shape[:2])
    if kind == BOX:
        return np.einsum("kmd,kd->km", np.abs(n), size)
    if kind == CAPSULE:
        return size[:, None, 0] + size[:, None, 1] * np.abs(n[..., 2])
    return size[:, None, 1] * np.abs(n[..., 2]) + size[:, None, 0] * np.hypot(n[..., 0], n[..., 1])


def _separation(kinds, sizes, places, turns, n):
    along = np.einsum("kmd,kd->km", n, places[0] - places[1])
    return along - sum(_support(kinds[i], sizes[i], n @ turns[i]) for i in range(2))


def _brute(kinds, sizes, places, turns, rng, rounds=40):
    """Return signed distances: the largest separation over directions, spread evenly and then ever nearer the best."""
    k, m = len(places[0]), 400
    i = np.arange(m) + 0.5
    z, turn = 1.0 - 2.0 * i / m, np.pi * (1.0 + 5.0**0.5) * i
    even = np.stack([np.sqrt(1 - z * z) * np.cos(turn), np.sqrt(1 - z * z) * np.sin(turn), z], axis=1)
    all_ = _separation(kinds, sizes, places, turns, np.broadcast_to(even, (k, m, 3)))
    best, n = all_.max(axis=1), even[all_.argmax(axis=1)]
    width = 0.3
    for r in range(rounds):
        trial = n[:, None] + width * rng.normal(size=(k, 40, 3))
        trial /= np.linalg.norm(trial, axis=-1, keepdims=True)
        found = _separation(kinds, sizes, places, turns, trial)
        j = found.argmax(axis=1)
        value = found[np.arange(k), j]
        n = np.where((value > best)[:, None], trial[np.arange(k), j], n)
        best = np.maximum(best, value)
        width *= 0.7 if r > 3 else 1.0
    return best


def _close(kinds, seed, low, high):
    """Return random pairs that are moved along a line until their distance lies between `low` and `high`."""
    rng = np.random.default_rng(seed)
    sizes = [_sizes(rng, kind, COUNT) for kind in kinds]
    turns = [Rotation.random(COUNT, random_state=rng).as_matrix() for _ in kinds]
    way = rng.normal(size=(COUNT, 3))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    wanted = rng.uniform(low, high, COUNT)
    near, far = np.zeros(COUNT), np.full(COUNT, 4.0)
    for _ in range(10):
        middle = 0.5 * (near + far)
        places = [np.zeros((COUNT, 3)), way * middle[:, None]]
        less = _brute(kinds, sizes, places, turns, rng, rounds=10) < wanted
        near, far = np.where(less, middle, near), np.where(less, far, middle)
    places = [np.zeros((COUNT, 3)), way * far[:, None]]
    return sizes, places, turns, _brute(kinds, sizes, places, turns, rng)


@pytest.mark.parametrize("kinds", PAIRS, ids=lambda k: "-".join(NAMES[i] for i in k))
def test_gaps_of_close_pairs_are_their_distances(kinds):
    sizes, places, turns, wanted = _close(kinds, 11, -0.02, 0.02)
    reach = 0.06
    counts, _, normals, gaps = _meet(kinds, sizes, places, turns, reach)
    assert (counts > 0).mean() > 0.99  # two corners that pass each other have no common face yet
    hit = counts > 0
    error = (gaps.min(axis=1) - wanted)[hit]
    # the search by directions is itself good to a millimetre; points on rims know a cylinder less well
    exact = CYLINDER not in kinds or kinds[0] in (SPHERE, CAPSULE)
    assert np.abs(np.quantile(error, [0.01, 0.5])).max() < (2e-3 if exact else 8e-3)
    assert np.quantile(np.abs(error), 0.99) < (4e-3 if exact else 2e-2)
    # what overlaps is told so, and what is apart is not
    least = gaps.min(axis=1)
    off = 3e-3 if exact else 1.5e-2
    assert not (hit & (wanted < -off) & (least > 0.0)).any()
    assert not (hit & (wanted > off) & (least < -1e-9)).any()
    assert not (~hit & (wanted < -1e-3)).any()
    # normals point from the second piece to the first, and lead out of an overlap
    k = gaps[hit].argmin(axis=1)
    normal = normals[hit][np.arange(hit.sum()), k]
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, atol=1e-9)
    moved = [places[0][hit] + (0.05 - least[hit])[:, None] * normal, places[1][hit]]
    rng = np.random.default_rng(1)
    apart = _brute(kinds, [s[hit] for s in sizes], moved, [t[hit] for t in turns], rng)
    assert (apart > 0.0).mean() > 0.99


@pytest.mark.parametrize("kind", [SPHERE, BOX, CAPSULE, CYLINDER], ids=NAMES.get)
def test_gaps_to_planes_are_the_distances_of_the_lowest_point(kind):
    rng = np.random.default_rng(2)
    n = 1500
    sizes = [_sizes(rng, kind, n), np.zeros((n, 3))]
    turns = [Rotation.random(n, random_state=rng).as_matrix() for _ in range(2)]
    up = turns[1][:, :, 2]
    places = [rng.normal(size=(n, 3)), rng.normal(size=(n, 3))]
    lowest = np.einsum("kd,kd->k", up, places[0] - places[1])
    lowest -= _support(kind, sizes[0], np.einsum("kji,kj->ki", turns[0], up)[:, None])[:, 0]
    counts, _, normals, gaps = _meet((kind, PLANE), sizes, places, turns, 10.0)
    near = lowest < 9.0
    assert (counts[near] > 0).all()
    np.testing.assert_allclose(gaps.min(axis=1)[near], lowest[near], atol=1e-9)
    np.testing.assert_allclose(normals[near, 0], up[near], atol=1e-12)


@pytest.mark.parametrize("kind", [SPHERE, BOX, CAPSULE], ids=NAMES.get)
def test_gaps_in_an_inverted_sphere_are_those_of_the_outermost_point(kind):
    rng = np.random.default_rng(3)
    n = 1500
    sizes = [_sizes(rng, kind, n), np.stack([rng.uniform(1.5, 3.0, n), np.zeros(n), np.zeros(n)], axis=1)]
    turns = [Rotation.random(n, random_state=rng).as_matrix(), np.tile(np.eye(3), (n, 1, 1))]
    places = [0.5 * rng.normal(size=(n, 3)), np.zeros((n, 3))]
    if kind == SPHERE:
        corners, radius = np.zeros((n, 1, 3)), sizes[0][:, 0]
    elif kind == CAPSULE:
        corners = np.array([[[0, 0, -1.0], [0, 0, 1.0]]]) * sizes[0][:, None, 1:2]
        radius = sizes[0][:, 0]
    else:
        signs = np.stack(np.meshgrid([-1, 1], [-1, 1], [-1, 1]), axis=-1).reshape(-1, 3)
        corners, radius = signs[None] * sizes[0][:, None], np.zeros(n)
    world = np.einsum("kij,kmj->kmi", turns[0], corners) + places[0][:, None]
    wanted = sizes[1][:, 0] - radius - np.linalg.norm(world, axis=2).max(axis=1)
    counts, _, _, gaps = _meet((kind, INVERTED_SPHERE), sizes, places, turns, 10.0)
    assert (counts > 0).all()
    np.testing.assert_allclose(gaps.min(axis=1), wanted, atol=1e-12)


def test_deep_overlaps_are_always_reported():
    for kinds in PAIRS:
        rng = np.random.default_rng(sum(kinds))
        sizes = [_sizes(rng, kind, COUNT) for kind in kinds]
        turns = [Rotation.random(COUNT, random_state=rng).as_matrix() for _ in kinds]
        places = [np.zeros((COUNT, 3)), 0.4 * rng.normal(size=(COUNT, 3))]
        wanted = _brute(kinds, sizes, places, turns, rng, rounds=15)
        counts, _, _, gaps = _meet(kinds, sizes, places, turns, 0.1)
        deep = wanted < -0.02
        assert deep.sum() > 50
        assert (counts[deep] > 0).all(), kinds
        assert (gaps.min(axis=1)[deep] < 0.0).all(), kinds
