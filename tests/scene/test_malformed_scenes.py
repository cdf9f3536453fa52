# ruff: noqa: E501  (a table reads best with one case a line)
"""Every malformed scene is refused with one sentence that names the file, the line, the key and the reason."""

import contextlib
import random
import re

import pytest
from typer.testing import CliRunner

from continua.cli import app
from continua.errors import InputError
from continua.scene import SceneError, load_scene, parse_scene, shipped_scenes

GOOD = """\
name: beam
seconds: 1
fps: 30
dt: 0.01
bodies:
  - type: soft
    name: beam
    mesh: {type: box, size: [1.0, 0.25, 0.25], cells: [4, 1, 1]}
    material: {type: corotated, young: 1e6, poisson: 0.3, density: 1000}
    order: 1
    pin:
      - where: left
    drive:
      - where: {type: half_space, point: [0.9, 0, 0], normal: [-1, 0, 0]}
        motion: {type: rotate, axis: [1, 0, 0], degrees_per_second: 90}
colliders:
  - {type: plane, point: [0, -1, 0]}
"""

# what to replace, by what, the line, the key, words of the sentence
CASES = {
    "missing-key": ("    mesh: {type: box, size: [1.0, 0.25, 0.25], cells: [4, 1, 1]}\n", "", 6, "bodies[0].mesh", "is missing"),
    "missing-body-name": ("    name: beam\n", "", 6, "bodies[0].name", "is missing"),
    "missing-bodies": ("bodies:", "things:", 5, "things", "unknown key 'things'"),
    "unknown-key": ("poisson:", "poison:", 9, "bodies[0].material.poison", "did you mean 'poisson'?"),
    "unknown-top-key": ("seconds:", "second:", 2, "second", "did you mean 'seconds'?"),
    "unknown-key-far": ("order: 1", "zzz: 1", 10, "bodies[0].zzz", "keys here are color, curved, damping"),
    "misspelt-selector-key": ("where: left", "were: left", 12, "bodies[0].pin[0].were", "did you mean 'where'?"),
    "misspelt-collider-key": ("point: [0, -1, 0]", "piont: [0, -1, 0]", 17, "colliders[0].piont", "did you mean 'point'?"),
    "misspelt-motion-key": ("axis: [1, 0, 0]", "axes: [1, 0, 0]", 15, "bodies[0].drive[0].motion.axes", "did you mean 'axis'?"),
    "misspelt-where-key": ("normal: [-1, 0, 0]", "norm: [-1, 0, 0]", 14, "bodies[0].drive[0].where.norm", "did you mean 'normal'?"),
    "misspelt-camera-key": ("dt: 0.01", "output: {picture: {camera: {azimut: 3}}}", 4, "output.picture.camera.azimut", "did you mean 'azimuth'?"),
    "misspelt-rotation-key": ("order: 1", "transform: {rotate: {degree: 3}}", 10, "bodies[0].transform.rotate.degree", "did you mean 'degrees'?"),
    "text-as-flag": ("dt: 0.01", "start_at_equilibrium: maybe", 4, "start_at_equilibrium", "must be true or false (got 'maybe')"),
    "text-as-choice-of-a-flag": ("dt: 0.01\nbodies:\n", "dt: 0.01\nbodies:\n  - {type: smoke, name: air, size: [1, 1], cells: [8, 8], slip: no-slip}\n", 6, "bodies[0].slip", "must be true or false (got 'no-slip')"),
    "number-as-text": ("young: 1e6", "young: soft", 9, "bodies[0].material.young", "must be a number (got 'soft')"),
    "quoted-number": ("young: 1e6", "young: '1e6'", 9, "bodies[0].material.young", "must be a number (got '1e6')"),
    "text-as-number": ("name: beam\nseconds", "name: 5\nseconds", 1, "name", "must be text (got 5)"),
    "boolean-as-number": ("density: 1000", "density: true", 9, "bodies[0].material.density", "must be a number"),
    "nothing-as-number": ("young: 1e6", "young:", 9, "bodies[0].material.young", "must be a number (got nothing)"),
    "list-as-mapping": ("where: left", "where: [left]", 12, "bodies[0].pin[0].where", "must be one of 'all', 'left'"),
    "mapping-as-list": ("    pin:\n      - where: left", "    pin: {where: left}", 11, "bodies[0].pin", "must be a list"),
    "text-as-mapping": ("material: {type: corotated, young: 1e6, poisson: 0.3, density: 1000}", "material: rubber", 9,
                        "bodies[0].material", "must be a mapping with a key 'type'"),
    "nan": ("density: 1000", "density: .nan", 9, "bodies[0].material.density", "must be a finite number (got nan)"),
    "infinity": ("young: 1e6", "young: .inf", 9, "bodies[0].material.young", "must be a finite number (got inf)"),
    "overflow": ("young: 1e6", "young: 1e999", 9, "bodies[0].material.young", "must be a finite number (got inf)"),
    "nan-in-vector": ("point: [0, -1, 0]", "point: [0, .nan, 0]", 17, "colliders[0].point[1]", "finite number"),
    "negative-density": ("density: 1000", "density: -1.0", 9, "bodies[0].material.density", "must be greater than 0 (got -1.0)"),
    "negative-young": ("young: 1e6", "young: -1", 9, "bodies[0].material.young", "must be at least 0 (got -1)"),
    "poisson-high": ("poisson: 0.3", "poisson: 0.6", 9, "bodies[0].material.poisson", "must be at most 0.5 (got 0.6)"),
    "poisson-too-low": ("poisson: 0.3", "poisson: -1", 9, "bodies[0].material.poisson", "must be greater than -1"),
    "order": ("order: 1", "order: 4", 10, "bodies[0].order", "must be one of 1, 2, 3 (got 4)"),
    "zero-seconds": ("seconds: 1", "seconds: 0", 2, "seconds", "must be greater than 0 (got 0)"),
    "negative-dt": ("dt: 0.01", "dt: -0.01", 4, "dt", "must be greater than 0 (got -0.01)"),
    "too-many-steps": ("seconds: 1", "seconds: 1e6\ngravity: [0, 0, 0]\n#", 2, "seconds", "steps; use fewer"),
    "zero-cells": ("cells: [4, 1, 1]", "cells: [4, 0, 1]", 8, "bodies[0].mesh.cells[1]", "must be at least 1 (got 0)"),
    "fractional-cells": ("cells: [4, 1, 1]", "cells: [4, 1.5, 1]", 8, "bodies[0].mesh.cells[1]", "must be a whole number (got 1.5)"),
    "absurd-cells": ("cells: [4, 1, 1]", "cells: [1000, 1000, 1000]", 8, "bodies[0].mesh", "about 6000 million tetrahedra"),
    "more-absurd-cells": ("cells: [4, 1, 1]", "cells: [4000000000, 1, 1]", 8, "bodies[0].mesh.cells[0]", "must be at most 1000"),
    "short-vector": ("size: [1.0, 0.25, 0.25]", "size: [1.0, 0.25]", 8, "bodies[0].mesh.size", "must be a list of 3 numbers (got [1.0, 0.25])"),
    "long-vector": ("point: [0, -1, 0]", "point: [0, -1, 0, 0]", 17, "colliders[0].point", "must be a list of 3 numbers"),
    "negative-size": ("size: [1.0, 0.25, 0.25]", "size: [1.0, -0.25, 0.25]", 8, "bodies[0].mesh", "'size' must have three lengths of at least 1e-9 m"),
    "zero-axis": ("axis: [1, 0, 0]", "axis: [0, 0, 0]", 15, "bodies[0].drive[0].motion.axis", "must not be the zero vector"),
    "mesh-type": ("type: box", "type: boxx", 8, "bodies[0].mesh", "there is no type 'boxx'; did you mean 'box'?"),
    "no-mesh-type": ("type: box, ", "", 8, "bodies[0].mesh", "needs a key 'type', one of 'box', 'rectangle'"),
    "law": ("type: corotated", "type: corotational", 9, "bodies[0].material", "did you mean 'corotated'?"),
    "body-type": ("type: soft", "type: plasma", 6, "bodies[0]", "'type' must be one of 'soft', 'cloth'"),
    "motion-type": ("type: rotate", "type: rotation", 15, "bodies[0].drive[0].motion", "did you mean 'rotate'?"),
    "side": ("where: left", "where: lefft", 12, "bodies[0].pin[0].where", "did you mean 'left'?"),
    "collider-type": ("type: plane", "type: plain", 17, "colliders[0]", "did you mean 'plane'?"),
    "name-with-slash": ("name: beam\nseconds", "name: ../beam\nseconds", 1, "name", "must be a short name"),
    "no-bodies": (GOOD[GOOD.index("bodies:") :], "bodies: []\n", 5, "bodies", "must not be empty"),
    "duplicate-key": ("dt: 0.01", "dt: 0.01\nfps: 24", 5, "fps", "is given twice (first in line 3)"),
    "output-outside": ("dt: 0.01", "output: {folder: ../../elsewhere}", 4, "output.folder", "without '..'"),
    "output-absolute": ("dt: 0.01", "output: {folder: /etc}", 4, "output.folder", "must be a relative folder"),
    "output-drive": ("dt: 0.01", "output: {folder: 'C:\\x'}", 4, "output.folder", "must be a relative folder"),
    "output-format": ("dt: 0.01", "output: {formats: [vtu, vtk]}", 4, "output.formats[1]", "did you mean 'vtu'?"),
    "color": ("order: 1", "color: red", 10, "bodies[0].color", "must be a colour such as '#e4572e' (got 'red')"),
    "picture-size": ("dt: 0.01", "output: {picture: {size: [100000, 10]}}", 4, "output.picture.size[0]", "must be at most 8192"),
    "python-tag": ("order: 1", "order: !!python/object/apply:os.getcwd []", 10, "bodies[0].order", "is not allowed"),
    "nested-too-deep": ("order: 1", "order: " + "[" * 60 + "]" * 60, 10, "", "is nested too deeply"),
    "key-not-a-word": ("order: 1", "[1, 2]: 3", 10, "bodies[0]", "keys must be plain words"),
}  # fmt: skip


