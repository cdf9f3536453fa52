"""Contact: shapes that bodies can touch, finding what touches, and the forces that answer."""

from continua.contact.asks import Answer, BodyContact, BodySystem, BodyVelocities, Conversation
from continua.contact.broad import Member, Surfaces
from continua.contact.continuous import find_crossings, find_intersections, find_shape_crossings
from continua.contact.obstacles import Obstacles
from continua.contact.options import Contact, PairTable
from continua.contact.parts import ALONE, BodyStep, Driver, FailedPartError, advance
from continua.contact.proximity import Pairs, find_pairs
from continua.contact.rows import NO_ROWS, ContactRows, contact_rows, join_rows
from continua.contact.shapes import Gear, Plane, Shape, Sphere
from continua.contact.shapes_mesh import MeshShape
from continua.contact.shapes_round import Box, Capsule, Cylinder
from continua.contact.solve import ContactSolution, solve_contacts
from continua.contact.surface_contacts import SurfaceContacts, TouchingBody

__all__ = [
    "ALONE",
    "NO_ROWS",
    "Answer",
    "BodyContact",
    "BodyStep",
    "BodySystem",
    "BodyVelocities",
    "Box",
    "Capsule",
    "Contact",
    "ContactRows",
    "ContactSolution",
    "Conversation",
    "Cylinder",
    "Driver",
    "FailedPartError",
    "Gear",
    "Member",
    "MeshShape",
    "Obstacles",
    "PairTable",
    "Pairs",
    "Plane",
    "Shape",
    "Sphere",
    "SurfaceContacts",
    "Surfaces",
    "TouchingBody",
    "advance",
    "contact_rows",
    "find_crossings",
    "find_intersections",
    "find_pairs",
    "find_shape_crossings",
    "join_rows",
    "solve_contacts",
]
