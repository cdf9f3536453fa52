from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pxr import Usd, UsdGeom

from continua.frames import RunInfo
from continua.output import make_sink

INFO = RunInfo(name="swing", fps=10.0, seconds=0.5, metadata={"scene": "swing"})


def run(folder, frames, **options):
    sink = make_sink("usd", folder, **options)
    sink.open(INFO)
    for frame in frames:
        sink.write(frame)
    (path,) = sink.close()
    return Usd.Stage.Open(str(path))


def test_stage_is_in_metres_with_y_up_and_frames_as_time(tmp_path, frames):
    stage = run(tmp_path, frames)
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.y
    assert stage.GetTimeCodesPerSecond() == 10.0
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0, len(frames) - 1)
    assert stage.GetDefaultPrim().GetPath() == "/World"


def test_surface_moves_as_the_body_does(tmp_path, frames):
    stage = run(tmp_path, frames)
    mesh = UsdGeom.Mesh.Get(stage, "/World/block/surface")
    assert mesh.GetPointsAttr().GetTimeSamples() == list(range(len(frames)))
    nodes = np.unique(frames[0]["block"].triangles)
    indices = np.array(mesh.GetFaceVertexIndicesAttr().Get()).reshape(-1, 3)
    np.testing.assert_array_equal(nodes[indices], frames[0]["block"].triangles)
    assert mesh.GetSubdivisionSchemeAttr().Get() == UsdGeom.Tokens.none
    for frame in frames:
        body = frame["block"]
        points = np.array(mesh.GetPointsAttr().Get(frame.index))
        np.testing.assert_array_equal(points, body.positions[nodes].astype(np.float32))
        extent = np.array(mesh.GetExtentAttr().Get(frame.index))
        np.testing.assert_array_equal(extent, [points.min(axis=0), points.max(axis=0)])
        values = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("von_mises").Get(frame.index)
        np.testing.assert_array_equal(values, body["von_mises"][nodes].astype(np.float32))
    faces = UsdGeom.Mesh.ValidateTopology(
        mesh.GetFaceVertexIndicesAttr().Get(), mesh.GetFaceVertexCountsAttr().Get(), len(points)
    )
    assert faces[0]


def test_normals_of_the_box_at_rest_are_those_of_its_sides(tmp_path, frames):
    stage = run(tmp_path, frames)
    mesh = UsdGeom.Mesh.Get(stage, "/World/block/surface")
    normals = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("normals")
    assert normals.GetInterpolation() == UsdGeom.Tokens.faceVarying
    flat = np.array(normals.ComputeFlattened(0)).reshape(-1, 3, 3)
    a, b, c = (frames[0]["block"].rest_positions[frames[0]["block"].triangles[:, i]] for i in range(3))
    sides = np.cross(b - a, c - a)
    sides /= np.linalg.norm(sides, axis=1, keepdims=True)
    np.testing.assert_allclose(flat, np.repeat(sides[:, None], 3, axis=1), atol=1e-6)


def test_volume_has_the_tetrahedra_right_side_out(tmp_path, frames):
    stage = run(tmp_path, frames)
    tets = UsdGeom.TetMesh.Get(stage, "/World/block/volume")
    body = frames[2]["block"]
    np.testing.assert_array_equal(tets.GetTetVertexIndicesAttr().Get(), body.cells["tetra"])
    np.testing.assert_array_equal(tets.GetPointsAttr().Get(2), body.positions.astype(np.float32))
    assert len(UsdGeom.TetMesh.FindInvertedElements(tets, 2)) == 0
    computed = np.array(UsdGeom.TetMesh.ComputeSurfaceFaces(tets, 0))
    as_sets = {tuple(sorted(face)) for face in computed.tolist()}
    assert as_sets == {tuple(sorted(face)) for face in body.triangles.tolist()}
    assert tets.GetPurposeAttr().Get() == UsdGeom.Tokens.guide


def test_colours_follow_the_values_and_plain_ones_stay(tmp_path, frames):
    stage = run(tmp_path / "values", frames)
    color = UsdGeom.Mesh.Get(stage, "/World/block/surface").GetDisplayColorPrimvar()
    assert color.GetInterpolation() == UsdGeom.Tokens.vertex
    early, late = (np.array(color.Get(i)) for i in (0, 5))
    assert np.ptp(early, axis=0).max() == 0.0  # no stress at time 0
    assert np.ptp(late, axis=0).max() > 0.1
    stage = run(tmp_path / "plain", frames, color="plain")
    color = UsdGeom.Mesh.Get(stage, "/World/block/surface").GetDisplayColorPrimvar()
    assert color.GetInterpolation() == UsdGeom.Tokens.constant
    assert color.GetAttr().GetNumTimeSamples() == 0


def test_body_names_become_identifiers(tmp_path, two_bodies):
    stage = run(tmp_path, two_bodies)
    children = stage.GetPrimAtPath("/World").GetChildren()
    assert {child.GetDisplayName() or child.GetName() for child in children} == set(two_bodies[0].bodies)


def test_connectivity_may_change_in_time(tmp_path, frames):
    cut = []
    for frame in frames[:4]:
        body = frame["block"]
        if frame.index >= 2:
            body = replace(
                body,
                triangles=body.triangles[:20],
                cells={"tetra": body.cells["tetra"][:10]},
                topology_version=1,
            )
        cut.append(replace(frame, bodies={"block": body}))
    stage = run(tmp_path, cut)
    counts = UsdGeom.Mesh.Get(stage, "/World/block/surface").GetFaceVertexCountsAttr()
    whole = len(frames[0]["block"].triangles)
    assert [len(counts.Get(i)) for i in range(4)] == [whole, whole, 20, 20]
    tets = UsdGeom.TetMesh.Get(stage, "/World/block/volume").GetTetVertexIndicesAttr()
    assert [len(tets.Get(i)) for i in (1, 3)] == [len(frames[0]["block"].cells["tetra"]), 10]


def test_usd_validators_have_no_complaints(tmp_path, two_bodies):
    validation = pytest.importorskip("pxr.UsdValidation")
    stage = run(tmp_path, two_bodies)
    registry = validation.ValidationRegistry()
    errors = validation.ValidationContext(registry.GetOrLoadAllValidators()).Validate(stage)
    assert [error.GetErrorAsString() for error in errors] == []
