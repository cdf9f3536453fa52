"""What a search looks at: all cells that may touch something; and distances that need not be known."""

import numpy as np
import pytest

import continua as ct
from continua.collision import CollisionMesh, CollisionSurface
from continua.collision.colliders import ColliderSet
from continua.sdf import ExactDistance


def _ball(radius, at=(0.0, 0.0, 0.0)):
    return ct.mesh.sphere(radius, 4).surface.transformed(translate=at)


def _meshes(static):
    one, other = _ball(0.2), _ball(0.5, (0.6, 0.1, 0.0))
    fixed = CollisionSurface(other.points, other.triangles, is_dynamic=False, is_static=static)
    return one, other, CollisionMesh([CollisionSurface(one.points, one.triangles), fixed])


def _boxes(points, x0, x1, widen):
    both = np.stack([x0[points], x1[points]]).reshape(-1, *points.shape, 3)
    return both.min(axis=(0, 2)) - widen, both.max(axis=(0, 2)) + widen


@pytest.mark.parametrize("static", [False, True])
def test_near_cells_contain_all_whose_boxes_overlap(static):
    """Cells are compared with those of the other surface one by one; the tree of a static surface leaves none out."""
    one, _, mesh = _meshes(static)
    rng = np.random.default_rng(0)
    margin = np.array([0.01, 0.02])
    for shift in (0.0, 0.05, 0.3, -2.0):
        x0 = mesh.positions([one.points + [shift, 0.0, 0.0], mesh.surfaces[1].rest])
        x1 = x0.copy()
        x1[: len(one.points)] += rng.uniform(-0.05, 0.05, (len(one.points), 3))
        mesh.follow(x0, x1)
        vertices, edges = mesh.near_vertices(margin), mesh.near_edges(margin)
        for near, cells, owner, tree in (
            (vertices, mesh.topology.vertices[:, None], mesh.topology.vertex_surface, mesh.triangle_bvh),
            (edges, mesh.edge_bvh.cells, mesh.edge_bvh.surface, mesh.edge_bvh),
        ):
            assert (np.diff(near.cells) > 0).all()
            low, high = _boxes(cells, x0, x1, 0.0)
            others = _boxes(tree.cells, x0, x1, margin[tree.surface][:, None])
            allowed = mesh.vertex_face_pairs if tree is mesh.triangle_bvh else mesh.edge_edge_pairs
            for cell in range(len(cells)):
                apart = (low[cell] > others[1]).any(axis=1) | (high[cell] < others[0]).any(axis=1)
                if (~apart & allowed[owner[cell]][tree.surface]).any():
                    assert cell in near.cells
        if shift == -2.0:
            assert not len(vertices.cells)
            assert not len(edges.cells)


def test_a_static_surface_has_few_near_vertices():
    """Of the vertices of a large static surface only those beside the small one are looked at."""
    one, other, mesh = _meshes(static=True)
    x = mesh.positions([one.points, other.points])
    mesh.follow(x, x)
    near = mesh.near_vertices(np.full(2, 1e-3)).cells
    of_other = near[mesh.topology.vertex_surface[near] == 1]
    assert 0 < len(of_other) < 0.5 * (mesh.topology.vertex_surface == 1).sum()


def _contacts(shape, paths, tolerance):
    """Return the contacts of points that follow paths, with distances from before or without them."""
    kept = ColliderSet([shape])
    for start, end in paths:
        found = []
        for colliders in (kept, ColliderSet([shape])):
            query = colliders.query(start, 0.0, 0.01)
            found.append((query.find_close(0.02), query.find_crossings(end, tolerance)))
        for one, other in zip(*found, strict=True):
            for kept_column, new_column in zip(one, other, strict=True):
                np.testing.assert_array_equal(kept_column, new_column)
        yield found[0]


@pytest.mark.parametrize(
    "shape",
    [ct.MeshShape(_ball(0.5)), ct.Sphere((0.0, 0.0, 0.0), 0.5), ct.Box((0.0, 0.0, 0.0), (0.6, 0.6, 0.6)),
     ct.MeshShape(_ball(0.5), inside=True)],
)  # fmt: skip
def test_bounds_of_distances_lose_no_contact(shape):
    """Points that come from afar, in small and in large steps, get the contacts that exact distances give."""
    rng = np.random.default_rng(1)
    start = rng.uniform(-1.5, 1.5, (700, 3))
    paths = []
    for length in (0.01, 0.02, 0.02, 0.5, 0.02, 1.0, 0.02):
        end = start + rng.normal(size=start.shape) * length - 0.02 * start
        paths.append((start, end))
        start = end
    counts = [len(close) + len(crossed) for close, crossed in _contacts(shape, paths, 1e-4)]
    assert min(counts) > 0


def test_far_points_keep_a_bound():
    """In a second step at the same place only points near the surface ask for their distance."""
    asked = []

    class Counted(ExactDistance):
        def value_and_gradient(self, points):
            asked.append(len(points))
            return super().value_and_gradient(points)

    shape = ct.MeshShape(_ball(0.5), field=Counted(_ball(0.5)))
    points = np.random.default_rng(2).uniform(-2.0, 2.0, (600, 3))
    colliders = ColliderSet([shape])
    colliders.query(points, 0.0, 0.01).find_close(0.01)
    assert asked == [600]
    query = colliders.query(points + 0.001, 0.01, 0.01)
    query.find_close(0.01)
    query.find_crossings(points + 0.002, 1e-4)
    distance = ExactDistance(_ball(0.5))(points)
    assert max(asked[1:]) <= (distance < 0.03).sum() < 20


def test_a_pose_is_asked_for_once():
    """The poses of a moving collider are found once for each time, until they are cleared."""
    times = []

    def path(time, rest):
        times.append(time)
        return rest + [time, 0.0, 0.0]

    ball = ct.Sphere((0.0, 0.0, 0.0), 0.5, motion=ct.Motion(path))
    colliders = ColliderSet([ball])
    for _ in range(3):
        colliders.query(np.zeros((4, 3)), 1.0, 0.5)
    assert times == [1.0, 1.5]
    colliders.poses.clear()
    colliders.query(np.zeros((4, 3)), 1.0, 0.5)
    assert times == [1.0, 1.5, 1.0, 1.5]
