"""Interaction with a running world by mouse."""

from continua.studio.interaction.interaction import Interaction

__all__ = ["Interaction"]
