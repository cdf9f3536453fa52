"""One USD file of a run: each body as a time-sampled Mesh to look at and a TetMesh to compute with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.atomic_io import atomic_path
from continua.errors import MissingExtraError
from continua.frames import BodyFrame
from continua.output.deferred_sink import DeferredSink
from continua.output.files import file_names
from continua.render.composition import Legend, body_colors, make_view, smooth_surface
from continua.render.fluid_surface import with_fluid_surface
from continua.render.surface import SmoothSurface

__all__ = ["UsdSink"]


def _pxr() -> Any:
    try:
        from pxr import Gf, Sdf, Usd, UsdGeom, Vt
    except ImportError:
        raise MissingExtraError("Writing USD", "usd") from None
    return Gf, Sdf, Usd, UsdGeom, Vt


class UsdSink(DeferredSink):
    """`NAME.usdc`, made when the run ends; needs the "usd" extra.

    The stage is in metres with y up; time codes are frame numbers. Below /World each body has a Mesh
    `surface` (points, normals, extent and displayColor sampled in time) and, if it has tetrahedra, a TetMesh
    `volume` with purpose "guide", so that viewers do not draw the body twice. A fluid is Points `points`, or a Mesh
    where the run's view says "surface".
    """

    kind = "usd"
    suffix = ".usdc"
    volume = True

    def __init__(self, folder: str | os.PathLike[str], *, color: str | None = None) -> None:
        super().__init__(folder, color=color)
        self._modules = _pxr()

    def finish(self) -> list[Path]:
        """Write the file."""
        _, Sdf, Usd, UsdGeom, _ = self._modules
        legend = make_view(self.spool.frames(), color=self.asked_color).legend
        layer = Sdf.Layer.CreateAnonymous(".usdc")
        stage = Usd.Stage.Open(layer)
        UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
        stage.SetTimeCodesPerSecond(self.info.fps)
        stage.SetFramesPerSecond(self.info.fps)
        stage.SetStartTimeCode(self.spool.indices[0])
        stage.SetEndTimeCode(self.spool.indices[-1])
        root = UsdGeom.Xform.Define(stage, "/World")
        stage.SetDefaultPrim(root.GetPrim())
        if self.info.metadata:
            root.GetPrim().SetCustomDataByKey("continua", {k: str(v) for k, v in self.info.metadata.items()})
        look = str(self.info.view.get("fluid") or "points")
        bodies: dict[str, _UsdBody | _UsdCloud] = {}
        names: dict[str, str] = {}
        for done, frame in enumerate(self.spool.frames(), 1):
            if frame.bodies.keys() != names.keys():
                names = file_names(frame.bodies)
            for number, body in enumerate(frame):
                if body.name not in bodies:
                    kind = _UsdCloud if body.point_radius is not None and look == "points" else _UsdBody
                    bodies[body.name] = kind(self._modules, stage, names[body.name], body.name, number)
                shown = with_fluid_surface(body) if look == "surface" else body
                bodies[body.name].add(shown, frame.index, self.color, legend)
            self.report_done(done)
        with atomic_path(self.output.record(self.path)) as temporary:
            if not layer.Export(str(temporary)):
                raise OSError(f"USD could not write {self.path}")
        return [self.path]


def _holder(geom: Any, stage: Any, identifier: str, name: str) -> str:
    """Make the prim below which all of a body is; return its path."""
    safe = identifier.replace("-", "_")
    path = f"/World/{safe if not safe[0].isdigit() else '_' + safe}"
    holder = geom.Xform.Define(stage, path)
    if holder.GetPrim().GetName() != name:
        holder.GetPrim().SetDisplayName(name)
    return path


class _UsdCloud:
    """The particles of a fluid."""

    def __init__(self, modules: Any, stage: Any, identifier: str, name: str, number: int) -> None:
        _, _, _, geom, self.vt = modules
        self.number = number
        self.points = geom.Points.Define(stage, f"{_holder(geom, stage, identifier, name)}/points")

    def add(self, body: BodyFrame, index: int, color: str, legend: Legend | None) -> None:
        """Add the time samples of frame `index`."""
        assert body.point_radius is not None
        places = body.positions.astype(np.float32)
        width = np.full(len(places), 2.0 * body.point_radius, np.float32)
        self.points.GetPointsAttr().Set(self._vec3(places), index)
        self.points.GetWidthsAttr().Set(self.vt.FloatArray.FromNumpy(width), index)
        if len(places):
            corners = np.stack([places.min(axis=0), places.max(axis=0)])
            corners += np.float32(body.point_radius) * np.array([[-1], [1]], np.float32)
            self.points.GetExtentAttr().Set(self._vec3(corners), index)
        colors = body_colors(body, self.number, color, legend).astype(np.float32)
        self.points.CreateDisplayColorPrimvar("vertex").Set(self._vec3(colors), index)

    def _vec3(self, array: NDArray) -> Any:
        return self.vt.Vec3fArray.FromNumpy(np.ascontiguousarray(array.reshape(-1, 3)))


class _UsdBody:
    """The prims of one body."""

    def __init__(self, modules: Any, stage: Any, identifier: str, name: str, number: int) -> None:
        _, _, _, self.geom, self.vt = modules
        self.number = number
        path = _holder(self.geom, stage, identifier, name)
        self.stage, self.path = stage, path
        self.mesh = self.geom.Mesh.Define(stage, f"{path}/surface")
        self.mesh.CreateSubdivisionSchemeAttr(self.geom.Tokens.none)
        self.tets: Any = None
        self.primvars = self.geom.PrimvarsAPI(self.mesh)
        self.surface: SmoothSurface | None = None
        self.nodes: NDArray = np.empty(0, np.int32)
        self.shape: tuple[Any, ...] = ()
        self.since = 0

    def add(self, body: BodyFrame, index: int, color: str, legend: Legend | None) -> None:
        """Add the time samples of frame `index`."""
        if not self.shape or any(
            a is not b for a, b in zip(self.shape, (body.triangles, body.rest_positions))
        ):
            self._set_shape(body, index)
        assert self.surface is not None
        if not len(self.nodes):
            return
        points = body.positions[self.nodes].astype(np.float32)
        self._points(self.mesh, points, index)
        normals = self.surface.normals(body.positions).astype(np.float32)
        self._primvar("normals", "Normal3fArray", "faceVarying").Set(self._vec3(normals), index)
        colors = body_colors(body, self.number, color, legend)[self.nodes].astype(np.float32)
        if legend is None or color not in body.fields:
            self.mesh.CreateDisplayColorPrimvar("constant").Set(self._vec3(colors[:1]))
        else:
            self.mesh.CreateDisplayColorPrimvar("vertex").Set(self._vec3(colors), index)
            values = body[color][self.nodes].astype(np.float32)
            self._primvar(color, "FloatArray", "vertex").Set(self.vt.FloatArray.FromNumpy(values), index)
        if self.tets is not None:
            self._points(self.tets, body.positions.astype(np.float32), index)

    def _set_shape(self, body: BodyFrame, index: int) -> None:
        """Set the connectivity: once for a body that keeps it, as samples in time for one that does not."""
        self.shape = (body.triangles, body.rest_positions)
        self.surface = smooth_surface(body, {})
        self.nodes, corners = np.unique(body.triangles, return_inverse=True)
        faces = len(body.triangles)
        tets = next((cells for kind, cells in body.cells.items() if kind.startswith("tetra")), None)
        ints = self.vt.IntArray.FromNumpy
        self._fixed(self.mesh.GetFaceVertexCountsAttr(), ints(np.full(faces, 3, np.int32)), index)
        self._fixed(self.mesh.GetFaceVertexIndicesAttr(), ints(corners.ravel().astype(np.int32)), index)
        normals = self._primvar("normals", "Normal3fArray", "faceVarying")
        self._fixed(normals.CreateIndicesAttr(), ints(self.surface.triangles.ravel()), index)
        if tets is not None:
            if self.tets is None:
                self.tets = self.geom.TetMesh.Define(self.stage, f"{self.path}/volume")
                self.tets.CreatePurposeAttr(self.geom.Tokens.guide)
            four = self.vt.Vec4iArray.FromNumpy(np.ascontiguousarray(tets[:, :4], np.int32))
            three = self.vt.Vec3iArray.FromNumpy(np.ascontiguousarray(body.triangles, np.int32))
            self._fixed(self.tets.GetTetVertexIndicesAttr(), four, index)
            self._fixed(self.tets.GetSurfaceFaceVertexIndicesAttr(), three, index)
        self.since = index

    def _fixed(self, attribute: Any, value: Any, index: int) -> None:
        """Set a value that holds from frame `index` on; an earlier value keeps its own time."""
        if not attribute.HasAuthoredValue():
            attribute.Set(value)
            return
        if not attribute.GetNumTimeSamples():
            attribute.Set(attribute.Get(), self.since)
        attribute.Set(value, index)

    def _primvar(self, name: str, kind: str, interpolation: str) -> Any:
        from pxr import Sdf

        return self.primvars.CreatePrimvar(name, getattr(Sdf.ValueTypeNames, kind), interpolation)

    def _vec3(self, array: NDArray) -> Any:
        return self.vt.Vec3fArray.FromNumpy(np.ascontiguousarray(array))

    def _points(self, prim: Any, points: NDArray, index: int) -> None:
        prim.GetPointsAttr().Set(self._vec3(points), index)
        prim.GetExtentAttr().Set(self._vec3(np.stack([points.min(axis=0), points.max(axis=0)])), index)
