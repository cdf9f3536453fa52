import pytest

from continua import errors
from continua.registry import body_kind
from continua.scene import cost, parse_scene
from continua.scene.build_mesh import build_shape

MESHES = [
    "{type: box, cells: [5, 4, 3]}",
    "{type: box, cells: [5, 4, 3], split: 24}",
    "{type: box, cells: [5, 4, 3], elements: hexes}",
    "{type: bridge, n: 2}",
    "{type: sphere, cells: 3}",
    "{type: cylinder, cells: [3, 5]}",
    "{type: torus, cells: [2, 12]}",
    "{type: bowl, cells: [6, 2]}",
]


def scene_of(mesh, **options):
    more = "".join(f", {key}: {value}" for key, value in options.items())
    return parse_scene(f"bodies: [{{type: soft, name: a, mesh: {mesh}{more}}}]")


@pytest.mark.parametrize("mesh", MESHES)
def test_elements_of_generated_meshes_are_counted_exactly(mesh):
    scene = scene_of(mesh)
    (found,) = cost.estimate_cost(scene).bodies
    assert found.count == build_shape(scene.bodies[0].mesh, scene).element_count


def test_elements_of_other_meshes_are_estimated_within_a_factor_of_two(tmp_path):
    limb = "{start: [0, 0, 0], end: [1, 0, 0], radius: 0.2}"
    for mesh in (
        f"{{type: blob, size: 0.07, limbs: [{limb}]}}",
        "{type: parametric, cells: [8, 12], tetrahedralize: {size: 0.12}}",
    ):
        scene = scene_of(mesh)
        (found,) = cost.estimate_cost(scene).bodies
        made = build_shape(scene.bodies[0].mesh, scene).element_count
        assert 0.5 < found.count / made < 2.0


@pytest.mark.parametrize("order", [1, 2, 3])
def test_estimated_memory_agrees_with_the_counts_of_the_made_mesh(order):
    scene = scene_of("{type: box, cells: [8, 8, 8]}", order=order)
    (found,) = cost.estimate_cost(scene).bodies
    made = body_kind(scene.bodies[0]).summary_of(scene, 0)
    assert 0.6 < found.memory / made.memory < 1.4


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("{type: fluid, name: w, particle_radius: 0.05, block: {min: [0, 0, 0], max: [1, 1, 1]}}", 1000),
        ("{type: fluid, name: w, particle_radius: 0.1, mesh: {type: box, size: [2, 2, 2]}, "
         "transform: {scale: 0.5}}", 125),
        ("{type: smoke, name: s, size: [1, 1, 1], cells: [8, 8, 8]}", 512),
    ],
)  # fmt: skip
def test_particles_and_cells_are_estimated(body, count):
    (found,) = cost.estimate_cost(parse_scene(f"bodies: [{body}]")).bodies
    assert found.count == pytest.approx(count)


def test_large_scene_is_described_in_a_sentence_and_one_beyond_the_memory_refused(monkeypatch):
    large = cost.estimate_cost(scene_of("{type: box, cells: [126, 126, 126]}"))
    assert large.is_large
    assert str(large) == "about 12 million tetrahedra, 16 GB of memory, 3 minutes to start"
    monkeypatch.setattr(cost, "memory_limit", lambda: 64e9)
    large.check_memory()
    monkeypatch.setattr(cost, "memory_limit", lambda: 8e9)
    with pytest.raises(errors.InputError, match=r"16 GB of memory.*only 8 GB.*coarser"):
        large.check_memory()
    assert not cost.estimate_cost(scene_of("{type: box, cells: [20, 20, 20]}")).is_large


def test_unreadable_mesh_is_left_to_the_build(tmp_path):
    scene = scene_of("{type: file, path: nowhere.stl, tetrahedralize: {size: 0.1}}")
    assert cost.estimate_cost(scene).bodies == ()
