"""The LLVM toolchain, through llvmlite: text to object code, object code to addresses.

llvmlite 0.41 (LLVM 14) is the oldest supported version. It is imported and
initialised for the first kernel, not before.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

from robot_dynamics.errors import BackendError
from robot_dynamics.foundation import lazy

OLDEST = (0, 41)

LIBRARY_FUNCTIONS = {"sin": 1, "cos": 1, "exp": 1, "tanh": 1, "floor": 1, "atan2": 2}
"""C library functions that native code may call, with their number of arguments, all doubles."""

MEMORY_FUNCTIONS = ("malloc", "free", "memcpy", "memset")
"""C library functions for memory; LLVM calls the last two for its intrinsics."""

_LARGE_TEXT = 100_000  # characters; compiling that takes far longer than returning its memory

_HAVE_SCHEDULER = range(16, 23)
"""Versions of LLVM that are known to have the option of `_in_order_of_text`."""

# LLVM's global context is not thread-safe. A fork waits until no thread compiles.
_lock = lazy.lock
_library_numbers = itertools.count()

# llvmlite's own lock: a fork also waits until no thread frees compiled code. It is always taken
# after `_lock`.
_foreign: contextlib.AbstractContextManager[object] = contextlib.nullcontext()


def _before_fork() -> None:
    _lock.acquire()
    _foreign.__enter__()


def _after_fork() -> None:
    _foreign.__exit__(None, None, None)
    _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )


@dataclass(frozen=True)
class Host:
    """The machine that code is compiled for.

    Args:
        llvm: Versions of llvmlite and LLVM.
        cpu: LLVM's name of the processor.
        features: Processor features in LLVM's format.
        vector_bits: Width of a vector register.
        fused: True if the processor multiplies and adds in one rounding.
        typed_pointers: True for LLVM before 16.
    """

    llvm: str
    cpu: str
    features: str
    vector_bits: int
    fused: bool
    typed_pointers: bool

    def lanes(self, scalar: str) -> int:
        """Return the number of SIMD lanes of a scalar type in a vector register."""
        return self.vector_bits // (64 if scalar == "double" else 32)


@lru_cache(maxsize=1)
def host() -> Host:
    """Describe this machine.

    Raises:
        BackendError: If llvmlite is absent or too old, or Python is not 64-bit.
    """
    binding = _binding()
    version = import_module("llvmlite").__version__
    features = binding.get_host_cpu_features()
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        fused = features.get("fma", False)
        bits = 512 if features.get("avx512f") else 256 if features.get("avx2") else 128
    elif machine in ("aarch64", "arm64"):
        fused, bits = True, 128
    else:
        fused, bits = False, 128
    return Host(
        llvm=f"llvmlite {version}, LLVM {'.'.join(map(str, binding.llvm_version_info))}",
        cpu=binding.get_host_cpu_name(),
        features=features.flatten(),
        vector_bits=bits,
        fused=fused,
        typed_pointers=binding.llvm_version_info[0] < 16,
    )


def highest_level() -> int:
    """Return the optimisation level, 0 to 3, that $ROBOT_DYNAMICS_CODE_LEVEL allows at most.

    At level 0, LLVM takes a quarter of the time, for code that tests run a few times.
    """
    chosen = os.environ.get("ROBOT_DYNAMICS_CODE_LEVEL", "")
    return int(chosen) if chosen in ("0", "1", "2") else 3


def compile_object(ir: str, level: int = 2, scheduled: bool = True) -> bytes:
    """Compile a module to relocatable object code for this machine.

    Args:
        ir: The module as LLVM text.
        level: Optimisation level of the code generator, 0 to 3.
        scheduled: Let LLVM reorder operations; else they stay in the order of the text, where LLVM
            supports it. Results are the same bit for bit.

    Raises:
        BackendError: If LLVM cannot compile it.
    """
    with _lock:
        binding = _binding()
        try:
            module = binding.parse_assembly(ir)
            machine = _target_machine(min(level, highest_level()))
            with contextlib.nullcontext() if scheduled else _in_order_of_text(binding):
                code = bytes(machine.emit_object(module))
        except RuntimeError as error:
            raise BackendError(f"LLVM does not accept the equations: {error}") from None
        del module
        if len(ir) > _LARGE_TEXT:
            _return_memory()
        return code


@contextlib.contextmanager
def _in_order_of_text(binding: Any) -> Iterator[None]:
    """Compile without LLVM's machine scheduler.

    The option belongs to the whole process and is reset afterwards. LLVM ends the process at an
    unknown option, and before version 15 at a repeated one.
    """
    measured = platform.machine().lower() in ("x86_64", "amd64")
    if not measured or binding.llvm_version_info[0] not in _HAVE_SCHEDULER:
        yield
        return
    binding.set_option("", "-enable-misched=false")
    try:
        yield
    finally:
        binding.set_option("", "-enable-misched=true")


def _return_memory() -> None:
    """Return the memory that LLVM has freed to the system, if the C library supports it."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


