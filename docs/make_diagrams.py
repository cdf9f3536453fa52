"""Draw the diagrams of the architecture page.

python docs/make_diagrams.py
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

IMAGES = Path(__file__).parent / "images"

STYLE = """
  text { font-family: system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; font-size: 14px; fill: #263238; }
  .code { font-family: ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace; font-size: 13px; }
  .small { font-size: 12px; fill: #607d8b; }
  .title { font-weight: 600; fill: #3949ab; }
  .band { fill: #e8eaf6; stroke: none; }
  .box { fill: #ffffff; stroke: #7986cb; stroke-width: 1.3; }
  .accent { fill: #fff3e0; stroke: #fb8c00; stroke-width: 1.3; }
  .line { fill: none; stroke: #5c6bc0; stroke-width: 1.6; }
  .arrow { fill: #5c6bc0; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e3e6f0; }
    .small { fill: #a7b0c4; }
    .title { fill: #9fa8da; }
    .band { fill: #262a3d; }
    .box { fill: #1b1e2c; }
    .accent { fill: #3a2b17; }
    .line { stroke: #9fa8da; }
    .arrow { fill: #9fa8da; }
  }
"""


class Diagram:
    """Boxes, arrows and texts of an SVG picture of a given size [px]."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
            'orient="auto-start-reverse"><path class="arrow" d="M 0 1 L 10 5 L 0 9 z"/></marker></defs>',
        ]

    def band(self, x: float, y: float, width: float, height: float) -> None:
        """Draw a background for a group of boxes."""
        self._parts.append(f'<rect class="band" x="{x}" y="{y}" width="{width}" height="{height}" rx="8"/>')

    def text(
        self, x: float, y: float, words: str, style: str = "", anchor: str = "start", turn: float = 0.0
    ) -> None:
        """Write a line of text, rotated by `turn` [degrees]; y is its baseline."""
        rotate = f' transform="rotate({turn} {x} {y})"' if turn else ""
        self._parts.append(
            f'<text class="{style}" x="{x}" y="{y}" text-anchor="{anchor}"{rotate}>{escape(words)}</text>'
        )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        lines: Sequence[str],
        *,
        accent: bool = False,
        code: int = 1,
    ) -> None:
        """Draw a box with centred lines; the first `code` of them are code."""
        style = "accent" if accent else "box"
        self._parts.append(
            f'<rect class="{style}" x="{x}" y="{y}" width="{width}" height="{height}" rx="5"/>'
        )
        first = y + 0.5 * height - 8.5 * (len(lines) - 1) + 5
        for k, line in enumerate(lines):
            self.text(x + 0.5 * width, first + 17 * k, line, "code" if k < code else "small", "middle")

    def arrow(self, *points: tuple[float, float], both: bool = False) -> None:
        """Draw an arrow along points, with a head at the end or at both ends."""
        path = " L ".join(f"{x} {y}" for x, y in points)
        start = ' marker-start="url(#head)"' if both else ""
        self._parts.append(f'<path class="line" d="M {path}" marker-end="url(#head)"{start}/>')

    def polygon(self, points: Sequence[tuple[float, float]], style: str) -> None:
        """Draw a closed polygon."""
        path = " L ".join(f"{x:.1f} {y:.1f}" for x, y in points)
        fill = ' fill="none"' if style == "line" else ""
        self._parts.append(f'<path class="{style}"{fill} d="M {path} Z"/>')

    def line(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Draw a straight line."""
        self._parts.append(
            f'<path class="line" d="M {start[0]:.1f} {start[1]:.1f} L {end[0]:.1f} {end[1]:.1f}"/>'
        )

    def circle(self, center: tuple[float, float], style: str) -> None:
        """Draw a node."""
        self._parts.append(f'<circle class="{style}" cx="{center[0]:.1f}" cy="{center[1]:.1f}" r="6"/>')

    def save(self, name: str) -> None:
        """Write the picture."""
        (IMAGES / name).write_text("\n".join([*self._parts, "</svg>\n"]), encoding="utf-8")


LAYERS = (
    (
        "interfaces",
        "commands, studio, files, pictures",
        (("cli",), ("studio",), ("output",), ("render",)),
    ),
    (
        "assembly",
        "scenes, the time loop, couplings",
        (("scene",), ("world.py",), ("coupling", "contact, fluid")),
    ),
    (
        "phenomena",
        "what happens to bodies",
        (("cutting",),),
    ),
    (
        "bodies",
        "one kind each; none imports another",
        (("solids",), ("shells",), ("springs",), ("rigid",), ("sph",), ("grid_fluids",)),
    ),
    (
        "bodies with elements",
        "what they share",
        (("deformable", "integrators, boundary conditions, statics"),),
    ),
    (
        "contracts",
        "systems and couplings of a world",
        (("registry.py", "kinds of bodies"), ("system.py", "System, Coupling")),
    ),
    (
        "machinery",
        "no bodies, no scene",
        (
            ("contact_solver",), ("collision",), ("timestepping",), ("geometry",),
            ("materials",), ("linalg",), ("sdf",), ("mesh",),
        ),
    ),
    (
        "ground",
        "interfaces, kernels, checks",
        (
            ("body.py",), ("frames.py",), ("environment.py",), ("motion.py",),
            ("numerics",), ("atomic_io.py",), ("validation.py",), ("errors.py",),
        ),
    ),
)  # fmt: skip


def draw_layers() -> None:
    """Draw the layers and their packages."""
    width, row, gap, left = 900, 62, 10, 260
    heights = [row + (row - 12) * ((len(boxes) - 1) // 5) for _, _, boxes in LAYERS]
    picture = Diagram(width, sum(heights) + gap * (len(LAYERS) + 1), "The layers of Continua")
    y = gap
    for (name, note, boxes), height in zip(LAYERS, heights, strict=True):
        picture.band(10, y, width - 60, height)
        picture.text(24, y + 0.5 * height - 3, name, "title")
        picture.text(24, y + 0.5 * height + 15, note, "small")
        lines = 1 + (len(boxes) - 1) // 5
        per_line = -(-len(boxes) // lines)
        step = (width - 70 - left) / per_line
        for k, lines_of_box in enumerate(boxes):
            line, column = divmod(k, per_line)
            picture.box(
                left + 10 + column * step, y + 8 + line * (row - 12), step - 10, row - 20, lines_of_box
            )
        y += height + gap
    picture.arrow((width - 28, 24), (width - 28, y - 24))
    middle = 0.5 * y
    picture.text(width - 18, middle, "imports", "small", "middle", turn=90)
    picture.save("layers.svg")


def draw_step() -> None:
    """Draw a step of the world."""
    picture = Diagram(860, 560, "A step of the world")
    x, width = 20, 330
    rows = (
        (("World.schedule", "events that are due: materials, refine, split"), False),
        (("remap(body, change)", "systems and couplings follow new topologies"), False),
        (("snapshot()", "of everything that a failed step must restore"), False),
        (("before_step(dt)", "callbacks, then couplings"), False),
        (("step(dt)", "systems in their order, see right"), True),
        (("after_step(dt)", "couplings"), False),
        (("reports, time += dt", "or rollback(snapshot) and DivergedError"), False),
    )
    y, height, gap = 40, 52, 20
    picture.text(x, 24, "World.step(dt)", "title")
    for k, (lines, accent) in enumerate(rows):
        picture.box(x, y, width, height, lines, accent=accent)
        if k + 1 < len(rows):
            picture.arrow((x + width / 2, y + height + 1), (x + width / 2, y + height + gap - 1))
        if accent:
            inner = y + height / 2
        y += height + gap
    picture.text(x, y + 8, "World.run: after a whole number of steps World.frame() -> sinks", "small")
    left, wide = 420, 420
    picture.text(left, 24, "systems (order) and couplings", "title")
    picture.arrow((x + width + 2, inner), (385, inner), (385, 66), (left - 2, 66))
    picture.box(left, 40, wide, 52, ("GridFluidSystem (10)", "smoke, liquids, wind tunnels"), accent=True)
    picture.arrow((left + 90, 93), (left + 90, 139))
    picture.text(left + 102, 120, "GridFluidCoupling: forces on rigid bodies", "small")
    picture.box(left, 140, wide, 52, ("FluidSystem (20)", "particle fluids, in sub-steps"), accent=True)
    picture.arrow((left + 90, 193), (left + 90, 239), both=True)
    picture.text(left + 102, 220, "SphCoupling: impulses and motion, every sub-step", "small")
    picture.box(
        left, 240, wide, 52, ("SolidSystem (30)", "soft and rigid bodies, contact, joints"), accent=True
    )
    half = wide / 2 - 10
    right = left + half + 20
    picture.arrow((left + half / 2, 293), (left + half / 2, 329))
    picture.text(left + half / 2 - 8, 315, "touches nothing", "small", "end")
    picture.arrow((right + half / 2, 293), (right + half / 2, 329))
    picture.text(right + half / 2 + 8, 315, "may touch", "small")
    picture.box(left, 330, half, 52, ("SoftBody.step", "advance_with_retries"), code=2)
    picture.box(right, 330, half, 52, ("ContactStepper", "groups of bodies"), code=1)
    picture.arrow((right + half / 2, 383), (right + half / 2, 404))
    picture.box(right, 405, half, 52, ("ContactSubstep", "detect, solve, detect missed"))
    picture.arrow((left + half / 2, 383), (left + half / 2, 479))
    picture.arrow((right + half / 2, 458), (right + half / 2, 479))
    picture.box(
        left, 480, wide, 52, ("Stepper.solve -> VelocitySystem -> linalg", "assembly and linear solve")
    )
    picture.save("step.svg")


def draw_cut_element() -> None:
    """Draw a divided element: its two copies with their matter and their own nodes, and cells for its integrals."""
    picture = Diagram(
        900, 300, "A divided element, its two copies, and the cells over which they are integrated"
    )
    a, b, c = (30.0, 230.0), (250.0, 230.0), (150.0, 50.0)
    s, t = 0.42, 0.30
    p = (a[0] + (1 - s) * (c[0] - a[0]), a[1] + (1 - s) * (c[1] - a[1]))
    q = (b[0] + t * (c[0] - b[0]), b[1] + t * (c[1] - b[1]))

    def moved(point: tuple[float, float], x: float, y: float) -> tuple[float, float]:
        return point[0] + x, point[1] + y

    picture.polygon((a, b, c), "box")
    picture.line(
        (p[0] - 35, p[1] - 35 * (q[1] - p[1]) / (q[0] - p[0])),
        (q[0] + 35, q[1] + 35 * (q[1] - p[1]) / (q[0] - p[0])),
    )
    picture.text(140, 275, "a cut divides an element", anchor="middle")
    for x, y, matter, real in ((300.0, -12.0, (p, q, c), (c,)), (330.0, 12.0, (a, b, q, p), (a, b))):
        picture.polygon(tuple(moved(v, x, y) for v in matter), "accent")
        picture.polygon(tuple(moved(v, x, y) for v in (a, b, c)), "line")
        for node in (a, b, c):
            picture.circle(moved(node, x, y), "accent" if node in real else "band")
    picture.text(455, 275, "a copy for each side, with nodes of its own", anchor="middle")
    for polygon in ((p, q, c), (a, b, q), (a, q, p)):
        picture.polygon(tuple(moved(v, 630, 0) for v in polygon), "box")
    picture.text(770, 275, "cells for its integrals", anchor="middle")
    picture.save("cut-element.svg")


if __name__ == "__main__":
    draw_layers()
    draw_cut_element()
    draw_step()
