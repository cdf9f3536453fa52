"""Islands of bodies that contacts connect, compared with the components of a graph."""

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from continua.contact_solver import EMPTY_ROWS, contact_rows
from continua.coupling.contact.islands import find_islands


def test_islands_are_the_components_of_the_contacts():
    """Random contacts of two bodies each; bodies that are not solved for connect nothing."""
    rng = np.random.default_rng(0)
    starts = np.cumsum([0, *rng.integers(1, 6, 12)])
    for count in (0, 1, 4, 8, 30):
        for bodies in (list(range(12)), [0, 2, 3, 5, 8, 9, 11]):
            pair = rng.integers(0, 12, (count, 2))
            rows = EMPTY_ROWS
            if count:
                some = np.stack(
                    [rng.integers(starts[pair[:, k]], starts[pair[:, k] + 1]) for k in range(2)], axis=1
                )
                normals = np.tile([0.0, 1.0, 0.0], (count, 1))
                rows = contact_rows(
                    normals, np.zeros((count, 3)), np.zeros(count), soft_rows=some, soft_weights=[[1.0, -1.0]]
                )
            solved = np.isin(pair, bodies)
            both = pair[solved.all(axis=1)]
            graph = sparse.coo_array((np.ones(len(both)), (both[:, 0], both[:, 1])), (12, 12))
            component = csgraph.connected_components(graph, directed=False)[1]
            islands = find_islands(rows, starts, bodies)
            assert sorted(body for island, _ in islands for body in island) == bodies
            seen = []
            for island, which in islands:
                assert island == [body for body in bodies if component[body] == component[island[0]]]
                assert (np.diff(which) > 0).all()
                assert which.tolist() == np.flatnonzero((np.isin(pair, island) & solved).any(axis=1)).tolist()
                seen += which.tolist()
            assert sorted(seen) == np.flatnonzero(solved.any(axis=1)).tolist()
