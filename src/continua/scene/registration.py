"""Scene models that grow: material laws, solvers and output formats may be registered after the models were built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema

__all__ = ["FromRegistry", "on_registration", "rebuild_models"]

_listeners: list[Callable[[], None]] = []


class FromRegistry:
    """Annotation of a field whose type is looked up in a registry whenever the model is built.

    Args:
        annotation: Returns the type, with everything that is registered at that time.
    """

    def __init__(self, annotation: Callable[[], Any]) -> None:
        self._annotation = annotation

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(self._annotation())


def on_registration(listener: Callable[[], None]) -> Callable[[], None]:
    """Call `listener` after every registration; for use as a decorator."""
    _listeners.append(listener)
    return listener


def rebuild_models() -> None:
    """Rebuild the models after a registration; does nothing until `continua.scene` is imported."""
    for listener in _listeners:
        listener()
