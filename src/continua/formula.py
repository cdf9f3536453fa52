"""Formulas given as text, such as `(1 + 0.3*cos(v)) * sin(u)`: numbers, names and a few functions, nothing else.

The text is parsed, every part of it is checked against an allow-list, and it is evaluated with NumPy, never executed as
Python.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError

__all__ = ["Formula"]

Values = Mapping[str, NDArray[np.float64]]
Part = Callable[[Values], NDArray[np.float64]]

_CONSTANTS = {"pi": np.pi, "tau": 2.0 * np.pi, "e": np.e}
_FUNCTIONS: dict[str, tuple[int, Callable[..., NDArray]]] = {
    **{name: (1, getattr(np, name)) for name in (
        "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "abs", "sign", "floor",
    )},
    "asin": (1, np.arcsin),
    "acos": (1, np.arccos),
    "atan": (1, np.arctan),
    "atan2": (2, np.arctan2),
    "min": (2, np.minimum),
    "max": (2, np.maximum),
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], Callable[..., NDArray]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
}
_LONGEST = 500  # letters
_MOST_PARTS = 400


class Formula:
    """A formula of some variables.

    Args:
        text: The formula: + - * / and ** (or ^), brackets, numbers, pi, tau, e, the variables, and the functions sin,
            cos, tan, asin, acos, atan, atan2, sinh, cosh, tanh, exp, log, sqrt, abs, sign, floor, min and max.
        names: Names of the variables.

    Raises:
        InputError: The text is not such a formula; the message names the invalid part.
    """

    def __init__(self, text: str, names: Sequence[str]) -> None:
        self.text = text
        self.names = tuple(names)
        if len(text) > _LONGEST:
            raise InputError(f"a formula has at most {_LONGEST} letters, not {len(text)}")
        try:
            tree = ast.parse(text.strip().replace("^", "**"), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise InputError(f"'{text}' is not a formula; write something like 2*cos({names[0]})") from None
        if sum(1 for _ in ast.walk(tree)) > _MOST_PARTS:
            raise InputError("the formula is too long; make it simpler")
        self._value = self._part(tree.body)

    def __call__(self, **values: ArrayLike) -> NDArray[np.float64]:
        """Return the value for given variables; undefined values, for instance 1/0, are inf or nan."""
        given = {name: np.asarray(values[name], dtype=np.float64) for name in self.names}
        shape = np.broadcast_shapes(*(value.shape for value in given.values()))
        with np.errstate(all="ignore"):
            return np.array(np.broadcast_to(self._value(given), shape))

    def __reduce__(self) -> tuple[type[Formula], tuple[str, tuple[str, ...]]]:
        return Formula, (self.text, self.names)

    def __repr__(self) -> str:
        return f"Formula({self.text!r}, {self.names!r})"

    def _part(self, node: ast.AST) -> Part:
        """Return the function that evaluates a part of the formula."""
        match node:
            case ast.Constant(value=bool()):
                pass
            case ast.Constant(value=int() | float() as number):
                return _constant(float(number) if abs(number) < 1e308 else np.inf)
            case ast.Name(id=name) if name in self.names:
                return lambda values: values[name]
            case ast.Name(id=name) if name in _CONSTANTS:
                return _constant(_CONSTANTS[name])
            case ast.Name(id=name):
                known = ", ".join((*self.names, *_CONSTANTS))
                raise InputError(f"the formula has an unknown name '{name}'; there are {known}")
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                value = self._part(inner)
                return lambda values: -value(values)
            case ast.UnaryOp(op=ast.UAdd(), operand=inner):
                return self._part(inner)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _applied(_OPERATORS[type(op)], [self._part(left), self._part(right)])
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(name, args)
        raise InputError(
            f"'{ast.unparse(node)}' is not understood in a formula; use + - * / ** and functions"
        )

    def _call(self, name: str, args: list[ast.expr]) -> Part:
        if name not in _FUNCTIONS:
            raise InputError(
                f"the formula has an unknown function '{name}'; there are {', '.join(_FUNCTIONS)}"
            )
        count, function = _FUNCTIONS[name]
        if len(args) != count:
            raise InputError(f"{name} takes {count} value{'s' * (count > 1)}, not {len(args)}")
        return _applied(function, [self._part(arg) for arg in args])


def _constant(number: float) -> Part:
    value = np.array(number)
    return lambda _values: value


def _applied(function: Callable[..., NDArray], parts: list[Part]) -> Part:
    return lambda values: function(*(part(values) for part in parts))
