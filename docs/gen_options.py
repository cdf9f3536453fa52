"""Tables of scene options, made from the models.

A table stands in a page between `<!-- options: NAME -->` and `<!-- end of options -->`; the tables of all registered
material laws, each below its heading, stand between `<!-- laws: options -->` and `<!-- end of laws -->`.
`python docs/gen_options.py` writes the tables anew into `docs/scenes.md`. As a hook of MkDocs this module makes them in
every build, and also the API entries of the laws, at `<!-- laws: api -->`.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from continua.materials import LAWS
from continua.registry import body_kinds
from continua.scene import Scene

PAGE = Path(__file__).parent / "scenes.md"
MARK = re.compile(r"<!-- options: (\w+) -->(?:(?:(?!<!--).)*<!-- end of options -->)?", re.DOTALL)
LAW_MARK = re.compile(r"<!-- laws: options -->(?:.*?<!-- end of laws -->)?", re.DOTALL)
LIMITS = {"exclusiveMinimum": "> {}", "minimum": "≥ {}", "exclusiveMaximum": "< {}", "maximum": "≤ {}"}


def on_page_markdown(markdown: str, **_: Any) -> str:
    return with_tables(expand_laws(markdown))


def expand_laws(markdown: str) -> str:
    """Replace the marks of laws by a heading and an `options` mark, or an API entry, for each registered law."""
    names = [law.__name__ for law in LAWS.values()]
    options = "\n\n".join(f"#### {name}\n\n<!-- options: {name} -->" for name in names)
    entries = "\n\n".join(f"::: continua.{name}" for name in names)
    section = f"<!-- laws: options -->\n\n{options}\n\n<!-- end of laws -->"
    return LAW_MARK.sub(lambda _: section, markdown).replace("<!-- laws: api -->", entries)


def with_tables(markdown: str) -> str:
    """Write each table behind its mark, in place of an older one."""
    return MARK.sub(
        lambda match: f"<!-- options: {match[1]} -->\n\n{options_table(match[1])}\n\n<!-- end of options -->",
        markdown,
    )


def models() -> dict[str, Any]:
    """Return the JSON schemas of all models by name, those of kinds of bodies registered by now included."""
    return _models(tuple(body_kinds()))


@cache
def _models(_: tuple[str, ...]) -> dict[str, Any]:
    schema = Scene.model_json_schema()
    return {"Scene": schema, **schema["$defs"]}


def options_table(name: str) -> str:
    known = models()
    model = known[name]
    lines = [
        model["description"].replace("\n", " "),
        "",
        "| key | meaning | value | default |",
        "|---|---|---|---|",
    ]
    for key, field in model["properties"].items():
        required = key in model.get("required", ())
        unit = f" [{field['unit']}]" if "unit" in field else ""
        value = value_text(field, known).replace("|", "\\|")
        default = "**required**" if required else default_text(field)
        lines.append(f"| `{key}` | {meaning(field, known)}{unit} | {value} | {default} |")
    return "\n".join(lines)


def meaning(field: dict[str, Any], known: dict[str, Any]) -> str:
    """Return the description; one that repeats its model's is kept only there."""
    if "description" in field or "$ref" not in field:
        return field.get("description", "")
    return known[field["$ref"].rsplit("/", 1)[1]]["description"]


def value_text(field: dict[str, Any], known: dict[str, Any]) -> str:
    """Return what may be written: a kind with limits, choices, or the names of models."""
    if "$ref" in field:
        return model_link(field["$ref"], known)
    for key in ("oneOf", "anyOf"):
        if key in field:
            parts = [value_text(part, known) for part in field[key] if part.get("type") != "null"]
            return " or ".join(parts)
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return " or ".join(f"`{choice}`" for choice in field["enum"])
    if "prefixItems" in field:
        kinds = {value_text(item, known).split(" ")[0] for item in field["prefixItems"]}
        return f"{len(field['prefixItems'])} {kinds.pop()}s"
    if field.get("type") == "array":
        return f"list of {value_text(field['items'], known)}"
    if field.get("type") == "object":
        return f"mapping from names to {value_text(field['additionalProperties'], known)}"
    kind = {"number": "number", "integer": "integer", "string": "text", "boolean": "true or false"}[
        field["type"]
    ]
    limits = [text.format(f"{field[key]:g}") for key, text in LIMITS.items() if key in field]
    return " ".join([kind, ", ".join(limits)]).strip()


def model_link(ref: str, known: dict[str, Any]) -> str:
    name = ref.rsplit("/", 1)[1]
    kind = known[name]["properties"].get("type", {}).get("const")
    return f"[{kind or name}](#{name.lower()})"


def default_text(field: dict[str, Any]) -> str:
    if "default" not in field or field["default"] is None:
        return ""
    default = field["default"]
    if isinstance(default, float):
        return f"`{default:g}`"
    if isinstance(default, dict):
        return f"`{default['type']}`" if "type" in default else ""
    if default == []:
        return "none"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`" if default != "" else ""


if __name__ == "__main__":
    PAGE.write_text(on_page_markdown(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
