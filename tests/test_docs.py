"""What the documentation says is so: its programs run, its scenes load, and nothing is left out of it."""

import re
from pathlib import Path
from textwrap import indent

import numpy as np
import pytest
import yaml
from PIL import Image

import continua as ct
from benchmarks.registry import BENCHMARKS
from continua.scene import parse_scene, shipped_scenes

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")


class _Config(yaml.SafeLoader):
    """Reads mkdocs.yml, which may name Python objects."""


_Config.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)
CONFIG = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), _Config)


def blocks(text: str, language: str) -> list[str]:
    """Return the code blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def test_readme_program_runs_as_printed(capsys):
    (program,) = blocks(README, "python")
    assert len(program.strip().splitlines()) == 11
    names: dict = {}
    exec(compile(program, "README.md", "exec"), names)
    lines = capsys.readouterr().out.strip().splitlines()
    assert len(lines) == 121  # two seconds at 60 frames a second, and the first
    assert float(lines[-1].split()[0]) == 2.0
    lowest = names["frame"]["beam"].positions[:, 1].min()
    assert -0.75 < lowest < 0.0  # it hangs, and its tip stays within its length


def test_programs_of_the_first_pages_agree():
    (program,) = blocks(README, "python")
    for page in ("index.md", "getting-started.md"):
        text = (DOCS / page).read_text(encoding="utf-8")
        assert program in text or indent(program, "    ") in text, page


def test_scenes_in_the_docs_load():
    scenes = [block for block in blocks(README, "yaml") if "bodies:" in block]
    scenes += [
        block for block in blocks((DOCS / "scenes.md").read_text("utf-8"), "yaml") if "bodies:" in block
    ]
    assert len(scenes) >= 2
    for text in scenes:
        world = parse_scene(text).build()
        world.step()
        assert np.isfinite(world.bodies[0].positions).all()


def gallery(page: str) -> dict[str, list[str]]:
    """Return the scenes of the page of shipped scenes, by their kind."""
    kinds = re.split(r"^## (.+)$", page, flags=re.MULTILINE)[1:]
    return {
        kind: re.findall(r"^### ([\w-]+)$", text, re.MULTILINE) for kind, text in zip(kinds[::2], kinds[1::2])
    }


def test_every_shipped_scene_has_its_film_command_and_file():
    page = (DOCS / "shipped-scenes.md").read_text(encoding="utf-8")
    assert sorted(name for names in gallery(page).values() for name in names) == sorted(shipped_scenes())
    for name in shipped_scenes():
        (section,) = re.findall(rf"^### {name}\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL)
        film, command = section.index(f"(images/{name}.webp)"), section.index(f"\ncontinua run {name}\n")
        assert film < command < section.index(f"library/{name}.yaml")
        with Image.open(DOCS / "images" / f"{name}.webp") as pictures:
            assert pictures.n_frames > 10, name


def test_scenes_are_grouped_by_the_kinds_of_their_bodies():
    grids = {"liquid", "smoke", "wind_tunnel"}
    for kind, names in gallery((DOCS / "shipped-scenes.md").read_text(encoding="utf-8")).items():
        for name in names:
            types = {body.type for body in ct.load_scene(name).bodies}
            expected = (
                "Grid fluids" if types & grids
                else "Particle fluids" if "fluid" in types
                else "Cloth" if types & {"cloth", "shell"}
                else "Springs" if types & {"springs", "position_based"}
                else "Soft bodies" if "soft" in types
                else "Cloth" if types & {"cloth", "shell"}
                else "Rigid bodies"
            )  # fmt: skip
            assert kind.startswith(expected), name


def test_the_readme_has_a_gallery_of_all_scenes():
    """Stills that lead to the films, in the groups and in the order of the page of shipped scenes."""
    tables = re.findall(r"^\| ([A-Z][\w ]+) \| \| \| \|\n\|[-:|]+\n((?:\|.*\n)+)", README, re.MULTILINE)
    cell = r"\(docs/images/stills/([\w-]+)\.webp\)\]\(docs/shipped-scenes\.md#\1\) `\1`"
    shown = {kind: re.findall(cell, table) for kind, table in tables}
    assert shown == gallery((DOCS / "shipped-scenes.md").read_text(encoding="utf-8"))


def test_pictures_exist_and_are_small():
    limits = {"hero.webp": 1_500_000}
    for page in pages():
        for link in re.findall(r"!\[[^]]+\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            picture = (page.parent / link).resolve()
            assert picture.is_file(), f"{page.name}: {link}"
            assert picture.stat().st_size < limits.get(picture.name, 300_000), link
    with Image.open(DOCS / "images" / "hero.webp") as hero:
        assert hero.n_frames > 10


def test_commands_name_benchmarks_that_exist():
    for page in pages():
        for name in re.findall(r"python -m benchmarks ([a-z][a-z-]*)", page.read_text(encoding="utf-8")):
            assert name in {*BENCHMARKS, "compare"}, f"{page.name}: {name}"


def test_links_of_the_readme_lead_somewhere():
    for link in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / link).exists(), link


def test_every_page_is_in_the_navigation():
    def files(entry):
        if isinstance(entry, str):
            return [entry]
        return [
            file for part in (entry.values() if isinstance(entry, dict) else entry) for file in files(part)
        ]

    assert sorted(files(CONFIG["nav"])) == sorted(
        str(p.relative_to(DOCS).as_posix()) for p in DOCS.rglob("*.md")
    )


def test_files_of_the_architecture_page_exist():
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    files = set(re.findall(r"`([a-z_/]+\.py)`", page))
    assert len(files) > 20
    assert [file for file in sorted(files) if not (ROOT / "src/continua" / file).is_file()] == []
    for package in re.findall(r"^\| `([a-z_/]+)` \|", page, re.MULTILINE):
        assert (ROOT / "src/continua" / package / "__init__.py").is_file(), package


def test_the_site_asks_no_other_host():
    assert CONFIG["theme"]["font"] is False
    for key in ("extra_css", "extra_javascript"):
        for path in CONFIG.get(key, []):
            assert (DOCS / path).is_file()
    assert (
        "docs/gen_options.py" in CONFIG["hooks"]
    )  # the option tables are made from the models, at build time


def test_every_public_name_is_in_the_api_pages():
    text = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    for name in set(ct.__all__) - {"__version__"}:
        assert re.search(rf"ct\.{name}\b", text), name


def test_equations_become_mathml():
    pytest.importorskip("latex2mathml")
    import importlib.util
    import xml.etree.ElementTree as ET

    spec = importlib.util.spec_from_file_location("mathml", DOCS / "mathml.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (DOCS / "theory" / "corotational.md").read_text(encoding="utf-8")
    equations = re.findall(r"\$\$(.+?)\$\$", page, re.DOTALL) + re.findall(r"\\\((.+?)\\\)", page)
    assert len(equations) > 50
    for latex in equations:
        made = module.on_page_content(f'<span class="arithmatex">\\({latex}\\)</span>')
        tree = ET.fromstring(made)
        assert tree.tag.endswith("math")
        assert "\\" not in "".join(tree.itertext()), latex  # no command was left as it is
