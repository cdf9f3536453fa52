"""Forces of contacts carried from step to step, and through a change of a body's mesh."""

import numpy as np

import continua as ct
from continua.coupling.contact.group_driver import WarmStart


def settled_world():
    """A body on the floor, and two on top of each other beside it."""
    bodies = [
        ct.SoftBody(
            ct.mesh.box((0.2, 0.2, 0.2), (cells,) * 3).transformed(translate=place),
            material=ct.Corotated(young=1e5),
            name=f"b{k}",
        )
        for k, (cells, place) in enumerate(
            [(2, (0.0, 0.001, 0.0)), (2, (0.5, 0.001, 0.0)), (3, (0.5, 0.205, 0.01))]
        )
    ]
    world = ct.World(bodies, colliders=[ct.Plane((0, 0, 0), (0, 1, 0))], dt=0.01)
    for _ in range(20):
        world.step()
    return world


def test_remap_drops_the_contacts_of_one_body_and_keeps_the_others():
    start = settled_world().system(ct.SoftBody).stepper.warm_start
    pairs = {tuple(sorted(pair)) for pair in start.participants[:, :2].tolist()}
    assert {(0, 3), (1, 3), (1, 2)} <= pairs
    for number in range(3):
        rest = start.remap(number)
        of_body = (start.participants[:, :2] == number).any(axis=1)
        assert of_body.any()
        np.testing.assert_array_equal(rest.keys, start.keys[~of_body])
        np.testing.assert_array_equal(rest.forces, start.forces[~of_body])
    assert len(start.remap(3).keys) == len(start.keys) - (start.participants[:, :2] == 3).any(axis=1).sum()


def test_remap_with_new_node_numbers_keeps_contacts_of_nodes_with_colliders():
    start = settled_world().system(ct.SoftBody).stepper.warm_start
    mine = (start.participants[:, :2] == 1).any(axis=1)
    single = mine & (start.participants[:, 2] >= 0)
    assert single.sum() >= 4
    assert (mine & ~single).sum() >= 1
    new = np.random.default_rng(0).permutation(200)
    rest = start.remap(1, new)
    assert (np.diff(rest.keys) >= 0).all()
    known = dict(zip(rest.keys.tolist(), rest.forces.tolist(), strict=True))
    for key, force, node in zip(
        start.keys[single], start.forces[single], start.participants[single, 2], strict=True
    ):
        assert known[int(key - node + new[node])] == force.tolist()
    assert len(rest.keys) == len(start.keys) - (mine & ~single).sum()
    gone = start.remap(1, np.full(200, -1))
    np.testing.assert_array_equal(gone.keys, start.remap(1).keys)
    back = rest.remap(1, np.argsort(new))
    np.testing.assert_array_equal(back.keys, start.keys[single | ~mine])


def test_keys_of_other_bodies_stay_when_a_body_gets_another_mesh():
    """The contact of two bodies has the same keys whatever mesh the body before them has."""
    keys = []
    for cells in (1, 3):
        first = ct.SoftBody(
            ct.mesh.box((0.2, 0.2, 0.2), (cells,) * 3).transformed(translate=(9.0, 9.0, 0.0)), name="a"
        )
        low = ct.SoftBody(ct.mesh.box((0.2, 0.2, 0.2), (2, 2, 2)), name="b", material=ct.Corotated(young=1e5))
        high = ct.SoftBody(
            ct.mesh.box((0.2, 0.2, 0.2), (2, 2, 2)).transformed(translate=(0.01, 0.203, 0.02)),
            material=ct.Corotated(young=1e5),
            name="c",
        )
        low.pin(where=lambda x: x[:, 1] < 0.01)
        world = ct.World([first, low, high], dt=0.01)
        for _ in range(3):
            world.step()
        keys.append(world.system(ct.SoftBody).stepper.warm_start.keys)
    assert len(keys[0]) > 0
    np.testing.assert_array_equal(*keys)


def test_an_empty_warm_start_stays_empty():
    assert len(WarmStart.empty().remap(0).keys) == 0
    assert len(WarmStart.joined([WarmStart.empty(), WarmStart.empty()]).remap(2, np.arange(3)).keys) == 0
