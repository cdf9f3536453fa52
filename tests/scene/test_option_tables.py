"""The option tables of the documentation come from the models, and none is left out."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def hook():
    spec = importlib.util.spec_from_file_location("gen_options", DOCS / "gen_options.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_model_has_its_table_and_heading(hook):
    page = hook.expand_laws((DOCS / "scenes.md").read_text(encoding="utf-8"))
    named = set(hook.MARK.findall(page))
    assert named == set(hook.models())
    headings = {line.lstrip("# ").lower() for line in page.splitlines() if line.startswith("#")}
    assert {name.lower() for name in named} <= headings  # the links between the tables go there


def test_tables_show_units_limits_and_defaults(hook):
    page = hook.on_page_markdown("<!-- options: Corotated -->")
    young = next(line for line in page.splitlines() if "`young`" in line)
    assert "[Pa]" in young
    assert "≥ 0" in young
    assert "`1e+06`" in young
    assert page == hook.on_page_markdown(page)  # written anew, not twice


def test_the_page_holds_the_tables_of_the_models(hook):
    page = (DOCS / "scenes.md").read_text(encoding="utf-8")
    assert page == hook.on_page_markdown(page), "write the tables anew: python docs/gen_options.py"
