"""Mesh files: reading and writing, mostly through meshio, with its manners mended."""

from __future__ import annotations

import io
import os
import tempfile
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from continua.atomic_io import atomic_write
from continua.errors import InputError
from continua.file_input import check_file
from continua.mesh.checks import compact
from continua.mesh.curved_boundary import SecondOrderEdges
from continua.mesh.gltf import read_glb
from continua.mesh.hex_mesh import HexMesh
from continua.mesh.surface_images import SurfaceImage, obj_image
from continua.mesh.surface_mesh import SurfaceMesh
from continua.mesh.tet_mesh import TetMesh
from continua.mesh.text_formats import read_obj, read_off, read_tetgen
from continua.mesh.volume_mesh import VolumeMesh
from continua.numerics.bernstein import TET_EDGES
from continua.textures import mtl_text
from continua.validation import file_path, flag, instance_of, pluralize

if TYPE_CHECKING:
    import meshio

__all__ = ["READABLE", "WRITABLE", "read", "write"]

AnyMesh = TetMesh | HexMesh | SurfaceMesh

READABLE = (".msh", ".vtu", ".vtk", ".mesh", ".node", ".ele", ".obj", ".ply", ".stl", ".off", ".glb")
WRITABLE = (".vtu", ".vtk", ".msh", ".mesh", ".ply", ".obj", ".stl", ".off")
_SURFACE_ONLY = (".ply", ".obj", ".stl", ".off")
_REGION = "region:"
# Corner counts of the kinds of cells that can be used; what is after the corners lies on edges and faces.
_TETS = {"tetra": 4, "tetra10": 4, "tetra20": 4, "VTK_LAGRANGE_TETRAHEDRON": 4}
_HEXES = {"hexahedron": 8, "hexahedron20": 8, "hexahedron27": 8}
_FACES = {"triangle": 3, "triangle6": 3, "quad": 4, "quad8": 4, "quad9": 4, "polygon": 0}
_STRAIGHT = 1e-6  # of the length of an edge: nodes of text files are rounded
_IGNORED = ("vertex", "line", "line3")


def read(path: str | Path, *, images: bool = True) -> AnyMesh:
    """Read a mesh: tetrahedra or hexahedra if the file has them, else its triangles.

    Formats by name: Gmsh .msh, VTK .vtu and .vtk, Medit .mesh, TetGen .node or .ele, and .obj .ply .stl .off .glb.
    Elements with negative volume are turned, unused nodes and collapsed triangles dropped, nodes of an STL
    or GLB file welded; `notes` of the mesh tell. Named parts of Gmsh files and of our own VTU files become
    `regions`. Tetrahedra with ten nodes have curved edges, which bodies of order 2 and 3 follow. Surfaces from OBJ and
    GLB files keep their texture coordinates and their image; an image that is missing or cannot be read is told in
    `notes`.

    Args:
        path: The file.
        images: Whether images of materials are read.

    Raises:
        InputError: The file is missing, cut off, of unknown format, or holds no usable mesh.
    """
    path, images = file_path(path, "the path of a mesh"), flag(images, "'images' of read")
    suffix = path.suffix.lower()
    check_file(path)
    if suffix not in READABLE:
        raise InputError(
            f'unknown mesh format "{suffix}"; known ones are {" ".join(READABLE)}', where=str(path)
        )
    if path.stat().st_size == 0:
        raise InputError("the file is empty", where=str(path))
    try:
        if suffix == ".obj":
            found = read_obj(path)
            image = obj_image(path, found) if images else SurfaceImage(None, found.uv)
            return _surface(found.points, found.triangles, image=image)
        if suffix == ".off":
            return _surface(*read_off(path))
        if suffix == ".glb":
            rig, triangles, image = read_glb(path, images=images)
            return _surface(rig.at(0.0)[0], triangles, weld=True, image=image)
        if suffix in (".node", ".ele"):
            points, tets, numbers = read_tetgen(path)
            return _volume(TetMesh, points, tets, _numbered(numbers))
        return _from_meshio(_read_meshio(path, suffix), weld=suffix == ".stl")
    except InputError as error:
        raise error if error.where else InputError(error.message, where=str(path)) from None
    except OSError as error:
        raise InputError(f"the file cannot be read ({error.strerror})", where=str(path)) from None
    except MemoryError:
        raise InputError(
            "the file asks for more memory than there is; it may be damaged", where=str(path)
        ) from None


