"""The commands that a page sends to the server, as JSON text.

The server answers with JSON text and with binary messages for meshes and frames (`output.wire_format`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict, TypeAdapter, ValidationError

from continua.errors import InputError

__all__ = [
    "MAX_MESSAGE",
    "PROTOCOL",
    "Ack",
    "AddObstacle",
    "AddShape",
    "Build",
    "Cancel",
    "ColorBy",
    "Command",
    "EditScene",
    "Export",
    "ExportCancel",
    "LoadScene",
    "MoveObstacle",
    "NewScene",
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
    "RemoveObstacle",
    "ReplaceScene",
    "Reset",
    "Save",
    "SetClipPlane",
    "SetFast",
    "SetFluidStyle",
    "SetInterior",
    "SetOverlays",
    "SetParameter",
    "SetTimeLimit",
    "Settle",
    "ShowStreamlines",
    "StartFrom",
    "Step",
    "Undo",
    "parse_command",
]

PROTOCOL = 6
"""Version of the messages; the page reloads itself if the server has another."""

MAX_MESSAGE = 512 * 1024
"""Maximum length of a command in characters: a list of many nodes, or the text of a scene."""

Number = Annotated[float, Field(allow_inf_nan=False, ge=-1e15, le=1e15)]
Vector = tuple[Number, Number, Number]
Name = Annotated[str, Field(min_length=1, max_length=200)]
PullId = Annotated[int, Field(ge=0, le=2**31)]


class _Command(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Play(_Command):
    """Run the simulation."""

    type: Literal["play"]


class Pause(_Command):
    """Pause the simulation."""

    type: Literal["pause"]


class Step(_Command):
    """Pause, and compute one time step."""

    type: Literal["step"]


class Reset(_Command):
    """Go back to time zero; changed parameters keep their values."""

    type: Literal["reset"]


class LoadScene(_Command):
    """Load one of the scenes in the list."""

    type: Literal["load_scene"]
    name: Name


class PullBegin(_Command):
    """Attach a spring from a point of a body's surface to `target` [m]."""

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
    """End a pull."""

    type: Literal["pull_end"]
    id: PullId


class SetParameter(_Command):
    """Set a parameter of the control panel."""

    type: Literal["set_parameter"]
    key: Name
    value: Annotated[bool, Strict()] | Number | Vector | Name


class Settle(_Command):
    """Solve for the static equilibrium and rest there."""

    type: Literal["settle"]


class ColorBy(_Command):
    """Select the field whose values this page receives, or none."""

    type: Literal["color_by"]
    field: Name | None


class SetFluidStyle(_Command):
    """Select how this page draws fluids: as particles, or as a reconstructed surface."""

    type: Literal["fluid_style"]
    style: Literal["points", "surface"]


class SetInterior(_Command):
    """Select what this page draws inside soft bodies: nothing, isosurfaces, or a volume rendering."""

    type: Literal["interior"]
    mode: Literal["none", "surfaces", "volume"]
    levels: Annotated[list[Number], Field(max_length=8)] = []


class SetOverlays(_Command):
    """Select what this page receives besides bodies: contact forces, and joint lines."""

    type: Literal["overlays"]
    forces: bool
    joints: bool


class Ack(_Command):
    """The page has drawn the frame `seq` and can receive more."""

    type: Literal["ack"]
    seq: Annotated[int, Field(ge=0)]


class SetClipPlane(_Command):
    """Show only the elements on one side of a plane normal to an axis, or all without one."""

    type: Literal["clip"]
    axis: Literal[0, 1, 2] | None
    position: Annotated[float, Field(allow_inf_nan=False, ge=0, le=1)] = 0.5
    flip: Annotated[bool, Strict()] = False


class Change(_Command):
    """One change of the document: an operation at a path."""

    op: Literal["set", "add", "remove"]
    path: Annotated[list[Name | Annotated[int, Field(ge=0, le=10**6)]], Field(max_length=40)]
    value: Any = None


class EditScene(_Command):
    """Change the document; all changes are applied, or none.

    `label` names the edit for undo, consecutive edits with the same `merge` are undone together, and errors are
    reported at `field`.
    """

    type: Literal["edit"]
    changes: Annotated[list[Change], Field(min_length=1, max_length=1000)]
    label: Annotated[str, Field(max_length=200)] = "edit"
    merge: Annotated[str, Field(max_length=500)] = ""
    field: Annotated[str, Field(max_length=500)] = ""


class StartFrom(_Command):
    """Replace the document by one of the small scenes to start from, and run it."""

    type: Literal["start_from"]
    name: Name


class AddShape(_Command):
    """Add a template to the scene: a body, a collider, a joint or an emitter."""

    type: Literal["add_shape"]
    kind: Name
    shape: Name


class PressFace(_Command):
    """Apply a normal traction [Pa] to the face of a surface triangle; positive is outward.

    It acts in the next step only, or is kept as a load of the scene.
    """

    type: Literal["press_face"]
    body: Name
    triangle: Annotated[int, Field(ge=0, le=2**31)]
    traction: Number
    keep: Annotated[bool, Strict()] = False


