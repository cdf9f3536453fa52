"""A place for frames until the end of a run, for formats that hold a whole run in one file.

Such a file needs to know all frames before its first byte: the range of the colours, the camera, the number
of frames. The spool keeps what the format needs of each frame in a small file of its own, single precision;
what stays the same from frame to frame (connectivity, undeformed positions) is kept once. It outlives the
run, because a run may be resumed after its end, from any earlier checkpoint.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from continua.atomic_io import atomic_write
from continua.errors import InputError
from continua.frames import (
    BodyFields,
    BodyFrame,
    ContactForces,
    EmbeddedSurface,
    Field,
    Frame,
    TopologyCache,
    Volume,
)
from continua.output.files import file_names
from continua.output.folder import OWN_FOLDER, OutputFolder
from continua.output.sequence import check_earlier_frames, check_next
from continua.render.composition import visible_smoke
from continua.textures import Texture
from continua.voxels import Voxels

__all__ = ["Spool"]

_SUFFIX = ".npz"


def _plain(value: Any) -> Any:
    """Return `value` as JSON can hold it."""
    return np.asarray(value).tolist()


class Spool:
    """Frames on disk, reduced to what a picture or an animation of the surface needs.

    It is in `.continua/spool` below the output folder, one folder for each choice of what is kept.

    Args:
        output: The output folder of the run.
        color: The field to keep of the bodies that have it, as one number per node, or "plain" for none.
        volume: Keep all nodes and cells, not only the surface.

    Attributes:
        indices: The numbers of the frames that are kept, in order.
    """

    def __init__(self, output: OutputFolder, color: str, *, volume: bool = False) -> None:
        self.output = output
        self.name = f"{OWN_FOLDER}/spool/{'volume' if volume else 'surface'}-{file_names([color])[color]}"
        self.folder = output.path / self.name
        self.color = color
        self.volume = volume
        self.indices: list[int] = []
        self._next = 0
        self._kept: TopologyCache[tuple[NDArray, str]] = TopologyCache()
        self._fixed: dict[str, dict[str, NDArray]] = {}
        self._textures: dict[str, Texture] = {}

    @property
    def count(self) -> int:
        """How many frames are kept."""
        return len(self.indices)

    def open(self, kind: str, start: int) -> None:
        """Keep the frames before number `start` and delete all later ones; `kind` is the format, for messages."""
        self.output.subfolder(self.name)
        found = self.output.frames(self.folder, _SUFFIX)
        listed = self.output.frames(self.folder, _SUFFIX, existing=False)
        check_earlier_frames(kind, start, listed, found, self.folder)
        self.output.remove(path for index, paths in listed.items() if index >= start for path in paths)
        self.indices = sorted(index for index in found if index < start)
        self._next = start
        self._kept.clear()
        self._fixed.clear()
        if self.indices:
            self.read(self.indices[-1])

    def _path(self, index: int) -> Path:
        return self.folder / f"frame_{index:06d}{_SUFFIX}"

    def append(self, frame: Frame) -> None:
        """Keep `frame`, which must be the next one."""
        check_next(frame, self._next, self.folder)
        path = self._path(frame.index)
        if not path.exists():  # otherwise another format of this run, which shares the spool, kept it
            self._keep(frame, path)
        self._next += 1
        self.indices.append(frame.index)

    def _keep(self, frame: Frame, path: Path) -> None:
        """Write what is kept of `frame` to `path`."""
        arrays: dict[str, NDArray] = {}
        bodies = []
        for i, found in enumerate(frame):
            body = found if self.volume else found.with_embedded_surface(self.color)
            whole = self.volume or body.point_radius is not None
            nodes = np.arange(len(body.positions)) if whole else np.unique(body.triangles)
            arrays[f"positions{i}"] = np.asarray(body.positions)[nodes].astype(np.float32)
            unit = ""
            if self.color in body.fields:  # bodies without it are drawn plainly
                unit = body.fields[self.color].unit
                arrays[f"values{i}"] = body.scalars(self.color)[nodes].astype(np.float32)
            fog = visible_smoke(body, self.color)
            if fog is not None:
                arrays[f"fog{i}"] = np.asarray(fog.fields["smoke"].values, np.float16)
            if body.contacts is not None and len(body.contacts):
                pressed = np.hstack([body.contacts.points, body.contacts.forces])
                arrays[f"contacts{i}"] = pressed.astype(np.float32)
            fixed = self._keep_fixed(body, nodes)
            skin = body.skin if self.volume else None
            bodies.append(
                {
                    "name": body.name,
                    "kind": body.kind,
                    "color": body.color,
                    "unit": unit,
                    "fixed": fixed,
                    "point_radius": body.point_radius,
                    "topology_version": body.topology_version,
                    "texture": self._keep_texture(body.texture),
                    "skin_texture": None if skin is None else self._keep_texture(skin.texture),
                    "grid": None if fog is None else [*fog.origin, fog.spacing],
                }
            )
        if len(frame.joints):
            arrays["joints"] = np.asarray(frame.joints, np.float32)
        about = {
            "step": frame.step,
            "time": frame.time,
            "bodies": bodies,
            "colliders": [
                {
                    key: self._keep_texture(value) if isinstance(value, Texture) else value
                    for key, value in about.items()
                    if not isinstance(value, np.ndarray)
                }
                for about in frame.colliders
            ],
        }
        for n, shape in enumerate(frame.colliders):
            arrays |= {f"collider{n}_{k}": v for k, v in shape.items() if isinstance(v, np.ndarray)}
        text = json.dumps(about, default=lambda v: dict(v) if isinstance(v, Mapping) else _plain(v))
        arrays["about"] = np.frombuffer(text.encode(), np.uint8)
        with atomic_write(self.output.record(path)) as file:
            np.savez(file, allow_pickle=False, **arrays)

    def _keep_fixed(self, body: BodyFrame, nodes: NDArray) -> str:
        """Write what does not move, once per topology, under a name made from its contents; return the name."""
        rest, name = self._kept.get(body, lambda: self._write_fixed(body, nodes))
        if rest is not body.rest_positions:  # a body may take another rest shape with the same elements
            _, name = self._kept.replace(body, self._write_fixed(body, nodes))
        return name

    def _write_fixed(self, body: BodyFrame, nodes: NDArray) -> tuple[NDArray, str]:
        """Write the rest positions and the connectivity unless a file has them; return the former and its name."""
        arrays = {
            "rest": np.asarray(body.rest_positions)[nodes],
            "triangles": np.searchsorted(nodes, body.triangles).astype(np.int32).reshape(-1, 3),
        }
        if body.uv is not None:
            arrays["uv"] = np.asarray(body.uv, np.float32)
        if self.volume:
            arrays |= {f"cells_{kind}": np.asarray(cells) for kind, cells in body.cells.items()}
        if self.volume and body.skin is not None:
            skin = body.skin
            parts = {
                "rest": skin.rest,
                "triangles": skin.triangles,
                "nodes": skin.nodes,
                "weights": skin.weights,
            }
            parts |= {} if skin.uv is None else {"uv": np.asarray(skin.uv, np.float32)}
            arrays |= {f"skin_{key}": array for key, array in parts.items()}
        if self.volume and self.color == "voxels" and body.voxels is not None:
            image = body.voxels
            arrays |= {"voxels": image.values, "voxel_place": np.array([image.origin, image.spacing])}
        digest = hashlib.sha256()
        for key, array in arrays.items():
            digest.update(f"{key}{array.shape}{array.dtype.str}".encode() + array.tobytes())
        name = f"fixed-{digest.hexdigest()[:24]}"
        path = self.folder / (name + _SUFFIX)
        if not path.exists():
            with atomic_write(self.output.record(path)) as file:
                np.savez(file, allow_pickle=False, **arrays)
        return body.rest_positions, name

    def _keep_texture(self, texture: Texture | None) -> str | None:
        """Write an image once, under a name made from its contents; return the name."""
        if texture is None:
            return None
        name = f"texture-{texture.digest}"
        path = self.folder / (name + _SUFFIX)
        if name not in self._textures and not path.exists():
            with atomic_write(self.output.record(path)) as file:
                np.savez(file, allow_pickle=False, pixels=texture.pixels, factor=np.array(texture.factor))
        self._textures[name] = texture
        return name

    def _read_texture(self, name: str | None) -> Texture | None:
        if name is None:
            return None
        if name not in self._textures:
            with np.load(self.folder / (name + _SUFFIX)) as data:
                r, g, b = data["factor"].tolist()
                self._textures[name] = Texture(data["pixels"], (r, g, b))
        return self._textures[name]

    def _read_fixed(self, name: str) -> dict[str, NDArray]:
        if name not in self._fixed:
            with np.load(self.folder / (name + _SUFFIX)) as data:
                self._fixed[name] = {key: data[key] for key in data.files}
        return self._fixed[name]

    def read(self, index: int) -> Frame:
        """Return frame `index` as far as it was kept; arrays that do not change are the same objects."""
        try:
            with np.load(self._path(index)) as data:
                about = json.loads(data["about"].tobytes())
                bodies = {}
                for i, item in enumerate(about["bodies"]):
                    bodies[item["name"]] = self._body(
                        item,
                        data[f"positions{i}"],
                        data.get(f"values{i}"),
                        data.get(f"fog{i}"),
                        data.get(f"contacts{i}"),
                    )
                joints = np.asarray(data.get("joints", np.zeros((0, 2, 3))), np.float64)
                for n, shape in enumerate(about["colliders"]):
                    start = f"collider{n}_"
                    shape |= {key[len(start) :]: data[key] for key in data.files if key.startswith(start)}
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise InputError(
                f"frame {index} cannot be read back ({error}); run again from the start with --force",
                where=str(self.folder),
            ) from None
        return Frame(
            index=index,
            step=about["step"],
            time=about["time"],
            bodies=bodies,
            colliders=tuple(
                shape | {"texture": self._read_texture(shape["texture"])} if "texture" in shape else shape
                for shape in about["colliders"]
            ),
            joints=joints,
        )

    def _body(
        self,
        item: dict[str, Any],
        positions: NDArray,
        values: NDArray | None,
        fog: NDArray | None,
        pressed: NDArray | None,
    ) -> BodyFrame:
        fixed = self._read_fixed(item["fixed"])
        volume = None
        if fog is not None:
            x, y, z, spacing = item["grid"]
            volume = Volume((x, y, z), spacing, {"smoke": Field(fog.astype(np.float32), "")})
        contacts = None
        if pressed is not None:
            contacts = ContactForces(pressed[:, :3].astype(np.float64), pressed[:, 3:].astype(np.float64))
        return BodyFrame(
            name=item["name"],
            kind=item["kind"],
            positions=positions.astype(np.float64),
            rest_positions=fixed["rest"],
            cells={key.removeprefix("cells_"): fixed[key] for key in fixed if key.startswith("cells_")},
            triangles=fixed["triangles"],
            fields=BodyFields({} if values is None else {self.color: Field(values, item["unit"])}),
            color=item["color"],
            point_radius=item.get("point_radius"),
            topology_version=item.get("topology_version", 0),
            skin=self._skin(fixed, item.get("skin_texture")),
            uv=fixed.get("uv"),
            texture=self._read_texture(item.get("texture")),
            volume=volume,
            contacts=contacts,
            voxels=Voxels(fixed["voxels"], *map(tuple, fixed["voxel_place"])) if "voxels" in fixed else None,
        )

    def _skin(self, fixed: dict[str, NDArray], texture: str | None) -> EmbeddedSurface | None:
        if "skin_rest" not in fixed:
            return None
        rest, triangles, nodes, weights = (
            fixed[f"skin_{key}"] for key in ("rest", "triangles", "nodes", "weights")
        )
        return EmbeddedSurface(
            rest, triangles, nodes, weights, uv=fixed.get("skin_uv"), texture=self._read_texture(texture)
        )

    def frames(self) -> Iterator[Frame]:
        """Read all frames in order."""
        return (self.read(index) for index in self.indices)