def _read_meshio(path: Path, suffix: str) -> meshio.Mesh:
    """Call meshio's reader of one format, and turn whatever goes wrong in it into one sentence."""
    import meshio

    source: Any = str(path)
    if suffix == ".ply":
        source = _tidy_ply(path)
    if suffix == ".stl":
        _refuse_cut_stl(path)
    readers: dict[str, Callable[[Any], meshio.Mesh]] = {
        ".msh": meshio.gmsh.read,
        ".vtu": meshio.vtu.read,
        ".vtk": meshio.vtk.read,
        ".mesh": meshio.medit.read,
        ".stl": meshio.stl.read,
        ".ply": meshio.ply.read,
    }
    noise = io.StringIO()
    try:
        with warnings.catch_warnings(), redirect_stdout(noise), redirect_stderr(noise):
            warnings.simplefilter("ignore")
            # NumPy only warns when a text file ends in the middle of a table.
            warnings.filterwarnings("error", message=".*could not be read to its end.*")
            return readers[suffix](source)
    except (Exception, SystemExit) as error:
        reason = " ".join(str(error).split())[:120]
        detail = f" ({reason})" if reason and reason != "1" else ""
        raise InputError(f"not a valid {suffix} file, or cut off{detail}", where=str(path)) from None


def _tidy_ply(path: Path) -> io.BytesIO:
    """Return a PLY file's bytes with the usual other name of the face list put right.

    meshio looks for `vertex_indices` only, and never returns from a header without end.
    """
    data = path.read_bytes()
    end = data.find(b"end_header")
    if not data.startswith(b"ply") or end < 0:
        raise InputError("not a valid .ply file, or cut off (the header has no end)")
    header = data[:end].replace(b"\r\n", b"\n")
    for line_end in (b"\n", b" "):
        header = header.replace(b" vertex_index" + line_end, b" vertex_indices" + line_end)
    rest = data[end:]
    if rest.startswith(b"end_header\r\n"):
        rest = b"end_header\n" + rest[len(b"end_header\r\n") :]
    return io.BytesIO(header + rest)


def _refuse_cut_stl(path: Path) -> None:
    """Raise if a text STL file lacks its last word; cut off after a facet it would read as a smaller one."""
    data = path.read_bytes()
    binary = len(data) >= 84 and len(data) == 84 + 50 * int.from_bytes(data[80:84], "little")
    if not binary and b"endsolid" not in data[-400:]:
        raise InputError("not a valid .stl file, or cut off (neither binary nor ended by endsolid)")


def _from_meshio(mesh: meshio.Mesh, weld: bool) -> AnyMesh:
    kinds = {block.type for block in mesh.cells if len(block.data)}
    unknown = kinds - {*_TETS, *_HEXES, *_FACES, *_IGNORED}
    if unknown:
        raise InputError(f"cells of kind {', '.join(sorted(unknown))} cannot be used; convert them to tets")
    if any(block.data.ndim != 2 or block.data.dtype.kind not in "iu" for block in mesh.cells):
        raise InputError("the file's cells are not tables of node numbers; it may be cut off")
    has_tets, has_hexes = bool(kinds & {*_TETS}), bool(kinds & {*_HEXES})
    if has_tets and has_hexes:
        raise InputError("the file mixes tets and hexes; keep one kind")
    points = np.asarray(mesh.points, dtype=np.float64)
    if points.ndim == 2 and points.shape[1] == 2:
        points = np.pad(points, ((0, 0), (0, 1)))
    if has_tets or has_hexes:
        table, kind = (_TETS, TetMesh) if has_tets else (_HEXES, HexMesh)
        blocks = [i for i, block in enumerate(mesh.cells) if block.type in table and len(block.data)]
        cells = np.concatenate([mesh.cells[i].data[:, : kind.WIDTH] for i in blocks])
        higher = any(mesh.cells[i].data.shape[1] > kind.WIDTH for i in blocks)
        boundary, notes = None, tuple[str, ...]()
        if all(mesh.cells[i].type == "tetra10" for i in blocks):
            boundary = _curved_edges(points, np.concatenate([mesh.cells[i].data for i in blocks]))
        if boundary is not None:
            points, cells, _ = compact(points, cells)
        elif higher:
            notes = ("kept only the corners of elements of higher order",)
        volume = _volume(kind, points, cells, _regions(mesh, blocks), notes)
        volume.curved_boundary = boundary
        return volume
    faces = [
        _triangles(block.data, _FACES[block.type])
        for block in mesh.cells
        if block.type in _FACES and block.data.size
    ]
    triangles = np.concatenate(faces) if faces else np.empty((0, 3), dtype=np.int64)
    return _surface(points, triangles, weld)


