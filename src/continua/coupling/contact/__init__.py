"""Contact between soft bodies, rigid bodies and colliders: who may touch whom in a step, and their common solution."""

from continua.coupling.contact.stepper import ContactStepper

__all__ = ["ContactStepper"]
