"""Turns equations into MathML while the site is built, so that pages need no script to show them."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

INLINE = re.compile(r'<span class="arithmatex">\\\((.+?)\\\)</span>', re.DOTALL)
DISPLAY = re.compile(r'<div class="arithmatex">\s*\\\[(.+?)\\\]\s*</div>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    content = DISPLAY.sub(lambda m: f'<div class="equation">{to_mathml(m[1], "block")}</div>', content)
    return INLINE.sub(lambda m: to_mathml(m[1], "inline"), content)


def to_mathml(latex: str, display: str) -> str:
    return convert(html.unescape(latex).strip(), display=display)
