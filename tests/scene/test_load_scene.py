"""Scenes as data: numbers and words of YAML, defaults, the schema, and what makes two runs the same."""

import pytest

import continua as ct
from continua.scene import Scene, parse_scene, shipped_scenes, solvers

SMALL = "bodies: [{type: soft, name: block, mesh: {type: box}}]\n"


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e6", 1e6), ("1E-3", 1e-3), ("-.5", -0.5), ("+2", 2), ("3.", 3.0), ("007", 7), ("1.5e+2", 150.0)],
)
def test_numbers_are_read_as_yaml_1_2_says(text, value):
    assert parse_scene(SMALL + f"gravity: [0, {text}, 0]\n").gravity[1] == value


@pytest.mark.parametrize("word", ["no", "yes", "on", "off", "y"])
def test_words_stay_words(word):
    assert parse_scene(SMALL + f"description: {word}\n").description == word


def test_defaults_agree_with_the_python_classes():
    """A scene that leaves everything out and a body made in Python without options are the same thing."""
    spec = parse_scene(SMALL).bodies[0]
    body, law = ct.SoftBody(ct.mesh.box()), ct.Corotated()
    assert (spec.material.young, spec.material.poisson, spec.material.density) == (
        law.young,
        law.poisson,
        law.density,
    )
    assert spec.order == body.order
    assert (spec.damping.mass, spec.damping.stiffness) == body.damping
    assert spec.solver == "auto"
    for model in (solvers.Pcg, solvers.MergedPcg, solvers.Multigrid, solvers.PMultigrid, solvers.Direct):
        (kind,) = model.model_fields["type"].annotation.__args__
        options = model(type=kind).model_dump(exclude={"type"})
        made = solvers.build_solver(kind)
        for key, value in options.items():
            assert getattr(made, key) == value
    world = ct.World([body])
    assert parse_scene(SMALL).gravity == tuple(world.gravity)
    assert parse_scene(SMALL).dt == world.dt
    plane = ct.Plane()
    floor = parse_scene(SMALL + "colliders: [{type: plane}]").colliders[0]
    for key in ("point", "normal", "friction", "restitution"):
        assert getattr(floor, key) == getattr(plane, key)
    wind = ct.Wind((1, 0, 0))
    air = parse_scene(SMALL + "wind: {velocity: [1, 0, 0]}").wind
    assert (air.gust, air.period, air.density) == (wind.gust, wind.period, wind.density)


def test_every_key_has_a_meaning_and_every_physical_number_a_unit():
    schema = Scene.model_json_schema()
    pure_numbers = {"poisson", "rtol", "friction", "restitution", "gust", "scale", "speed"}
    pure_numbers |= {"hardening_strain", "hardening", "compression_strain", "compression_hardening"}
    pure_numbers |= {"yield_strain", "limit", "stiffening"}
    pure_numbers |= {"poisson_12", "poisson_13", "poisson_23"}
    pure_numbers |= {"second_invariant", "activation", "optimum", "shear"}
    pure_numbers |= {"beta", "gamma", "fit", "max_radius_edge"}
    pure_numbers |= {
        "density_error",
        "divergence_error",
        "surface_tension",
        "cfl",
        "xsph",
        "extension",
        "inset",
    }
    pure_numbers |= {"smoke", "weight", "confinement", "wall_friction", "flip"}
    pure_numbers |= {"tear_strain", "from_height"}
    fractions = {  # of keys that have a unit elsewhere
        "ClothSprings.bend",
        "GlobalVolumeConstraint.pressure",
        *(
            f"{name}Constraint.stiffness"
            for name in ("Distance", "Bending", "Volume", "GlobalVolume", "ShapeMatching")
        ),
    }
    for model in [schema, *schema["$defs"].values()]:
        assert model["additionalProperties"] is False
        assert model["description"]
        for key, field in model["properties"].items():
            assert field.get("description") or "$ref" in field, key
            kinds = [field, *field.get("anyOf", [])]
            name = f"{model['title']}.{key}"
            if any(kind.get("type") == "number" for kind in kinds) and key not in pure_numbers:
                assert (name in fractions) != bool(field.get("unit")), name


@pytest.mark.parametrize("name", shipped_scenes())
def test_shipped_scenes_are_named_like_their_files_and_described(name):
    scene = ct.load_scene(name)
    assert scene.name == name
    assert 20 < len(scene.description) < 120
    assert scene.description.endswith(".")


@pytest.mark.parametrize("name", shipped_scenes())
def test_the_options_written_out_make_the_same_scene(name):
    scene = ct.load_scene(name)
    again = parse_scene(scene.options_text)
    assert again.model_dump() == scene.model_dump()
    assert again.fingerprint() == scene.fingerprint()


def test_a_scene_takes_its_name_from_the_file(tmp_path):
    path = tmp_path / "my scene (2).yaml"
    path.write_text(SMALL, encoding="utf-8")
    assert ct.load_scene(path).name == "my-scene--2-"


def test_a_file_beats_a_shipped_scene_of_the_same_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "beam").write_text("description: mine\n" + SMALL, encoding="utf-8")
    assert ct.load_scene("beam").description == "mine"


def test_the_fingerprint_changes_with_what_decides_the_results_only(tmp_path):
    base = parse_scene(SMALL)
    assert base.fingerprint() == parse_scene("# a comment\n" + SMALL).fingerprint()
    for same in ({"seconds": 9.0}, {"description": "x"}, {"output": {"formats": ["usd"]}}):
        assert base.with_options(**same).fingerprint() == base.fingerprint()
    for other in ({"fps": 10.0}, {"dt": 0.001}, {"gravity": [0, 0, 0]}):
        assert base.with_options(**other).fingerprint() != base.fingerprint()


def test_the_fingerprint_sees_changes_of_mesh_files(tmp_path):
    (tmp_path / "a.msh").write_text("one", encoding="utf-8")
    path = tmp_path / "scene.yaml"
    path.write_text("bodies: [{type: soft, name: a, mesh: {type: file, path: a.msh}}]", encoding="utf-8")
    before = ct.load_scene(path).fingerprint()
    (tmp_path / "a.msh").write_text("two", encoding="utf-8")
    assert ct.load_scene(path).fingerprint() != before


def test_other_options_are_checked_and_the_rest_stays():
    scene = parse_scene(SMALL + "output: {checkpoint_every: 3}\n")
    changed = scene.with_options(seconds=5.0, fps=None, output={"formats": ["usd"], "checkpoint_every": None})
    assert (changed.seconds, changed.fps) == (5.0, scene.fps)
    assert (changed.output.formats, changed.output.checkpoint_every) == (["usd"], 3)
    assert scene.output.formats == ["vtu"]
    with pytest.raises(ct.InputError, match=r"^seconds: must be greater than 0 \(got -1.0\)$"):
        scene.with_options(seconds=-1.0)