def _curved_edges(points: NDArray[np.float64], cells: NDArray[np.integer]) -> SecondOrderEdges | None:
    """Return the edges of quadratic tetrahedra [m, 10] whose nodes do not lie in their middle."""
    if not 0 <= cells.min() <= cells.max() < len(points):
        raise InputError("the file's cells name nodes that do not exist; it may be damaged")
    used, corners = np.unique(cells[:, :4], return_inverse=True)
    pairs = np.sort(corners.reshape(-1, 4)[:, TET_EDGES].reshape(-1, 2), axis=1)
    edges, first = np.unique(pairs, axis=0, return_index=True)
    middles = points[cells[:, 4:].ravel()[first]]
    if not np.isfinite(middles).all():
        raise InputError("nodes on edges of the file's tets are not finite numbers; mend the file")
    ends = points[used[edges]]
    length = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    bent = np.linalg.norm(middles - ends.mean(axis=1), axis=1) > _STRAIGHT * length
    if not bent.any():
        return None
    return SecondOrderEdges(edges[bent].astype(np.int32), middles[bent])


def _triangles(cells: NDArray, corners: int) -> NDArray:
    """Cut the faces of one block, with all their corners first, into fans of triangles."""
    corners = corners or cells.shape[1]
    if not 3 <= corners <= cells.shape[1]:
        raise InputError("the file's faces have too few corners; it may be damaged")
    fan = np.array([[0, i, i + 1] for i in range(1, corners - 1)])
    return cells[:, fan].reshape(-1, 3)


def _regions(mesh: meshio.Mesh, blocks: list[int]) -> dict[str, NDArray]:
    """Collect named parts: our own cell data, Gmsh's physical groups, or plain numbers of other formats."""
    regions: dict[str, NDArray] = {}
    for key, data in mesh.cell_data.items():
        if key.startswith(_REGION):
            values = np.concatenate([np.asarray(data[i]).ravel() for i in blocks])
            regions[key[len(_REGION) :]] = np.flatnonzero(values)
    if regions:
        return regions
    # Gmsh's named parts are pairs of tag and dimension; a frame of a run has its time and energies there
    pairs = {name: data for name, data in mesh.field_data.items() if np.size(data) == 2}
    names = {int(tag): name for name, (tag, dimension) in pairs.items() if dimension == 3}
    for key in ("gmsh:physical", "medit:ref"):
        if key in mesh.cell_data:
            numbers = np.concatenate([np.asarray(mesh.cell_data[key][i]).ravel() for i in blocks])
            return _numbered(numbers.astype(np.int64), names)
    return {}


def _numbered(numbers: NDArray[np.int64] | None, names: dict[int, str] | None = None) -> dict[str, NDArray]:
    """Turn a number for each element into named parts; one part without a name is no part."""
    if numbers is None:
        return {}
    names = names or {}
    used = [int(number) for number in np.unique(numbers)]
    if not names and len(used) < 2:
        return {}
    return {
        names.get(number, str(number)): np.flatnonzero(numbers == number)
        for number in used
        if number > 0 or number in names
    }


