"""Signed distance: exact to a triangle surface, and fitted by polynomials on an octree."""

from continua.sdf import kernels
from continua.sdf.exact import Closest, ExactDistance, exact
from continua.sdf.field import DistanceField, FieldTable
from continua.sdf.tree import MeshTree

__all__ = ["Closest", "DistanceField", "ExactDistance", "FieldTable", "MeshTree", "exact", "kernels"]
