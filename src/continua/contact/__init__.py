"""Contact: shapes that bodies can touch, finding what touches, and the forces that answer."""

from continua.contact.broad import Member, Surfaces
from continua.contact.continuous import find_crossings, find_intersections, find_shape_crossings
from continua.contact.options import Contact, PairTable
from continua.contact.penalty import NO_CONTACTS, ContactSet, find_contacts
from continua.contact.proximity import Pairs, find_pairs
from continua.contact.rows import NO_ROWS, ContactRows, contact_rows, join_rows
from continua.contact.shapes import Gear, Plane, Shape, Sphere
from continua.contact.shapes_mesh import MeshShape
from continua.contact.shapes_round import Box, Capsule, Cylinder
from continua.contact.surface_contacts import SurfaceContacts, TouchingBody

__all__ = [
    "NO_CONTACTS",
    "NO_ROWS",
    "Box",
    "Capsule",
    "Contact",
    "ContactRows",
    "ContactSet",
    "Cylinder",
    "Gear",
    "Member",
    "MeshShape",
    "PairTable",
    "Pairs",
    "Plane",
    "Shape",
    "Sphere",
    "SurfaceContacts",
    "Surfaces",
    "TouchingBody",
    "contact_rows",
    "find_contacts",
    "find_crossings",
    "find_intersections",
    "find_pairs",
    "find_shape_crossings",
    "join_rows",
]
