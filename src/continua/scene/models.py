"""The scene: all options, their defaults, units and meaning. Files, docs and panels are made from it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import AfterValidator, PrivateAttr, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from continua.file_input import check_file
from continua.registry import load_plugins, on_new_body_kind
from continua.scene.bodies import Body
from continua.scene.environment import Change, Collider, Contact, Wind
from continua.scene.errors import Location, Source, scene_error
from continua.scene.formats import Format
from continua.scene.rigid import Joint
from continua.scene.shipped import shipped_file
from continua.scene.types import Count, Flag, Model, Name, Number, PictureSize, Text, Vector, option
from continua.scene.types import Path as PathText
from continua.short_repr import counted

if TYPE_CHECKING:
    from continua.world import World

__all__ = ["Camera", "Output", "Picture", "Scene"]

MAX_STEPS = 10_000_000


def _stays_inside(value: str) -> str:
    for kind in (PurePosixPath, PureWindowsPath):
        path = kind(value)
        if path.is_absolute() or path.drive or path.root or ".." in path.parts:
            raise PydanticCustomError(
                "path_outside", "must be a relative folder without '..'; use -o on the command line instead"
            )
    return value


class Camera(Model):
    """Where pictures are taken from.

    By default the camera is fitted to the bodies; `azimuth` and `elevation` turn it. With `position` it
    stands where it is told.
    """

    azimuth: Number | None = option(
        "Angle about the y axis, from z towards x.", None, unit="deg", ge=-360, le=360
    )
    elevation: Number | None = option("Angle above the horizon.", None, unit="deg", ge=-89, le=89)
    position: Vector | None = option("Where the camera stands, instead of the angles.", None, unit="m")
    target: Vector | None = option("What a placed camera looks at; by default the middle.", None, unit="m")
    fov: Number | None = option("Vertical angle of view.", None, unit="deg", ge=1, le=150)

    @model_validator(mode="after")
    def _placed_or_fitted(self) -> Self:
        turned = self.azimuth is not None or self.elevation is not None
        if turned and self.position is not None:
            raise PydanticCustomError(
                "two_cameras", "takes either 'position' or 'azimuth' and 'elevation', not both"
            )
        if self.target is not None and self.position is None:
            raise PydanticCustomError("no_position", "'target' needs 'position' beside it")
        return self


class Picture(Model):
    """How pictures and films look."""

    color: Literal[
        "von_mises", "displacement", "velocity", "contact_force", "stress", "stretch", "energy_density",
        "plastic_strain", "inverted", "overlap", "paint", "pressure", "density_error", "vorticity", "smoke",
        "temperature", "voxels", "plain",
    ] = option(
        "What the colours of the bodies show. Bodies that do not have it are drawn in their own colour, but what is "
        "asked for must suit one of them. Without soft bodies the default is `smoke` or `velocity` if there are smoke "
        "or wind tunnels.",
        "von_mises",
    )  # fmt: skip
    fluid: Literal["auto", "points", "surface"] = option(
        "How fluids are drawn: particles, or a surface around them, which needs the `fluid` extra; `auto` draws the "
        "surface if the extra is installed.",
        "points",
    )
    inside: Literal["none", "surfaces", "volume"] = option(
        "What is drawn inside of soft bodies, which become glass: surfaces of equal value of the field of the colours, "
        "or the field as a volume that is more opaque where it is high. Needs the `render` extra.",
        "none",
    )
    levels: Count = option("How many surfaces of equal value, evenly over the range.", 5, ge=1, le=50)
    contact_forces: Flag = option("Draw arrows of the contact forces on all bodies.", False)
    joints: Flag = option("Draw rods from the joints of rigid bodies to the bodies' centres.", False)
    size: PictureSize = option("Width and height.", (1280, 720), unit="px")
    camera: Camera | None = option("Where pictures are taken from.", None)

    @model_validator(mode="after")
    def _something_inside(self) -> Self:
        if self.inside != "none" and self.color == "plain":
            raise PydanticCustomError(
                "nothing_inside", "'inside' shows the field of the colours; choose a 'color'"
            )
        return self


class Output(Model):
    """What a run writes."""

    formats: list[Format] = option(
        "Files written for the frames; `html` plays in a browser.", ["vtu"], max_length=32
    )
    fields: list[Literal["stress", "stretch", "energy_density", "plastic_strain", "inverted", "overlap"]] = (
        option(
            "Fields that are written besides displacement, velocity and von Mises stress.",
            [],
            max_length=6,
        )
    )
    folder: Annotated[PathText, AfterValidator(_stays_inside)] | None = option(
        "Folder for the results, inside the current one; by default out/NAME.", None
    )
    checkpoint_every: Count = option("Frames between two checkpoints.", 10, ge=1, le=1_000_000)
    picture: Picture = option("How pictures and films look.", Picture())


class Scene(Model):
    """A simulation: bodies, what surrounds them, how long it runs and what it writes."""

    name: Name = option("Name of the scene; by default that of the file.", "scene")
    description: Text = option("What there is to see, in a sentence.", "")
    seconds: Number = option("Simulated time.", 2.0, unit="s", gt=0, le=1e6)
    fps: Number = option("Frames per simulated second.", 60.0, unit="1/s", gt=0, le=1e6)
    dt: Number = option(
        "Longest time step; it is shortened to divide a frame evenly.", 0.01, unit="s", gt=0, le=100
    )
    gravity: Vector = option("Acceleration of all bodies.", (0.0, -9.81, 0.0), unit="m/s²")
    start_at_equilibrium: Flag = option(
        "Whether bodies start at their static equilibrium instead of their rest shape; each must be held.",
        False,
    )
    bodies: list[Body] = option("What is simulated.", min_length=1, max_length=1000)
    joints: list[Joint] = option(
        "What joins rigid bodies to each other or to the world.", [], max_length=100_000
    )
    colliders: list[Collider] = option("Fixed obstacles.", [], max_length=1000)
    contact: Contact = option("How things touch: friction, restitution, thickness, pairs.", Contact())
    wind: Wind | None = option("Moving air.", None)
    changes: list[Change] = option("Changes of materials and meshes while it runs.", [], max_length=100_000)
    output: Output = option("What a run writes.", Output())

    _source: Source = PrivateAttr(default_factory=Source)

    @model_validator(mode="after")
    def _unique_names(self) -> Self:
        for name, count in Counter(body.name for body in self.bodies).items():
            if count > 1:
                raise PydanticCustomError(
                    "same_names",
                    "{count} bodies are called '{name}'; give each its own name",
                    {"count": count, "name": name, "at": ["bodies"]},
                )
        return self

    @model_validator(mode="after")
    def _sane_length(self) -> Self:
        steps = self.seconds * max(self.fps, 1.0 / self.dt)
        if steps > MAX_STEPS:
            raise PydanticCustomError(
                "too_many_steps",
                "asks for {steps} steps; use fewer seconds, fewer frames or a longer dt",
                {"steps": f"{steps:.3g}", "at": ["seconds"]},
            )
        return self

    @classmethod
    def from_data(cls, data: dict[str, Any], source: Source | None = None) -> Self:
        """Make a scene from plain data; what is wrong is said with file, line and key."""
        load_plugins()
        source = source or Source()
        try:
            scene = cls.model_validate(data)
        except ValidationError as error:
            raise scene_error(error, data, source) from None
        scene._source = source
        return scene

    @classmethod
    def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
        """Return the JSON schema of scene files, with all registered kinds of bodies."""
        load_plugins()
        return super().model_json_schema(*args, **options)

    def with_options(self, **changes: Any) -> Self:
        """Return a copy with other top-level options, checked like the rest.

        None leaves an option as it is; a mapping changes only the keys it has.
        """
        data = self.model_dump(exclude_unset=True)
        for key, value in changes.items():
            if isinstance(value, dict):
                inner = {name: item for name, item in value.items() if item is not None}
                data[key] = {**data.get(key, {}), **inner}
            elif value is not None:
                data[key] = value
        changed = self.from_data(data)  # the file is right already: a problem is one of the changes
        changed._source = self._source
        return changed

    @property
    def source(self) -> Source:
        """Where the scene comes from, for messages and files beside it."""
        return self._source

    @source.setter
    def source(self, source: Source) -> None:
        self._source = source

    def build(self) -> World:
        """Return the world that this scene describes, ready to step."""
        from continua.scene.build import build_world

        return build_world(self)

    def __repr__(self) -> str:
        counts = [counted(len(self.bodies), "body")]
        counts += [counted(len(self.colliders), "collider")] if self.colliders else []
        return f"Scene({self.name!r}, {', '.join(counts)}, {self.seconds:g} s at {self.fps:g} frames/s)"

    def __str__(self) -> str:
        return repr(self)

    def at(self, *key: str | int) -> Location:
        """Return the place of a key, for messages: `with scene.at("bodies", 0): ...` adds it to errors."""
        return Location(self._source, key)

    @property
    def path(self) -> Path | None:
        """The file this scene was read from, or None."""
        return self._source.path

    @property
    def text(self) -> str:
        """The scene as YAML: the file's own text, or one made from the options that were set."""
        return self._source.text or self.options_text

    @property
    def options_text(self) -> str:
        """The options that were set, as YAML without comments."""
        import yaml

        return yaml.safe_dump(self.model_dump(mode="json", exclude_unset=True), sort_keys=False)

    def file(self, path: str) -> Path:
        """Return where a file named in the scene is: relative to the scene's folder, or among the shipped files."""
        folder = self._source.path.parent if self._source.path else Path()
        file, shipped = folder / Path(path).expanduser(), shipped_file(path)
        return shipped if shipped is not None and not file.exists() else file

    def fingerprint(self) -> str:
        """Return a digest of all that decides the results; a run may only be resumed when it is the same.

        How long the run is and what it writes may change; the contents of mesh files may not.
        """
        data = self.model_dump(mode="json", exclude={"description", "seconds", "output"})
        digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode())
        for _, path in _files(data):
            for file in _matching(self.file(path)):
                digest.update(file.read_bytes())
        return digest.hexdigest()

    def check_files(self) -> None:
        """Raise SceneError where a file that the scene names is not there; nothing is read."""
        for key, path in _files(self.model_dump(mode="json")):
            if not _is_pattern(path):
                with self.at(*key[:-1]):
                    check_file(self.file(path), where=path)


@on_new_body_kind
def _rebuild() -> None:
    """Make the schema of scenes anew from all registered kinds of bodies."""
    Scene.model_rebuild(force=True)


def _matching(path: Path) -> list[Path]:
    """Return the files of a path, or of a pattern, that are there."""
    if path.is_file():
        return [path]
    if not _is_pattern(path.name):
        return []
    return sorted(file for file in path.parent.glob(path.name) if file.is_file())


def _is_pattern(name: str) -> bool:
    return any(mark in name for mark in "*?[")


def _files(data: Any, key: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Return the key and the name of the files in a scene's data: meshes and distance fields."""
    if isinstance(data, dict):
        for word, value in data.items():
            if word in ("path", "field") and isinstance(value, str):
                yield (*key, word), value
            else:
                yield from _files(value, (*key, word))
    elif isinstance(data, list):
        for number, value in enumerate(data):
            yield from _files(value, (*key, number))
