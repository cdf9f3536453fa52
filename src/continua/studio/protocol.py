"""The commands that a page sends to the server, as JSON text. Frames go back packed (`output.wire_format`)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict, TypeAdapter, ValidationError

from continua.errors import InputError

__all__ = [
    "MAX_MESSAGE",
    "PROTOCOL",
    "Ack",
    "Add",
    "Build",
    "Cancel",
    "Color",
    "Command",
    "CutAt",
    "EditScene",
    "Export",
    "ExportCancel",
    "Extras",
    "Fluid",
    "Inside",
    "Limit",
    "LoadScene",
    "NewScene",
    "Pace",
    "Pause",
    "PinNode",
    "Play",
    "PressFace",
    "ProbeBegin",
    "ProbeEnd",
    "ProbeMove",
    "PullBegin",
    "PullEnd",
    "PullMove",
    "Record",
    "Recover",
    "Redo",
    "ReplaceScene",
    "Reset",
    "Save",
    "Set",
    "Settle",
    "Sketch",
    "SketchMove",
    "SketchRemove",
    "Step",
    "Streamlines",
    "Undo",
    "parse_command",
]

PROTOCOL = 4
"""Version of the messages; the page reloads itself when it meets another."""

MAX_MESSAGE = 512 * 1024
"""Longest command the server reads, in characters: a list of many nodes, or the text of a scene."""

Number = Annotated[float, Field(allow_inf_nan=False, ge=-1e15, le=1e15)]
Vector = tuple[Number, Number, Number]
Name = Annotated[str, Field(min_length=1, max_length=200)]
PullId = Annotated[int, Field(ge=0, le=2**31)]


class _Command(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Play(_Command):
    """Let the simulation run."""

    type: Literal["play"]


class Pause(_Command):
    """Hold the simulation."""

    type: Literal["pause"]


class Step(_Command):
    """Pause, and do one time step."""

    type: Literal["step"]


class Reset(_Command):
    """Go back to time zero; values that were changed stay as they are."""

    type: Literal["reset"]


class LoadScene(_Command):
    """Load one of the scenes in the list."""

    type: Literal["scene"]
    name: Name


class PullBegin(_Command):
    """Tie a point of a body's surface to `target` [m] by a spring."""

    type: Literal["pull_begin"]
    id: PullId
    body: Name
    triangle: Annotated[int, Field(ge=0, le=2**31)]
    barycentric: Vector
    target: Vector


class PullMove(_Command):
    """Move the target of a pull."""

    type: Literal["pull_move"]
    id: PullId
    target: Vector


class PullEnd(_Command):
    """Let go."""

    type: Literal["pull_end"]
    id: PullId


class Set(_Command):
    """Give a knob of the board a new value."""

    type: Literal["set"]
    key: Name
    value: Annotated[bool, Strict()] | Number | Vector | Name


class Settle(_Command):
    """Go to the static equilibrium and rest there."""

    type: Literal["settle"]


class Color(_Command):
    """Choose the field whose values this page receives, or none."""

    type: Literal["color"]
    field: Name | None


class Fluid(_Command):
    """Choose how fluids are drawn on this page: as particles, or as a surface around them."""

    type: Literal["fluid"]
    look: Literal["points", "surface"]


class Inside(_Command):
    """Choose what this page draws inside of soft bodies: nothing, surfaces of equal value, or the volume."""

    type: Literal["inside"]
    look: Literal["none", "surfaces", "volume"]
    levels: Annotated[list[Number], Field(max_length=8)] = []


class Extras(_Command):
    """Choose what this page receives besides bodies: contact forces, and the lines of joints."""

    type: Literal["extras"]
    forces: bool
    joints: bool


class Ack(_Command):
    """The page has shown the frame `seq`; only then it gets more."""

    type: Literal["ack"]
    seq: Annotated[int, Field(ge=0)]


class CutAt(_Command):
    """Show only the elements on one side of a plane across an axis, or all without one."""

    type: Literal["cut"]
    axis: Literal[0, 1, 2] | None
    place: Annotated[float, Field(allow_inf_nan=False, ge=0, le=1)] = 0.5
    flip: Annotated[bool, Strict()] = False


class Change(_Command):
    """One change of the document: where, and what."""

    op: Literal["set", "add", "remove"]
    path: Annotated[list[Name | Annotated[int, Field(ge=0, le=10**6)]], Field(max_length=40)]
    value: Any = None


class EditScene(_Command):
    """Change the document; all changes count, or none.

    `label` is what undo calls it, edits in a row with the same `merge` are taken back together, and `field` is told
    what is wrong.
    """

    type: Literal["edit"]
    changes: Annotated[list[Change], Field(min_length=1, max_length=1000)]
    label: Annotated[str, Field(max_length=200)] = "edit"
    merge: Annotated[str, Field(max_length=500)] = ""
    field: Annotated[str, Field(max_length=500)] = ""