class Loaded:
    """Object code in memory; its addresses are valid as long as this lives.

    Args:
        code: Relocatable object code.
        symbols: Names of the functions and variables to export.
        imports: Addresses of functions that the code calls, besides the C library's.

    Attributes:
        kept: Python objects that the code refers to and changes; see `native.entry`.
        following: Python function that the code refers to, or None.

    Raises:
        BackendError: If LLVM cannot link it.
    """

    def __init__(
        self, code: bytes, symbols: Iterable[str], imports: Mapping[str, int] | None = None
    ) -> None:
        self.kept: list[Any] = []
        self.following: Any = None
        with _lock:
            binding = _binding()
            builder = binding.JITLibraryBuilder().add_object_img(code)
            for name, address in {**_library_addresses(), **(imports or {})}.items():
                builder.import_symbol(name, address)
            for symbol in symbols:
                builder.export_symbol(symbol)
            name = f"robot_dynamics_{next(_library_numbers)}"
            try:
                self._tracker = builder.link(_jit(), name)
            except RuntimeError as error:
                raise BackendError(f"LLVM cannot load the code of a kernel: {error}") from None

    def address(self, symbol: str) -> int:
        """Return the address of a symbol."""
        return int(self._tracker[symbol])


@lru_cache(maxsize=1)
def _binding() -> Any:
    """llvmlite.binding, initialised."""
    with _lock:  # Python's import locks do not survive a fork
        return _imported()


def _imported() -> Any:
    try:
        llvmlite, binding = import_module("llvmlite"), import_module("llvmlite.binding")
    except (ImportError, OSError) as error:
        raise BackendError(
            f"native code needs llvmlite, which cannot be imported ({error}); "
            "install it with 'pip install llvmlite'"
        ) from None
    version = tuple(int(part) for part in llvmlite.__version__.split(".")[:2])
    if version < OLDEST:
        raise BackendError(
            f"native code needs llvmlite {OLDEST[0]}.{OLDEST[1]} or newer, found "
            f"{llvmlite.__version__}; install it with 'pip install -U llvmlite'"
        )
    if sys.maxsize <= 2**32:
        raise BackendError("native code needs a 64-bit Python")
    global _foreign  # noqa: PLW0603 - known only after the import
    _foreign = getattr(binding.ffi.lib, "_lock", _foreign)
    with contextlib.suppress(RuntimeError):  # newer ones refuse: they initialise themselves
        binding.initialize()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


@lru_cache(maxsize=4)
def _target_machine(level: int) -> Any:
    binding = _binding()
    target = binding.Target.from_triple(binding.get_process_triple())
    here = host()
    return target.create_target_machine(cpu=here.cpu, features=here.features, opt=level, jit=True)


@lru_cache(maxsize=1)
def _jit() -> Any:
    return _binding().create_lljit_compiler(_target_machine(2))


@lru_cache(maxsize=1)
def _library_addresses() -> dict[str, int]:
    """Return the addresses of the C library's functions in this process."""
    if sys.platform == "win32":
        library = ctypes.CDLL("ucrtbase")
    else:
        library = ctypes.CDLL(None)  # the interpreter itself is linked to libm
        if not hasattr(library, "sin"):
            library = ctypes.CDLL("libm.so.6")
    return {
        name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
        for name in (*LIBRARY_FUNCTIONS, *MEMORY_FUNCTIONS)
    }
