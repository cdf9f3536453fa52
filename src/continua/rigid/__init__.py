"""Rigid bodies: mass properties, contacts and joints."""

from continua.rigid import joints
from continua.rigid.body import RigidBody, RigidInstances
from continua.rigid.pull import RigidPull
from continua.rigid.system import RigidSystem

__all__ = ["RigidBody", "RigidInstances", "RigidPull", "RigidSystem", "joints"]