def _volume(
    kind: Any, points: NDArray, cells: NDArray, regions: dict[str, NDArray], notes: tuple[str, ...] = ()
) -> Any:
    """Make a volume mesh, dropping unused nodes; numbers out of range are left for the mesh to refuse."""
    if len(cells) and cells.min() >= 0 and cells.max() < len(points):
        kept, renumbered, numbers = compact(points, cells)
        if len(numbers) < len(points):
            notes = (*notes, f"dropped {pluralize(len(points) - len(numbers), 'node')} that no element uses")
            points, cells = kept, renumbered
    return kind(points, cells, regions, notes)


def _surface(
    points: NDArray, triangles: NDArray, weld: bool = False, image: SurfaceImage | None = None
) -> SurfaceMesh:
    """Make a surface, dropping collapsed triangles and unused nodes."""
    image = SurfaceImage(None, None) if image is None else image
    uv, texture = image.uv, image.texture
    if len(points) == 0 or len(triangles) == 0:
        raise InputError("the file holds no triangles, tets or hexes; it may be cut off")
    notes = image.notes
    whole = (triangles != np.roll(triangles, 1, axis=1)).all(axis=1)
    if not whole.all():
        notes = (*notes, f"dropped {pluralize(int((~whole).sum()), 'triangle')} with a node named twice")
        triangles = triangles[whole]
        uv = None if uv is None else uv[whole]
    if len(triangles) and triangles.min() >= 0 and triangles.max() < len(points):
        kept, renumbered, numbers = compact(points, triangles)
        if len(numbers) < len(points):
            notes = (*notes, f"dropped {pluralize(len(points) - len(numbers), 'node')} that no triangle uses")
            points, triangles = kept, renumbered
    surface = SurfaceMesh(points, triangles, notes, uv=uv, texture=texture)
    if weld and not surface.is_closed:
        welded = surface.welded()
        if welded.node_count < surface.node_count:
            done = (
                f"welded {pluralize(surface.node_count - welded.node_count, 'node')} at nearly the same place"
            )
            return SurfaceMesh(
                welded.points, welded.triangles, (*notes, done), uv=welded.uv, texture=welded.texture
            )
    return surface


def write(mesh: AnyMesh, path: str | Path) -> Path:
    """Write a mesh in the format that the file's name says, aside and renamed; return the path.

    Volume meshes: .vtu .vtk .msh .mesh; surfaces also .ply .obj .stl .off. Positions keep all their digits
    except in .stl, which has single precision. Regions are kept in .vtu and .msh.
    """
    path = file_path(path, "the path of a mesh")
    instance_of(mesh, (SurfaceMesh, VolumeMesh), "the mesh that is written")
    suffix = path.suffix.lower()
    if suffix not in WRITABLE:
        raise InputError(
            f'meshes cannot be written as "{suffix}"; use one of {" ".join(WRITABLE)}', where=str(path)
        )
    if suffix in _SURFACE_ONLY and not isinstance(mesh, SurfaceMesh):
        raise InputError(
            f"{suffix} files hold surfaces only; write mesh.surface, or use .vtu or .msh", where=str(path)
        )
    if not path.parent.is_dir():
        raise InputError(f'there is no folder "{path.parent}" to write to', where=str(path))
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=suffix)
    except OSError as error:
        raise InputError(f"the file cannot be written ({error.strerror})", where=str(path)) from None
    os.close(handle)
    try:
        _write_aside(mesh, Path(name), suffix, str(path))
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _write_aside(mesh: AnyMesh, path: Path, suffix: str, where: str) -> None:
    if suffix == ".obj":
        return _write_obj(mesh, path, Path(where))
    if suffix == ".ply":
        return _write_ply(mesh, path)
    import meshio

    data: dict[str, list[NDArray]] = {}
    fields: dict[str, NDArray] = {}
    if isinstance(mesh, SurfaceMesh):
        cells = [("triangle", mesh.triangles)]
    else:
        cells = [("tetra" if isinstance(mesh, TetMesh) else "hexahedron", mesh.cells)]
        if suffix == ".vtu":
            data = {f"{_REGION}{name}": [_mask(mesh, e)] for name, e in mesh.regions.items()}
        elif suffix == ".msh":
            data, fields = _physical(mesh, where)
    if suffix == ".msh":
        data.setdefault("gmsh:physical", [np.ones(len(cells[0][1]), dtype=np.int32)])
        data["gmsh:geometrical"] = [np.ones(len(cells[0][1]), dtype=np.int32)]
    content = meshio.Mesh(np.array(mesh.points), cells, cell_data=data, field_data=fields)
    writers: dict[str, Callable[[], None]] = {
        ".vtu": lambda: meshio.vtu.write(path, content),
        ".vtk": lambda: meshio.vtk.write(path, content),
        ".msh": lambda: meshio.gmsh.write(path, content, "2.2"),
        ".mesh": lambda: meshio.medit.write(path, content),
        ".stl": lambda: meshio.stl.write(path, content, binary=True),
        ".off": lambda: meshio.off.write(path, content),
    }
    noise = io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(noise), redirect_stderr(noise):
        warnings.simplefilter("ignore")
        writers[suffix]()
    return None


