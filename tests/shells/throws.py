"""Sheets thrown at random, and a count of piercings that owes nothing to the library's collision detection."""

import itertools

import numpy as np

import continua as ct
from continua.mesh import SurfaceMesh

DTS, SPEEDS, THICKNESSES, FRICTIONS = (
    (1e-3, 5e-3, 1e-2, 0.0167, 0.033),
    (1.0, 5.0, 15.0, 30.0),
    (1e-4, 1e-3, 5e-3),
    (0.0, 0.5, 2.0),
)


def random_rotation(angle, seed):
    """Return a rotation by `angle` [rad] about a random axis."""
    axis = np.random.default_rng(seed).normal(size=3)
    axis /= np.linalg.norm(axis)
    k = np.cross(np.eye(3), axis)
    return np.eye(3) - np.sin(angle) * k + (1.0 - np.cos(angle)) * (k @ k)


def square_mesh(cells, size, at=(0.0, 0.0, 0.0), rotation=None, length=None):
    """Return a sheet in the plane y = 0 with diagonals in turns, `length` along z, rotated and shifted."""
    h = size / cells
    rows = cells if length is None else round(length / h)
    i, j = (a.ravel() for a in np.meshgrid(np.arange(cells + 1), np.arange(rows + 1), indexing="ij"))
    points = np.column_stack([i * h - 0.5 * size, 0.0 * i, (j - 0.5 * rows) * h])
    i, j = (a.ravel() for a in np.meshgrid(np.arange(cells), np.arange(rows), indexing="ij"))
    a = i * (rows + 1) + j
    b, c, d = a + 1, a + rows + 1, a + rows + 2
    even = ((i + j) % 2 == 0)[:, None]
    one = np.where(even, np.column_stack([a, b, c]), np.column_stack([a, b, d]))
    other = np.where(even, np.column_stack([b, d, c]), np.column_stack([a, d, c]))
    turned = points if rotation is None else points @ np.asarray(rotation).T
    return SurfaceMesh(turned + np.asarray(at, float), np.concatenate([one, other]).astype(np.int32))


def square_cloth(cells, size, at=(0.0, 0.0, 0.0), rotation=None, *, thickness=1e-3, density=300.0, **options):
    material = ct.StVenantKirchhoff(young=2e5, poisson=0.3, density=density)
    return ct.Cloth(
        square_mesh(cells, size, at, rotation),
        material,
        thickness=thickness,
        drag=0.0,
        skin_friction=0.0,
        **options,
    )


def count_piercings(*sheets):
    """Return how many edges pierce triangles with which they share no point, by signed volumes of all pairs nearby."""
    x = np.concatenate([sheet.positions for sheet in sheets])
    first = np.cumsum([0] + [len(sheet.positions) for sheet in sheets])
    triangles = np.concatenate([sheet.triangles + k for sheet, k in zip(sheets, first[:-1], strict=True)])
    edges = np.unique(np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0)
    low, high = x[triangles].min(axis=1), x[triangles].max(axis=1)
    total = 0
    for some in np.array_split(edges, max(1, len(edges) * len(triangles) // 400_000)):
        below, above = x[some].min(axis=1), x[some].max(axis=1)
        near = ((below[:, None] <= high[None]) & (above[:, None] >= low[None])).all(axis=2)
        e, t = np.nonzero(near)
        e, t = some[e], triangles[t]
        apart = (e[:, :, None] != t[:, None, :]).all(axis=(1, 2))
        p, q = x[e[apart, 0]], x[e[apart, 1]]
        a, b, c = (x[t[apart, k]] for k in range(3))
        sides = [
            volume(a, b, c, p),
            volume(a, b, c, q),
            volume(p, q, a, b),
            volume(p, q, b, c),
            volume(p, q, c, a),
        ]
        one, other, *around = np.sign(sides) * (np.abs(sides) > 1e-20)
        total += int(((one * other < 0) & (np.abs(np.sum(around, axis=0)) == 3)).sum())
    return total


def volume(a, b, c, d):
    return np.einsum("ni,ni->n", b - a, np.cross(c - a, d - a))


def throw(seed, steps=25, cells=(6, 11)):
    """Throw one to three sheets at each other and at a collider; return the steps that warn of the fail-safe.

    After every step nothing pierces anything, or the assertion says where.
    """
    rng = np.random.default_rng(seed)
    dt, speed, thickness, friction = (rng.choice(v) for v in (DTS, SPEEDS, THICKNESSES, FRICTIONS))
    count, n, size = int(rng.integers(1, 4)), int(rng.integers(*cells)), 0.3
    sheets = []
    for k in range(count):
        rotation = random_rotation(rng.uniform(0.0, 3.0), int(rng.integers(1000)))
        thick = min(float(thickness), 0.25 * size / n)
        sheet = square_cloth(n, size, (0, 0.45 * k + 0.46, 0), rotation, thickness=thick, name=f"sheet {k}")
        aim = np.array([0.3 * rng.normal(), -0.2 if k == 0 else -1.0, 0.3 * rng.normal()])
        sheet.set_velocity(speed * aim, 0.5 * speed / size * rng.normal(size=3))
        sheets.append(sheet)
    things = [
        [],
        [ct.Box((0.02, 0.1, 0.03), (0.1, 0.2, 0.15))],
        [ct.Sphere((0.02, 0.1, 0.01), 0.08)],
        [ct.Cylinder((0.0, 0.12, 0.01), radius=0.02, height=0.24)],
    ][int(rng.integers(4))]
    world = ct.World(
        sheets,
        colliders=[ct.Plane((0, 0, 0), (0, 1, 0)), *things],
        contact=ct.Contact(friction=float(friction), self_contact=True),
        dt=float(dt),
    )
    warned = []
    for step in range(steps):
        reports = world.step()
        texts = set(itertools.chain.from_iterable(report.warnings for report in reports))
        warned += [step] if any("fail-safe" in text for text in texts) else []
        assert count_piercings(*sheets) == 0, f"throw {seed}, step {step}: {texts}"
    return warned
