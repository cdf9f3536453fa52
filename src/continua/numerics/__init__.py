"""The ground floor: compiled small-matrix functions, parallel primitives, and the `@kernel` decorators."""

from continua.numerics.kernel import (
    compile_stats,
    get_threads,
    inline,
    kernel,
    kernel_pair,
    on_compile,
    set_threads,
)

__all__ = [
    "compile_stats",
    "get_threads",
    "inline",
    "kernel",
    "kernel_pair",
    "on_compile",
    "set_threads",
]