def _mask(mesh: TetMesh | HexMesh, elements: NDArray[np.int32]) -> NDArray[np.uint8]:
    mask = np.zeros(mesh.element_count, dtype=np.uint8)
    mask[elements] = 1
    return mask


def _physical(mesh: TetMesh | HexMesh, where: str) -> tuple[dict[str, list[NDArray]], dict[str, NDArray]]:
    """Return Gmsh's physical number of each element and the names of the numbers."""
    if not mesh.regions:
        return {}, {}
    if sum(len(e) for e in mesh.regions.values()) > len(np.unique(np.concatenate([*mesh.regions.values()]))):
        raise InputError("a .msh file cannot hold regions that overlap; write a .vtu file", where=where)
    numbers = np.zeros(mesh.element_count, dtype=np.int32)
    fields = {}
    for number, (name, elements) in enumerate(mesh.regions.items(), 1):
        numbers[elements] = number
        fields[name] = np.array([number, 3])
    return {"gmsh:physical": [numbers]}, fields


def _write_obj(mesh: Any, path: Path, final: Path) -> None:
    """Write an OBJ file; a material file and an image of the same name go beside it if the surface has an image."""
    texture = mesh.texture if isinstance(mesh, SurfaceMesh) else None
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        if texture is not None:
            file.write(f"mtllib {final.stem}.mtl\n")
        file.writelines(f"v {x!r} {y!r} {z!r}\n" for x, y, z in mesh.points.tolist())
        if mesh.uv is None:
            file.writelines(f"f {i} {j} {k}\n" for i, j, k in (mesh.triangles + 1).tolist())
            return
        places, corners = np.unique(mesh.uv.reshape(-1, 2), axis=0, return_inverse=True)
        file.writelines(f"vt {u!r} {v!r}\n" for u, v in places.tolist())
        if texture is not None:
            file.write("usemtl image\n")
        rows = np.stack([mesh.triangles, corners.reshape(-1, 3)], axis=2).reshape(-1, 6) + 1
        file.writelines(f"f {a}/{p} {b}/{q} {c}/{r}\n" for a, p, b, q, c, r in rows.tolist())
    if texture is not None:
        with atomic_write(final.with_suffix(".png")) as file:
            file.write(texture.png())
        with atomic_write(final.with_suffix(".mtl"), "w") as file:
            file.write(mtl_text("image", f"{final.stem}.png", texture))


def _write_ply(mesh: Any, path: Path) -> None:
    """Write a binary PLY file in double precision; the same mesh gives the same bytes."""
    header = (
        "ply\nformat binary_little_endian 1.0\n"
        f"element vertex {mesh.node_count}\nproperty double x\nproperty double y\nproperty double z\n"
        f"element face {mesh.triangle_count}\nproperty list uchar int vertex_indices\nend_header\n"
    )
    faces = np.empty(mesh.triangle_count, dtype=[("count", "u1"), ("nodes", "<i4", 3)])
    faces["count"] = 3
    faces["nodes"] = mesh.triangles
    path.write_bytes(header.encode() + mesh.points.astype("<f8").tobytes() + faces.tobytes())
