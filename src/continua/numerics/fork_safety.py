"""Parallel kernels work in forked processes too.

GNU OpenMP cannot start threads in the child of a process that has used it: Numba ends such a child with SIGTERM, and
`multiprocessing.Pool.map` waits for it forever. Compiled code enters all its parallel loops through one symbol,
`numba_parallel_for`. Here it gets a function of our own, which passes the loop on to Numba's threads, but in a forked
process runs it in the calling thread. Results do not depend on the number of threads, so both give the same bits.

A fork copies the calling thread alone. What another thread was compiling would stay locked in the child forever, so a
fork waits until the compiler is free.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi
from numba.core.compiler_lock import global_compiler_lock
from numba.np.ufunc import parallel as _parallel

__all__ = ["make_fork_safe"]

_SYMBOL = "numba_parallel_for"
_FLAG = "continua_forked"

# What Numba's parallel_for does: calls function(pointers, counts, steps, data) for each of counts[0] parts, with the
# pointers advanced by as many steps, and counts[0] = 1.
_SOURCE = """
@{flag} = global i8 0

define void @continua_parallel_for(ptr %function, ptr %pointers, ptr %counts, ptr %steps, ptr %data,
                                   i64 %dimensions, i64 %arrays, i64 %threads) {{
start:
  %forked = load volatile i8, ptr @{flag}
  %serial = icmp ne i8 %forked, 0
  br i1 %serial, label %prepare, label %pool
pool:
  tail call void inttoptr (i64 {pool} to ptr)(ptr %function, ptr %pointers, ptr %counts, ptr %steps, ptr %data,
                                              i64 %dimensions, i64 %arrays, i64 %threads)
  ret void
prepare:
  %parts = load i64, ptr %counts
  %length = add i64 %dimensions, 1
  %part_counts = alloca i64, i64 %length
  %part_pointers = alloca ptr, i64 %arrays
  br label %next_part
next_part:
  %part = phi i64 [0, %prepare], [%part_after, %call]
  %part_left = icmp ult i64 %part, %parts
  br i1 %part_left, label %next_count, label %end
next_count:
  %k = phi i64 [0, %next_part], [%k_after, %copy_count]
  %count_left = icmp ult i64 %k, %length
  br i1 %count_left, label %copy_count, label %next_pointer
copy_count:
  %count_from = getelementptr i64, ptr %counts, i64 %k
  %count_to = getelementptr i64, ptr %part_counts, i64 %k
  %count = load i64, ptr %count_from
  store i64 %count, ptr %count_to
  %k_after = add i64 %k, 1
  br label %next_count
next_pointer:
  %j = phi i64 [0, %next_count], [%j_after, %advance]
  %pointer_left = icmp ult i64 %j, %arrays
  br i1 %pointer_left, label %advance, label %call
advance:
  %pointer_from = getelementptr ptr, ptr %pointers, i64 %j
  %pointer_to = getelementptr ptr, ptr %part_pointers, i64 %j
  %step_from = getelementptr i64, ptr %steps, i64 %j
  %pointer = load ptr, ptr %pointer_from
  %step = load i64, ptr %step_from
  %offset = mul i64 %step, %part
  %advanced = getelementptr i8, ptr %pointer, i64 %offset
  %missing = icmp eq ptr %pointer, null
  %passed = select i1 %missing, ptr null, ptr %advanced
  store ptr %passed, ptr %pointer_to
  %j_after = add i64 %j, 1
  br label %next_pointer
call:
  store i64 1, ptr %part_counts
  call void %function(ptr %part_pointers, ptr %part_counts, ptr %steps, ptr %data)
  %part_after = add i64 %part, 1
  br label %next_part
end:
  ret void
}}
"""


_threads: Any = _parallel  # its functions are set at run time, unseen by type checkers
_locks: tuple[Any, ...] = (global_compiler_lock, ffi.lib._lock, _threads._backend_init_thread_lock)


def _compile(pool: int) -> Any:
    """Return the engine that holds the compiled function, for Numba's own one at the address `pool`."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(_SOURCE.format(flag=_FLAG, pool=pool))
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    return engine


def _acquire_locks() -> None:
    for lock in _locks:
        lock.__enter__()


def _release_locks() -> None:
    for lock in reversed(_locks):
        lock.__exit__(None, None, None)


@cache
def make_fork_safe() -> Any:
    """Let all parallel kernels that are loaded from now on work in forked processes.

    It must be called after the threading layer was chosen and before the first parallel kernel is loaded. The engine
    that is returned owns the compiled function; it is kept for the lifetime of the process.
    """
    if not hasattr(os, "register_at_fork"):
        return None  # Windows has no fork
    _threads._launch_threads()  # names the symbol; OpenMP itself starts threads at the first parallel loop
    engine = _compile(llvm.address_of_symbol(_SYMBOL))
    llvm.add_symbol(_SYMBOL, engine.get_function_address("continua_parallel_for"))
    forked = ctypes.c_int8.from_address(engine.get_global_value_address(_FLAG))

    def after_in_child() -> None:
        forked.value = 1
        _threads._set_num_threads(1)
        _release_locks()

    os.register_at_fork(before=_acquire_locks, after_in_parent=_release_locks, after_in_child=after_in_child)
    return engine
