"""How kernels are compiled: a dispatcher that spends no time on machine code that nobody calls.

Numba compiles each function that a kernel calls as if Python would call it too: with wrappers that unpack Python
objects, a full optimisation and machine code of its own, all of which is thrown away when the function is inlined.
Here a function that is called by a kernel is typed and lowered only; the kernel links it, makes its symbol local, and
everything is optimised once. This takes less than half of the time. It also makes the machine code of a kernel depend
on its sources alone: with Numba's rules a kernel could call the copy of a helper that another kernel had brought, and
results could differ in the last bits between a process that compiles and one that loads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import binding as llvm
from numba.core import compiler, sigutils, typing
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.registry import CPUDispatcher

__all__ = ["KernelDispatcher"]


class _KernelLibrary(JITCodeLibrary):
    """Code of a kernel that Python calls: functions linked into it are local."""

    def finalize(self) -> None:
        self._link()
        self._optimize_final_module()
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.linkonce_odr:
                function.linkage = "internal"
        self._final_module.verify()
        self._finalize_final_module()

    def _link(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)


class _CalleeLibrary(_KernelLibrary):
    """Code of a function that a kernel calls: to be linked, without machine code."""

    def finalize(self) -> None:
        self._link()
        self._optimize_final_module()
        self._final_module.verify()
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    @property
    def codegen(self) -> Any:
        return _WithoutEnvironments(self._codegen)


class _WithoutEnvironments:
    """A code generator for functions that have no addresses, so that their environments cannot be set."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, env_name: str, env: Any) -> None:
        """Do nothing."""


@contextmanager
def _linked_callees(context: Any) -> Iterator[None]:
    """Compile Numba's own functions, and the bodies of parallel loops, as callees too."""
    codegen = context.codegen()
    before = codegen._library_class
    if before is _CalleeLibrary:  # a callee of a kernel that is being compiled
        yield
        return
    codegen._library_class = _CalleeLibrary
    kind = type(context)  # contexts are copied while they compile, so an attribute of this one would not do
    create = kind.create_cpython_wrapper

    def create_unless_callee(self: Any, library: Any, *args: Any, **options: Any) -> None:
        if not isinstance(library, _CalleeLibrary):
            create(self, library, *args, **options)

    kind.create_cpython_wrapper = create_unless_callee
    try:
        yield
    finally:
        codegen._library_class = before
        kind.create_cpython_wrapper = create


class _Flags(compiler.Flags):
    """Numba's flags, compared quickly: type inference looks functions up by flags many thousand times per kernel."""

    def __hash__(self) -> int:
        return _FLAGS_HASH

    def __eq__(self, other: object) -> bool:
        if isinstance(other, compiler.Flags) and self._values == other._values:
            return True
        return super().__eq__(other)


_FLAGS_HASH = hash(compiler.Flags())


class _KernelCompiler(_FunctionCompiler):
    """Compiles a kernel that Python calls."""

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        with _linked_callees(self.targetdescr.target_context):
            return super()._compile_core(args, return_type)

    def _customize_flags(self, flags: Any) -> Any:
        flags = _Flags(flags)
        flags.no_cfunc_wrapper = True
        return flags


class _CalleeCompiler(_KernelCompiler):
    """Compiles a function that a kernel calls."""

    def _customize_flags(self, flags: Any) -> Any:
        flags = super()._customize_flags(flags)
        flags.no_cpython_wrapper = True
        flags.no_compile = True
        return flags


class _Pipeline(compiler.Compiler):
    """Numba's passes, with a library of the kind that Python can call."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *args: Any) -> None:
        library = _KernelLibrary(targetctx.codegen(), "kernel")
        library.enable_object_caching()
        super().__init__(typingctx, targetctx, library, *args)


class KernelDispatcher(CPUDispatcher):
    """A function that is compiled for Python when Python calls it, and as a callee when a kernel calls it.

    Args:
        function: The Python function.
        options: Options of `numba.njit`.
    """

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        super().__init__(function, {}, options)
        self._compiler = _KernelCompiler(function, self.targetdescr, options, {}, _Pipeline)
        self._callee_compiler = _CalleeCompiler(function, self.targetdescr, options, {}, compiler.Compiler)
        self._callees: dict[tuple[Any, ...], Any] = {}

    def get_call_template(self, args: Any, kws: Any) -> tuple[Any, Any, Any, dict]:
        """Return what type inference needs for a call by a kernel, after compiling for these types."""
        pysig, args = self._callee_compiler.fold_argument_types(args, kws)
        self._compile_callee(tuple(args))
        name = self.py_func.__name__
        signatures = [result.signature for result in self._callees.values()]
        template = typing.make_concrete_template(f"CallTemplate({name})", key=name, signatures=signatures)
        return template, pysig, args, {}

    def get_overload(self, sig: Any) -> Any:
        """Return the key under which the lowering of a call finds the callee."""
        args, _ = sigutils.normalize_signature(sig)
        return self._callees[tuple(args)].entry_point

    @global_compiler_lock
    def _compile_callee(self, args: tuple[Any, ...]) -> None:
        if args in self._callees:
            return
        with self._compiling_counter:
            result = self._callee_compiler.compile(args, None)
            result = result._replace(entry_point=_Callee())
            self.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
            self._callees[args] = result


class _Callee:
    """Names a callee in Numba's tables."""
