"""Contact solvers: constraint rows, frictional contact by an augmented Lagrangian, and rigid body solvers."""

from continua.contact_solver.augmented_lagrangian import ContactSolution, solve_contacts
from continua.contact_solver.constraint_rows import EMPTY_ROWS, ConstraintRows, contact_rows, join_rows
from continua.contact_solver.contact_body import ContactBody, ContactSurface, HasContactBody, StaticProblem
from continua.contact_solver.options import Contact, ContactPairTable

__all__ = [
    "EMPTY_ROWS",
    "ConstraintRows",
    "Contact",
    "ContactBody",
    "ContactPairTable",
    "ContactSolution",
    "ContactSurface",
    "HasContactBody",
    "StaticProblem",
    "contact_rows",
    "join_rows",
    "solve_contacts",
]