class Add(_Command):
    """Add a primitive shape to the scene, as a body or an obstacle."""

    type: Literal["add"]
    kind: Name
    shape: Name


class PressFace(_Command):
    """Load the face under a triangle of a body's surface with a traction [Pa] along its normal; positive pulls.

    It acts in the next step only, or is kept as a load of the scene.
    """

    type: Literal["press"]
    body: Name
    triangle: Annotated[int, Field(ge=0, le=2**31)]
    traction: Number
    keep: Annotated[bool, Strict()] = False


class Undo(_Command):
    """Take the last edit back."""

    type: Literal["undo"]


class Redo(_Command):
    """Do again what was taken back."""

    type: Literal["redo"]


class Save(_Command):
    """Write the document into its file, or into another in its folder."""

    type: Literal["save"]
    file: Name | None = None


class Recover(_Command):
    """Take over the edits that a studio left behind when it was killed."""

    type: Literal["recover"]


class NewScene(_Command):
    """Begin with an empty scene."""

    type: Literal["new"]


class ReplaceScene(_Command):
    """Take over the text of a scene file."""

    type: Literal["replace"]
    text: Annotated[str, Field(max_length=MAX_MESSAGE)]


class Build(_Command):
    """Make the world anew from the document, at its start."""

    type: Literal["build"]


class Cancel(_Command):
    """End the build at hand as soon as that is possible."""

    type: Literal["cancel"]


class Export(_Command):
    """Run the scene from its start into files of a format, beside what the page shows."""

    type: Literal["export"]
    format: Name


class ExportCancel(_Command):
    """End the export or the recording at hand, without a result."""

    type: Literal["export_cancel"]


class Record(_Command):
    """Begin to keep what the page shows, or end that and make the file."""

    type: Literal["record"]
    on: Annotated[bool, Strict()]
    format: Name = "html"


class ProbeBegin(_Command):
    """Put a ball of `radius` [m] at `place` [m]; where a body is in the way it is moved `back`."""

    type: Literal["probe_begin"]
    place: Vector
    radius: Annotated[float, Field(allow_inf_nan=False, gt=0, le=1e6)]
    back: Vector


class ProbeMove(_Command):
    """Let the ball go to another place [m]."""

    type: Literal["probe_move"]
    place: Vector


class ProbeEnd(_Command):
    """Take the ball away."""

    type: Literal["probe_end"]


class PinNode(_Command):
    """Hold a node where it is now; if a hand holds it already, let it go."""

    type: Literal["pin"]
    body: Name
    node: Annotated[int, Field(ge=0, le=2**31)]


class Sketch(_Command):
    """Put an obstacle into a plane flow: a polygon [m], or a smooth curve near its corners."""

    type: Literal["sketch"]
    points: Annotated[list[tuple[Number, Number]], Field(min_length=3, max_length=500)]
    smooth: Annotated[bool, Strict()] = True


class SketchMove(_Command):
    """Move an obstacle of a plane flow by a distance [m]."""

    type: Literal["sketch_move"]
    number: Annotated[int, Field(ge=0, le=2**31)]
    shift: tuple[Number, Number]


class SketchRemove(_Command):
    """Take an obstacle out of a plane flow."""

    type: Literal["sketch_remove"]
    number: Annotated[int, Field(ge=0, le=2**31)]


class Streamlines(_Command):
    """Send lines along a plane flow, or no longer."""

    type: Literal["streamlines"]
    on: Annotated[bool, Strict()]


class Limit(_Command):
    """Stop at the time that the scene says, or go on."""

    type: Literal["limit"]
    on: Annotated[bool, Strict()]


class Pace(_Command):
    """Run as fast as the machine can instead of in real time."""

    type: Literal["pace"]
    fast: Annotated[bool, Strict()]


Command = (
    Play | Pause | Step | Reset | LoadScene | PullBegin | PullMove | PullEnd | Set | Settle | Color | Fluid | CutAt
    | Extras
    | Ack | EditScene | Add | PressFace | Undo | Redo | Save | Recover | NewScene | ReplaceScene | Build | Cancel
    | Limit | Pace | Inside | Export | ExportCancel | Record | ProbeBegin | ProbeMove | ProbeEnd | PinNode
    | Sketch | SketchMove | SketchRemove | Streamlines
)  # fmt: skip

_ADAPTER: TypeAdapter[Command] = TypeAdapter(Annotated[Command, Field(discriminator="type")])


def parse_command(text: str) -> Command:
    """Return the command written in `text`; raise `InputError` with one sentence if there is none."""
    if len(text) > MAX_MESSAGE:
        raise InputError(f"the message has {len(text)} characters; at most {MAX_MESSAGE} are read")
    try:
        return _ADAPTER.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        if first["type"] == "union_tag_invalid":
            raise InputError(f"there is no command '{first['ctx']['tag'][:50]}'") from None
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"the message was not understood ({first['msg']})", where=place) from None