def test_the_good_scene_is_good():
    scene = parse_scene(GOOD, label="scene.yaml")
    assert scene.bodies[0].material.young == 1e6


@pytest.mark.parametrize("case", CASES)
def test_one_sentence_with_file_line_and_key(case):
    old, new, line, key, words = CASES[case]
    assert GOOD.count(old) >= 1
    with pytest.raises(InputError) as caught:
        parse_scene(GOOD.replace(old, new, 1), label="scene.yaml")
    first = str(caught.value).splitlines()[0]
    where = f"scene.yaml:{line}: {key}: " if key else f"scene.yaml:{line}: "
    assert first.startswith(where), first
    assert words in first
    assert len(first) < 400


@pytest.mark.parametrize("case", CASES)
def test_the_command_line_exits_with_2_and_writes_nothing(case, tmp_path, monkeypatch):
    old, new, line, key, words = CASES[case]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scene.yaml").write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    result = CliRunner().invoke(app, ["run", "scene.yaml"])
    assert result.exit_code == 2
    assert result.stdout == ""
    first = result.stderr.splitlines()[0]
    assert first.startswith(f"continua: scene.yaml:{line}: {key}")
    assert words in first
    assert [path.name for path in tmp_path.iterdir()] == ["scene.yaml"]


SYNTAX = {
    "empty": ("", "scene.yaml: is empty"),
    "comment-only": ("# nothing\n", "scene.yaml: is empty"),
    "list": ("- a\n- b\n", "scene.yaml: must be a mapping"),
    "text": ("hello\n", "scene.yaml: must be a mapping"),
    "tab": ("bodies:\n\t- type: soft\n", "scene.yaml:2: is not YAML"),
    "open-bracket": ("bodies: [1, 2\nname: x\n", "scene.yaml:2: is not YAML"),
    "truncated": (GOOD[: GOOD.index("corotated") - 3], "scene.yaml:9: is not YAML"),
    "two-documents": ("a: 1\n---\nb: 2\n", "scene.yaml:2: is not YAML"),
    "unknown-alias": ("name: *nobody\n", "scene.yaml:1: is not YAML"),
    "control-characters": ("name: \x00\x01\n", "scene.yaml: is not YAML"),
    "endless-alias": ("name: &a [*a]\n", "scene.yaml:1: is nested too deeply"),
    "very-deep": ("name: " + "[" * 5000, "scene.yaml:1: is nested too deeply"),
    "billion-laughs": (
        "a: &a [1, 1, 1, 1, 1, 1, 1, 1]\n"
        + "".join(f"{n}: &{n} [{', '.join([f'*{p}'] * 8)}]\n" for p, n in zip("abcdefgh", "bcdefghi", strict=True)),
        "values; put meshes into their own files",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SYNTAX)
def test_text_that_is_no_scene(case):
    text, words = SYNTAX[case]
    with pytest.raises(InputError) as caught:
        parse_scene(text, label="scene.yaml")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_problems_are_told_in_the_order_of_the_file():
    text = (
        GOOD.replace("young: 1e6", "young: -1")
        .replace("seconds: 1", "seconds: 0")
        .replace("order: 1", "oder: 1")
    )
    with pytest.raises(SceneError) as caught:
        parse_scene(text, label="scene.yaml")
    keys = [problem.split(": ")[1] for problem in caught.value.problems]
    assert keys == ["seconds", "bodies[0].material.young", "bodies[0].oder"]
    assert str(caught.value).splitlines() == list(caught.value.problems)


def test_two_bodies_need_two_names():
    body = GOOD[GOOD.index("  - type: soft") : GOOD.index("colliders")]
    with pytest.raises(InputError, match=r"scene.yaml:5: bodies: 2 bodies are called 'beam'"):
        parse_scene(GOOD.replace("colliders", body + "colliders"), label="scene.yaml")


FILES = {
    "missing": (None, "there is no such file"),
    "folder": ("", "is a folder"),
    "binary": (b"\x89PNG\r\n\x1a\n\xff\xfe", "is not a text file in UTF-8"),
    "huge": (b"# " + b"x" * 3_000_000, "is too large for a scene"),
}


@pytest.mark.parametrize("case", FILES)
def test_files_that_cannot_be_read(case, tmp_path):
    content, words = FILES[case]
    path = tmp_path / "scene.yaml"
    if content == "":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        load_scene(path)
    assert str(caught.value).startswith(str(path))


def test_a_misspelt_shipped_scene():
    with pytest.raises(InputError, match=r"did you mean 'beam'\?"):
        load_scene("baem")


JUNK = [
    "",
    "x",
    "-1",
    "0",
    "1e400",
    ".nan",
    "null",
    "true",
    "[]",
    "{}",
    "[1, 2]",
    "{type: box}",
    "'",
    ":",
    "- ",
    "&a",
    "*a",
    "!!x",
]


@pytest.mark.parametrize("seed", range(150))
def test_any_damage_gives_a_scene_or_an_input_error(seed):
    """Words and characters replaced at random never raise anything but InputError."""
    chance = random.Random(seed)
    text = GOOD
    for _ in range(chance.randint(1, 3)):
        words = list(re.finditer(r"[\w.-]+", text))
        word = chance.choice(words)
        if chance.random() < 0.7:
            text = (
                text[: word.start()]
                + chance.choice([*JUNK, chance.choice(words).group()])
                + text[word.end() :]
            )
        else:
            cut = chance.randrange(len(text))
            text = text[:cut] + chance.choice(":{}[],#&*!|>'\"%@\t\n\x00é") + text[cut + 1 :]
    with contextlib.suppress(InputError):
        parse_scene(text, label="scene.yaml")


def test_many_keys_are_refused_before_they_are_looked_at():
    text = "bodies: []\n" + "".join(f"k{number}: 1\n" for number in range(150_000))
    with pytest.raises(InputError, match=r"scene.yaml:1: has a mapping with more than 1000 keys"):
        parse_scene(text, label="scene.yaml")


def test_many_problems_are_counted():
    with pytest.raises(SceneError) as caught:
        parse_scene("bodies: [" + "1, " * 900 + "1]", label="scene.yaml")
    assert len(caught.value.problems) == 21
    assert caught.value.problems[-1] == "and 881 more problems"


@pytest.mark.parametrize(
    "text",
    [
        "k" * 900 + ": 1",
        "? " + "k" * 5000 + "\n: 1",
        "bodies: [{type: soft, " + "k" * 900 + ": {" + "j" * 900 + ": 1}}]",
        "k" * 900 + ": 1\n" + "k" * 900 + ": 1",
        "name: !" + "k" * 5000 + " 1",
        "name: *" + "k" * 5000,
        "bodies: [{type: " + "k" * 5000 + "}]",
        "name: " + "k" * 5000,
    ],
)
def test_long_words_are_not_repeated(text):
    with pytest.raises(InputError) as caught:
        parse_scene(text, label="scene.yaml")
    assert max(map(len, str(caught.value).splitlines())) < 600


@pytest.mark.parametrize("direction", ["[1e-300, 0, 0]", "[0, -5e-324, 0]", "[1e-300, 1e-300, 1e-300]"])
def test_tiny_directions_are_directions(direction):
    text = shipped_scenes()["honey"].read_text(encoding="utf-8")
    world = parse_scene(text.replace("direction: [0, -1, 0]", f"direction: {direction}")).build()
    velocity = world.bodies[0].emitters[0].velocity()
    assert (velocity @ velocity) ** 0.5 == pytest.approx(0.35)


def test_a_lattice_that_is_too_coarse_for_the_body():
    text = shipped_scenes()["muscle"].read_text(encoding="utf-8").replace("size: 0.028", "size: 100000")
    with pytest.raises(InputError, match=r"bodies\[0\].mesh: a size of 100000 m is too large for the body"):
        parse_scene(text).build()


def test_a_wall_with_too_many_particles():
    text = (
        shipped_scenes()["dam-break"]
        .read_text(encoding="utf-8")
        .replace("size: [2, 1.5, 0.5]", "size: [2, 1.5, 1e9]")
    )
    with pytest.raises(InputError, match="use larger particles or a smaller boundary"):
        parse_scene(text).build()


def test_a_body_far_smaller_than_the_particles_of_its_fluid():
    text = (
        shipped_scenes()["floating-bodies"]
        .read_text(encoding="utf-8")
        .replace("radius: 0.09", "radius: 0.001")
    )
    assert len(parse_scene(text).build().bodies) == len(load_scene("floating-bodies").bodies)