class Undo(_Command):
    """Undo the last edit."""

    type: Literal["undo"]


class Redo(_Command):
    """Redo the edit that was undone last."""

    type: Literal["redo"]


class Save(_Command):
    """Write the document to its file, or to another one in its folder; one that exists is replaced on request only."""

    type: Literal["save"]
    file: Name | None = None
    replace: Annotated[bool, Strict()] = False


class Recover(_Command):
    """Restore the unsaved edits of an earlier session."""

    type: Literal["recover"]


class NewScene(_Command):
    """Start with an empty scene."""

    type: Literal["new"]


class ReplaceScene(_Command):
    """Replace the document by the text of a scene file."""

    type: Literal["replace"]
    text: Annotated[str, Field(max_length=MAX_MESSAGE)]


class Build(_Command):
    """Rebuild the world from the document, at time zero; one that is large is built on request only."""

    type: Literal["build"]
    large: Annotated[bool, Strict()] = False


class Cancel(_Command):
    """Cancel the current build as soon as possible."""

    type: Literal["cancel"]


class Export(_Command):
    """Run the scene from its start and write files of a format, in the background."""

    type: Literal["export"]
    format: Name


class ExportCancel(_Command):
    """Cancel the current export or recording."""

    type: Literal["export_cancel"]


class Record(_Command):
    """Start recording what the page shows, or stop and write the file."""

    type: Literal["record"]
    on: Annotated[bool, Strict()]
    format: Name = "html"


class ProbeBegin(_Command):
    """Add a ball of `radius` [m] at `position` [m]; inside a body it is moved along `retreat` first."""

    type: Literal["probe_begin"]
    position: Vector
    radius: Annotated[float, Field(allow_inf_nan=False, gt=0, le=1e6)]
    retreat: Vector


class ProbeMove(_Command):
    """Move the ball to another position [m]."""

    type: Literal["probe_move"]
    position: Vector


class ProbeEnd(_Command):
    """Remove the ball."""

    type: Literal["probe_end"]


class PinNode(_Command):
    """Pin a node where it is now, or release it if it was pinned so before."""

    type: Literal["pin_node"]
    body: Name
    node: Annotated[int, Field(ge=0, le=2**31)]


class AddObstacle(_Command):
    """Add an obstacle to a 2D flow: a polygon [m], or a smooth curve near its corners."""

    type: Literal["add_obstacle"]
    points: Annotated[list[tuple[Number, Number]], Field(min_length=3, max_length=500)]
    smooth: Annotated[bool, Strict()] = True


class MoveObstacle(_Command):
    """Move an obstacle of a 2D flow by an offset [m]."""

    type: Literal["move_obstacle"]
    number: Annotated[int, Field(ge=0, le=2**31)]
    offset: tuple[Number, Number]


class RemoveObstacle(_Command):
    """Remove an obstacle from a 2D flow."""

    type: Literal["remove_obstacle"]
    number: Annotated[int, Field(ge=0, le=2**31)]


class ShowStreamlines(_Command):
    """Show or hide streamlines of a 2D flow."""

    type: Literal["streamlines"]
    on: Annotated[bool, Strict()]


class SetTimeLimit(_Command):
    """Stop at the duration of the scene, or continue."""

    type: Literal["time_limit"]
    on: Annotated[bool, Strict()]


class SetFast(_Command):
    """Run as fast as possible instead of in real time."""

    type: Literal["fast"]
    on: Annotated[bool, Strict()]


Command = (
    Play | Pause | Step | Reset | Settle | SetTimeLimit | SetFast | LoadScene | NewScene | ReplaceScene | Build | Cancel
    | PullBegin | PullMove | PullEnd | ProbeBegin | ProbeMove | ProbeEnd | PinNode | PressFace
    | SetParameter | EditScene | AddShape | StartFrom | Undo | Redo | Save | Recover
    | Ack | ColorBy | SetFluidStyle | SetInterior | SetOverlays | SetClipPlane
    | Export | ExportCancel | Record | AddObstacle | MoveObstacle | RemoveObstacle | ShowStreamlines
)  # fmt: skip

_ADAPTER: TypeAdapter[Command] = TypeAdapter(Annotated[Command, Field(discriminator="type")])


def parse_command(text: str) -> Command:
    """Return the command in `text`; raise `InputError` with one sentence if it is invalid."""
    if len(text) > MAX_MESSAGE:
        raise InputError(f"the message has {len(text)} characters; at most {MAX_MESSAGE} are allowed")
    try:
        return _ADAPTER.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        if first["type"] == "union_tag_invalid":
            raise InputError(f"there is no command '{first['ctx']['tag'][:50]}'") from None
        location = ".".join(str(part) for part in first["loc"])
        raise InputError(f"the message is invalid ({first['msg']})", where=location) from None
