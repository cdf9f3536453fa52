"""The public API, found by introspection: what can be called, arguments that are right, and values that are not."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import continua as ct
from continua import linalg, render, sdf, springs
from continua.environment import Environment
from continua.mesh.subdomains import Subdomains

MODULES = (
    "continua",
    "continua.geometry",
    "continua.linalg",
    "continua.materials",
    "continua.mesh",
    "continua.rigid",
    "continua.rigid.joints",
    "continua.sdf",
    "continua.solids",
)

# --- arguments that are right -----------------------------------------------------------------------------------

POINTS = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])


def tets() -> ct.TetMesh:
    return ct.mesh.box(size=(1, 1, 1), cells=(1, 1, 1))


def surface() -> ct.SurfaceMesh:
    return tets().surface


def animation() -> ct.MeshAnimation:
    points = surface().points
    return ct.MeshAnimation(np.stack([points, points + [0.0, 0.1, 0.0]]), surface().triangles)


def stepped():
    body = soft()
    ct.World([body]).step()
    return body


def soft(**options: Any) -> ct.SoftBody:
    return ct.SoftBody(tets(), name="soft", **options)


def held_springs() -> ct.Springs:
    body = ct.Springs(tets(), name="springs")
    body.pin([6, 7])
    return body


def rigid() -> ct.RigidBody:
    return ct.RigidBody(ct.Sphere(radius=0.5), density=1000.0, name="rigid")


def hinge() -> ct.joints.Hinge:
    return ct.joints.Hinge(rigid())


def frame() -> ct.Frame:
    return ct.World([soft()]).frame()


def matrix() -> linalg.BlockMatrix:
    return linalg.BlockMatrix.from_scipy(sparse.bsr_array(np.diag([4.0] * 6), blocksize=(3, 3)))


def prepared(solver: Any) -> Any:
    """Return a linear solver with a system to solve."""
    solver.setup(matrix())
    solver.update(matrix(), np.zeros(2, np.uint8))
    return solver


def auto_solver() -> linalg.AutoSolver:
    pcg = linalg.PCG()
    return linalg.AutoSolver(pcg, linalg.Multigrid(), pcg)


def particles() -> Any:
    system = ct.World([made(ct.Fluid)]).system(ct.Fluid)
    system.step(1e-3)
    return system.particles


def coupling() -> linalg.CouplingMatrix:
    return linalg.CouplingMatrix.from_scipy(sparse.csr_array(np.ones((1, 6))))


def dofs() -> linalg.DofMap:
    return linalg.DofMap.from_nodes(np.array([[0, 1], [1, 2]], np.int32), 3)


def field() -> sdf.DistanceField:
    return sdf.fit(surface(), tolerance=1e-2, cells=2)


def grid_fluid(kind: Callable[..., Any], **options: Any) -> Any:
    return kind(size=(1.0, 1.0, 1.0), cells=(4, 4, 4), name="flow", **options)


# What is not made by its class from the arguments below, by the name of the class.
MADE: dict[str, Callable[[], Any]] = {
    "Springs": lambda: held_springs(),  # settles
    "AutoSolver": lambda: prepared(auto_solver()),
    "Direct": lambda: prepared(linalg.Direct()),
    "MergedPCG": lambda: prepared(linalg.MergedPCG()),
    "MINRES": lambda: prepared(linalg.MINRES()),
    "Multigrid": lambda: prepared(linalg.Multigrid()),
    "PCG": lambda: prepared(linalg.PCG()),
    "FitReport": lambda: field().report,
    "Embedding": lambda: ct.mesh.Embedding(surface(), tets()),
    "BodyForce": lambda: soft().apply_body_force("all", (0, 1, 0)),
    "BodyFrame": lambda: frame()["soft"],
    "CustomLaw": ct.StableNeoHookean,
    "Constraint": lambda: soft().pin([0]),
    "Frame": frame,
    "HapticTool": lambda: soft().haptic_tool([0]),
    "Pressure": lambda: soft().apply_pressure("all", 1.0),
    "Pull": lambda: soft().pull(0),
    "Push": lambda: soft().push([0], (0, 1, 0)),
    "RigidPull": lambda: rigid().pull((0, 0, 0), (0, 1, 0)),
    "Traction": lambda: soft().apply_traction("all", 1.0),
    "CutSurface": lambda: ct.CutSurface.plane((0.4, 0.5, 0.5), (1.0, 0.0, 0.0)),
    "TopologyChange": lambda: ct.mesh.split_faces(tets(), ct.mesh.faces_between(tets(), [0])),
    "DistanceField": field,
    "TransformedField": lambda: field().transformed(),
    "Refinement": lambda: ct.mesh.refine(tets()),
    "BlockMatrix": matrix,
    "BlockPattern": lambda: matrix().pattern,
    "AssemblyPattern": lambda: linalg.AssemblyPattern.from_dof_maps(dofs()),
    "CouplingMatrix": coupling,
    "SaddlePointMatrix": lambda: linalg.SaddlePointMatrix(matrix(), coupling()),
    "SlicedEllMatrix": lambda: linalg.SlicedEllMatrix.from_matrix(matrix()),
    "DofMap": dofs,
    "Painter": lambda: render.Painter(render.make_view([frame()], size=(16, 16))),
    "InteriorPainter": lambda: render.InteriorPainter(render.make_view([frame()], size=(16, 16)), "iso", 2),
    "View": lambda: render.make_view([frame()], size=(16, 16)),
    "Camera": lambda: render.fit_camera(np.array([[0.0, 0, 0], [1, 1, 1]])),
    "RigidSystem": lambda: ct.World([rigid()]).system(ct.RigidBody).rigid,
}

# Those among them that users make by their class all the same.
BUILT = {
    "AutoSolver",
    "Direct",
    "Embedding",
    "MINRES",
    "MergedPCG",
    "Multigrid",
    "PCG",
    "SaddlePointMatrix",
    "Springs",
    "TopologyChange",
}

# Methods that are refused with all arguments.
REFUSED = {"PositionBased.set_integrator", "PositionBased.settle"}

# Arguments by name, for those without a default.
ARGUMENTS: dict[str, Callable[[], Any]] = {
    "animation": animation,
    "a": rigid,
    "angular_velocity": lambda: (0.0, 0.0, 0.0),
    "axis": lambda: (0.0, 0.0, 1.0),
    "before": tets,
    "bodies": lambda: [soft()],
    "boundary": lambda: ct.mesh.sphere().curved_boundary,
    "bounds": lambda: [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]],
    "body": lambda: "soft",
    "callback": lambda: lambda dt: None,
    "center": lambda: (0.0, 0.0, 0.0),
    "change": lambda: ct.mesh.refine_tets(tets(), [0]),
    "colliders": lambda: [],
    "count": lambda: 1,
    "data": lambda: b"",
    "diameter": lambda: 0.1,
    "direction": lambda: (0.0, 1.0, 0.0),
    "distance": lambda: lambda x: np.linalg.norm(x - 0.5, axis=1) - 0.4,
    "dof_count": lambda: 3,
    "dof_map": dofs,
    "dt": lambda: 1e-3,
    "elements": lambda: [0],
    "element": lambda: 0,
    "element_count": lambda: 2,
    "end": lambda: (0.0, 1.0, 0.0),
    "entries": lambda: np.zeros(8),
    "environment": Environment,
    "event": lambda: lambda world: None,
    "F": lambda: np.eye(3),
    "faces": lambda: [0],
    "factor": lambda: 2.0,
    "fixed": lambda: np.zeros(2, np.uint8),
    "force": lambda: (0.0, 1.0, 0.0),
    "forces": lambda: np.zeros((2, 3)),
    "fps": lambda: 60.0,
    "frame": frame,
    "frames": lambda: [frame()],
    "function": lambda: lambda time, rest: rest,
    "high": lambda: (1.0, 1.0, 1.0),
    "index": lambda: 0,
    "instance": lambda: 0,
    "integrator": lambda: "newmark",
    "inverse": lambda: np.zeros((2, 9)),
    "joint": hinge,
    "kind": lambda: ct.SoftBody,
    "length": lambda: 1.0,
    "limbs": lambda: [ct.mesh.RoundCone((0, 0, 0), (0, 1, 0), 0.3)],
    "low": lambda: (0.0, 0.0, 0.0),
    "max": lambda: (1.0, 1.0, 1.0),
    "min": lambda: (0.0, 0.0, 0.0),
    "maps": lambda: [dofs()],
    "matrix": matrix,
    "mesh": tets,
    "motion": lambda: ct.Motion.translate((0, 0, 0)),
    "n": lambda: 1,
    "name": lambda: "soft",
    "node_count": lambda: 2,
    "nodes": lambda: [0],
    "offsets": lambda: [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]],
    "other": lambda: ct.mesh.refine_tets(MADE["TopologyChange"]().mesh, [0]),
    "p": particles,
    "columns": lambda: None,
    "cells": lambda: tets().cells,
    "indices": lambda: np.arange(2, dtype=np.int32),
    "indptr": lambda: np.arange(3, dtype=np.int32),
    "diagonal": lambda: np.arange(2, dtype=np.int32),
    "projections": lambda: None,
    "stepper": lambda: stepped()._stepper,
    "surface_forces": lambda: np.zeros((8, 3)),
    "path": lambda: "file.ply",
    "pattern": lambda: matrix().pattern,
    "period": lambda: 1.0,
    "pixels": lambda: np.zeros((4, 4, 3), np.uint8),
    "plasticity": ct.Plasticity,
    "point": lambda: (0.0, 0.0, 0.0),
    "project": lambda: np.copy,
    "points": lambda: POINTS.copy(),
    "position": lambda: (0.0, 0.0, 0.0),
    "positions": lambda: POINTS.copy(),
    "pressure": lambda: 1.0,
    "radius": lambda: 0.25,
    "rate": lambda: 1.0,
    "rest": lambda: POINTS.copy(),
    "rhs": lambda: np.zeros((2, 3)),
    "rows": dofs,
    "scene": lambda: "bridge",
    "seconds": lambda: 0.01,
    "shape": lambda: ct.Sphere(radius=0.25),
    "shapes": lambda: [ct.Sphere(radius=0.25)],
    "size": lambda: 0.5,
    "source": surface,
    "speed": lambda: 1.0,
    "start": lambda: (0.0, 0.0, 0.0),
    "strength": lambda: 1.0,
    "surface": surface,
    "target": lambda: (0.0, 1.0, 0.0),
    "texture": lambda: ct.Texture(np.zeros((4, 4, 3), np.uint8)),
    "time": lambda: 0.0,
    "times": lambda: [0.0, 1.0],
    "torque": lambda: (0.0, 0.0, 0.0),
    "traction": lambda: 1.0,
    "translations": lambda: [[0.0, 0.0, 0.0]],
    "triangle": lambda: 0,
    "triangles": lambda: [0],
    "uv": lambda: [[0.5, 0.5]],
    "value": lambda: 1.0,
    "values": lambda: np.zeros((2, 2, 2), np.float32),
    "velocity": lambda: (0.0, 0.0, 0.0),
    "view": lambda: render.make_view([frame()], size=(16, 16)),
    "weights": lambda: (1.0, 0.0, 0.0),
    "where": lambda: [0],
    "width": lambda: 1.0,
    "x": lambda: np.zeros((2, 3)),
    "y": lambda: "v",
    "z": lambda: "u * v",
}


RIGID = {
    "density": lambda: 1000.0,
    "friction": lambda: 0.5,
    "restitution": lambda: 0.0,
    "velocity": lambda: (0.0, 0.0, 0.0),
    "angular_velocity": lambda: (0.0, 0.0, 0.0),
    "motion": lambda: None,
    "color": lambda: None,
    "name": lambda: "rigid",
}
LOAD = {"x": lambda: np.zeros((8, 3)), "force": lambda: np.zeros((8, 3))}
NODES = {"force": lambda: np.zeros((8, 3))}
MESH_CHILD = {
    "points": lambda: tets().points,
    "cells": lambda: tets().cells,
    "parents": lambda: np.arange(6, dtype=np.int32),
}
ELEMENTS = {"elements": lambda: soft()._elements, "solver": linalg.PCG}

# Arguments of one function, by its name; also those that its signature leaves open.
SPECIAL: dict[str, dict[str, Callable[[], Any]]] = {
    "MeshAnimation": {
        "frames": lambda: np.stack([surface().points] * 2),
        "triangles": lambda: surface().triangles,
        "start": lambda: 0.0,
    },
    "MeshAnimation.read": {"animation": lambda: None, "start": lambda: 0.0},
    "AutoSolver": {"pcg": linalg.PCG, "multigrid": linalg.Multigrid, "start_with": lambda: None},
    "BlockMatrix.invert_diagonal": {"inverse": lambda: np.zeros((2, 6))},
    "SaddlePointMatrix": {"A": matrix},
    "TopologyChange": {
        "node_parents": lambda: MADE["TopologyChange"]().node_parents,
        "weights": lambda: MADE["TopologyChange"]().weights,
        "element_parents": lambda: MADE["TopologyChange"]().element_parents,
    },
    "AssemblyPattern.assemble": {"entries": lambda: np.zeros((8, 1))},
    "BlockMatrix.from_scipy": {"matrix": lambda: matrix().to_scipy()},
    "BlockPattern.from_scipy": {"matrix": lambda: sparse.csr_array(np.eye(2))},
    "BodyForce.add": LOAD,
    "BodyFrame.scalars": {"name": lambda: "velocity"},
    "CouplingMatrix.from_pattern": {
        "pattern": MADE["AssemblyPattern"],
        "entries": lambda: np.zeros((8, 3)),
    },
    "CouplingMatrix.from_scipy": {"matrix": lambda: coupling().to_scipy()},
    "DofMap.from_lists": {"elements": lambda: [[0, 1], [2]]},
    "DofMap.from_nodes": {"elements": lambda: np.array([[0, 1], [1, 2]], np.int32), "node_count": lambda: 3},
    "Embedding.normals": {"x": lambda: tets().points},
    "Embedding.positions": {"x": lambda: tets().points},
    "ExactDistance": {"mesh": surface},
    "exact": {"mesh": surface},
    "mesh_hash": {"mesh": surface},
    "write": {"mesh": surface},
    "Fluid": {"block": lambda: ((0.0, 0.0, 0.0), (0.2, 0.2, 0.2)), "particle_radius": lambda: 0.05},
    "HexMesh": {
        "points": lambda: ct.mesh.hex_box().points,
        "cells": lambda: ct.mesh.hex_box().cells,
    },
    "HexMesh.child_mesh": {
        "points": lambda: ct.mesh.hex_box().points,
        "cells": lambda: ct.mesh.hex_box().cells,
        "parents": lambda: np.zeros(1, np.int32),
    },
    "Liquid": {
        "size": lambda: (1.0, 1.0, 1.0),
        "cells": lambda: (4, 4, 4),
        "block": lambda: ((0.0, 0.0, 0.0), (1.0, 0.5, 1.0)),
    },
    "ForceField.radial": {"force": lambda: 1.0},
    "Liquid.field": {"name": lambda: "level_set"},
    "Motion.keyframes": {
        "offsets": lambda: [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]],
        "rotations": lambda: [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
    },
    "Multigrid.restore": {"state": dict},
    "PMultigrid.restore": {"state": dict},
    "Pattern": {"outline": lambda: [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]},
    "Pattern.placed": {"points": lambda: [[0.0, 0.0], [1.0, 0.0]]},
    "polygon": {"outline": lambda: [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]},
    "sew": {"patterns": lambda: {"one": ct.Pattern([[0, 0], [1, 0], [0, 1]])}, "size": lambda: 0.5},
    "Shell": {"mesh": surface, "solver": lambda: "direct"},
    "Polygon": {"points": lambda: [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]},
    "Polygon.spline": {"points": lambda: [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]},
    "Pressure.add": LOAD,
    "Push.add": LOAD,
    "Traction.add": LOAD,
    "QuadMesh": {"points": lambda: [[0, 0], [1, 0], [1, 1], [0, 1]], "cells": lambda: [[0, 1, 2, 3]]},
    "QuadMesh.child_mesh": {
        "points": lambda: ct.mesh.rectangle(cells=(1, 1)).points,
        "cells": lambda: [[0, 2, 3, 1]],
        "parents": lambda: np.zeros(1, np.int32),
    },
    "RigidBody": RIGID,
    "RigidInstances": {"density": lambda: 1000.0},
    "Smoke": {"size": lambda: (1.0, 1.0, 1.0), "cells": lambda: (4, 4, 4)},
    "Smoke.field": {"name": lambda: "smoke"},
    "Smoke.set_smoke": {"values": lambda: 0.5},
    "SaddlePointMatrix.split": {"x": lambda: np.zeros(7)},
    "CutSurface": {
        "triangles": lambda: np.zeros((1, 3, 3)) + [[0, 0, 0], [1, 0, 0], [0, 1, 0]],
        "free_edges": lambda: np.zeros((0, 3, 3)),
        "origin": lambda: None,
        "normal": lambda: None,
    },
    "CutSurface.mesh": {"points": surface, "triangles": lambda: None},
    "CutSurface.plane": {"point": lambda: (0.4, 0.5, 0.5), "normal": lambda: (1.0, 0.0, 0.0)},
    "CutSurface.swept": {
        "curve": lambda: [[0.4, -1, -1], [0.4, 2, -1]],
        "direction": lambda: (0.0, 0.0, 3.0),
    },
    "CutSurface.within": {"bounds": lambda: tets().bounds},
    "SoftBody.add_external_force": NODES,
    "SoftBody.cut": {"surface": lambda: ct.CutSurface.plane((0.4, 0.5, 0.5), (1.0, 0.0, 0.0))},
    "TetMesh.set_subdomains": {"subdomains": lambda: Subdomains.none(tets())},
    "SoftBody.haptic_tool": {"where": lambda: [0]},
    "SoftBody.pull": {"node": lambda: 0},
    "SoftBody.split": {"where": lambda: [0]},
    "SoftBody.field": {"name": lambda: "stress"},
    "SoftBody.set_contact_forces": NODES,
    "SoftBody.set_material": {"young": lambda: 1e5, "density": lambda: 900.0},
    **{
        f"{kind}{method}": arguments
        for kind in ("Springs", "PositionBased")
        for method, arguments in {
            "": {"network": tets},
            ".add_external_force": NODES,
            ".haptic_tool": {"where": lambda: [0]},
            ".pull": {"node": lambda: 0},
            ".set_contact_forces": NODES,
        }.items()
    },
    "Springs.set_material": {"stiffness": lambda: 100.0},
    "PositionBased.set_constraints": {"constraints": lambda: [springs.Distance()]},
    "SurfaceMesh": {"points": lambda: surface().points, "triangles": lambda: surface().triangles},
    "Cloth": {"mesh": surface},
    "Cloth.attach": {"where": lambda: [0], "body": rigid},
    "Cloth.field": {"name": lambda: "stress"},
    "SheetMesh": {"points": lambda: surface().points, "cells": lambda: surface().triangles},
    "SheetMesh.child_mesh": {
        "points": lambda: surface().points,
        "cells": lambda: surface().triangles,
        "parents": lambda: np.arange(12, dtype=np.int32),
    },
    "SheetMesh.from_surface": {"surface": surface, "thickness": lambda: 1e-3},
    "Fabric.measured": {"name": lambda: "denim"},
    "Fabric.element_constants": {"elements": lambda: np.zeros(1, np.int32)},
    "TetMesh": {"points": lambda: tets().points, "cells": lambda: tets().cells},
    "TetMesh.child_mesh": MESH_CHILD,
    "TriMesh": {"points": lambda: [[0, 0], [1, 0], [0, 1]], "cells": lambda: [[0, 1, 2]]},
    "TriMesh.child_mesh": {
        "points": lambda: [[0, 0, 0], [1, 0, 0], [0, 1, 0]],
        "cells": lambda: [[0, 1, 2]],
        "parents": lambda: np.zeros(1, np.int32),
    },
    "TopologyChange.copy_to_elements": {"values": lambda: np.zeros(6)},
    "TopologyChange.interpolate": {"values": lambda: np.zeros(8)},
    "TransformedField.transformed": {},
    "World.load": {"path": lambda: "file.h5"},
    "World.align_to_frame": {"frame": lambda: 1},
    "split_faces": {"faces": lambda: ct.mesh.faces_between(tets(), [0])},
    "compact": {"points": lambda: tets().points, "cells": lambda: tets().cells},
    "parametric": {"x": lambda: "u", "y": lambda: "v", "z": lambda: "u * v", "closed": lambda: False},
    "WindTunnel.field": {"name": lambda: "pressure"},
    "WindTunnel": {"size": lambda: (2.0, 1.0), "cells": lambda: (16, 8)},
    "ImplicitEuler.stepper": ELEMENTS,
    "Newmark.stepper": ELEMENTS,
    "EnergyMomentum.stepper": ELEMENTS,
    "Explicit.stepper": ELEMENTS,
    "SemiImplicit.stepper": ELEMENTS,
}
SPECIAL |= {  # cloth has the methods of deformable bodies
    key.replace("SoftBody", "Cloth"): value
    for key, value in SPECIAL.items()
    if key.startswith("SoftBody.") and key.replace("SoftBody", "Cloth") not in SPECIAL
}
SPECIAL |= {  # and a shell those of cloth
    key.replace("Cloth", "Shell"): value for key, value in SPECIAL.items() if key.startswith("Cloth.")
}


class Odd:
    """A class that takes any arguments."""

    def __init__(self, *arguments: Any) -> None: ...


# --- values that are wrong almost everywhere --------------------------------------------------------------------

WRONG: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "a text": lambda: "x",
    "an empty text": lambda: "",
    "a number as a text": lambda: "3",
    "bytes": lambda: b"x",
    "0": lambda: 0,
    "-1": lambda: -1,
    "0.5": lambda: 0.5,
    "an integer of 400 digits": lambda: 10**400,
    "an integer of 5000 digits": lambda: -(10**5000),
    "NaN": lambda: nan,
    "infinity": lambda: inf,
    "-infinity": lambda: -inf,
    "1e308": lambda: 1e308,
    "-1e308": lambda: -1e308,
    "1e-300": lambda: 1e-300,
    "the smallest float": lambda: 5e-324,
    "a complex number": lambda: 1j,
    "a decimal NaN": lambda: Decimal("nan"),
    "an empty list": lambda: [],
    "a list of one": lambda: [1],
    "three numbers": lambda: [1, 2, 3],
    "two numbers": lambda: (2.0, 1.0),
    "three zeros": lambda: (0.0, 0.0, 0.0),
    "three NaN": lambda: [nan] * 3,
    "three infinities": lambda: (inf, -inf, inf),
    "three huge integers": lambda: [10**400] * 3,
    "three huge numbers": lambda: (1e308, 1e308, 1e308),
    "three tiny numbers": lambda: (1e-300, 1e-300, 1e-300),
    "a billion three times": lambda: (10**9,) * 3,
    "a billion twice": lambda: (10**9,) * 2,
    "three texts": lambda: ["x"] * 3,
    "three None": lambda: [None] * 3,
    "a ragged list": lambda: [[1, 2], [3]],
    "nested empty lists": lambda: [[]],
    "deeply nested lists": lambda: [[[[1.0]]]],
    "rows of three": lambda: [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]],
    "rows of NaN": lambda: np.full((4, 3), nan),
    "rows of huge numbers": lambda: np.full((4, 3), 1e308),
    "no rows": lambda: np.zeros((0, 3)),
    "rows of complex numbers": lambda: np.zeros((2, 3), complex),
    "an object array": lambda: np.array([None, "x", 3], dtype=object),
    "an array of texts": lambda: np.array(["x", "y", "z"]),
    "an array of dates": lambda: np.array(["2000-01-01"], dtype="datetime64[D]"),
    "a mask": lambda: np.ones(3, bool),
    "an empty mapping": dict,
    "a mapping": lambda: {"x": 3},
    "a mapping by numbers": lambda: {3: "x"},
    "a mapping by pairs": lambda: {("a", "b"): 3},
    "a set": lambda: {1, 2},
    "an object": object,
    "a class": lambda: Odd,
    "a function of nothing that returns None": lambda: lambda *a: None,
    "a function that returns a text": lambda: lambda *a: "x",
    "a function that returns NaN": lambda: lambda *a: nan,
    "a function that returns rows": lambda: lambda *a: [[1, 2], [3]],
    "a function that returns a huge integer": lambda: lambda *a: 10**400,
    "a range": lambda: range(3),
    "a generator": lambda: (x for x in "xy"),
    "a module": lambda: inspect,
    "a path": lambda: Path("missing/file"),
    "a body": rigid,
}


# --- what can be called -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Subject:
    """A function, class, method or property of the public API.

    Attributes:
        label: Its name, such as "World.step".
        parameters: Names of its arguments.
        make: Returns the object that it belongs to, or None.
        call: Calls it on that object with arguments by name.
    """

    label: str
    parameters: tuple[str, ...]
    make: Callable[[], Any]
    call: Callable[[Any, Mapping[str, Any]], Any]
    right: Callable[[Any], dict[str, Any]]


def _arguments(label: str, parameters: Mapping[str, inspect.Parameter], target: Any = None) -> dict[str, Any]:
    special = SPECIAL.get(label, {})
    given = {name: make() for name, make in special.items()}
    for name, parameter in parameters.items():
        if name in given:
            continue
        if parameter.default is inspect.Parameter.empty:
            if name == "state":
                given[name] = target.state()
                continue
            if name not in ARGUMENTS:
                raise LookupError(f"tests/api_walk.py needs an example for the argument '{name}' of {label}")
            given[name] = ARGUMENTS[name]()
    return given


def _named(function: Any) -> dict[str, inspect.Parameter]:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    signature = inspect.signature(function)
    return {n: p for n, p in signature.parameters.items() if p.kind not in kinds and n != "self"}


def made(kind: type) -> Any:
    """Return an object of a class of the public API."""
    label = kind.__name__
    if label in MADE:
        return MADE[label]()
    return kind(**_arguments(label, _named(kind)))


def _positional(parameters: Mapping[str, inspect.Parameter], given: Mapping[str, Any]) -> tuple[list, dict]:
    first = [n for n, p in parameters.items() if p.kind is inspect.Parameter.POSITIONAL_ONLY]
    return [given[n] for n in first], {n: v for n, v in given.items() if n not in first}


def _function(label: str, function: Callable[..., Any]) -> Subject:
    parameters = _named(function)

    def call(_: Any, given: Mapping[str, Any]) -> Any:
        args, options = _positional(parameters, given)
        return function(*args, **options)

    names = tuple(dict.fromkeys([*parameters, *SPECIAL.get(label, {})]))
    return Subject(label, names, lambda: None, call, lambda _: _arguments(label, parameters))


def _method(kind: type, name: str) -> Subject:
    label = f"{kind.__name__}.{name}"
    parameters = _named(getattr(kind, name))
    names = tuple(dict.fromkeys([*parameters, *SPECIAL.get(label, {})]))
    return Subject(
        label,
        names,
        lambda: made(kind),
        lambda target, given: getattr(target, name)(**given),
        lambda target: _arguments(label, parameters, target),
    )


def _property(kind: type, name: str) -> Subject:
    return Subject(
        f"{kind.__name__}.{name}",
        ("value",),
        lambda: made(kind),
        lambda target, given: setattr(target, name, given["value"]),
        lambda target: {"value": getattr(target, name)},
    )


def _ours(thing: Any) -> bool:
    return str(getattr(thing, "__module__", "")).startswith("continua")


# Bases of the classes that are used: what they refuse is walked with those.
BASES = {"Hyperelastic", "Integrator", "Joint", "Law", "PlaneMesh", "Shape", "VolumeMesh"}

# Results that Continua makes, which only hold what they are given.
RECORDS = {
    "BodyFrame",
    "Closest",
    "ContactForces",
    "Csr",
    "Field",
    "FieldTable",
    "FitReport",
    "Frame",
    "Geometry",
    "HexQuality",
    "Overlap",
    "Pose",
    "Quality",
    "RunInfo",
    "SolveReport",
    "StaticReport",
    "StepReport",
    "Topology",
    "TriangleBvh",
    "WarningCount",
}

# Scenes have a walk of their own, the studio and the renderers open windows, and a refused number of threads is shown
# as it was given.
ELSEWHERE = {"Scene", "load_scene", "set_threads", "view", "RigidSystem"}


def subjects() -> Iterator[Subject]:
    """Yield all that can be called with arguments, or set."""
    seen: set[int] = set()
    for module in map(importlib.import_module, MODULES):
        for name in sorted(module.__all__):
            thing = getattr(module, name)
            if id(thing) in seen or not callable(thing) or not _ours(thing):
                continue
            seen.add(id(thing))
            if name in BASES | ELSEWHERE:
                continue
            if inspect.isclass(thing):
                if not issubclass(thing, BaseException) and not getattr(thing, "_is_protocol", False):
                    yield from _of_class(thing)
            else:
                yield _function(name, thing)


def _of_class(kind: type) -> Iterator[Subject]:
    if kind.__name__ not in MADE.keys() | RECORDS or kind.__name__ in BUILT:
        yield _function(kind.__name__, kind)
    for name in dir(kind):
        if name.startswith("_") or f"{kind.__name__}.{name}" in REFUSED:
            continue
        member = inspect.getattr_static(kind, name)
        if isinstance(member, property) and member.fset is not None:
            yield _property(kind, name)
        elif isinstance(member, (staticmethod, classmethod)) and _ours(member.__func__):
            yield _function(f"{kind.__name__}.{name}", getattr(kind, name))
        elif inspect.isfunction(member) and _ours(member):
            yield _method(kind, name)
