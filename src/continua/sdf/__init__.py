"""Signed distance: exact to a triangle surface, and fitted by polynomials on an octree."""

from continua.sdf import kernels
from continua.sdf.bvh import TriangleBvh
from continua.sdf.exact import Closest, ExactDistance, exact
from continua.sdf.field import DistanceField, FieldTable, FitReport
from continua.sdf.file import load, mesh_hash
from continua.sdf.fit import fit
from continua.sdf.transformed_field import TransformedField

__all__ = [
    "Closest",
    "DistanceField",
    "ExactDistance",
    "FieldTable",
    "FitReport",
    "TransformedField",
    "TriangleBvh",
    "exact",
    "fit",
    "kernels",
    "load",
    "mesh_hash",
]
