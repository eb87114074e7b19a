"""Build the interfaces of this folder that no package index has, for the tests of their users.

    python test/interfaces/build.py [FOLDER]

Where rclpy comes from the package index, there is no control_msgs for it. The definitions beside
this file have the fields of that package that the tests need. The generators of rosidl, which come
with rclpy, and a C++ compiler make the package from them: in FOLDER, by default among the packages
of this Python. A package of that name that is there already, as in a ROS installation, stays.
"""

import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from importlib.util import find_spec
from os import cpu_count, devnull, environ
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = "control_msgs"
BUILT_HERE = "built_by_the_tests"
"""A file that tells the package of this program from that of an installation."""
EXTENSION = f"{PACKAGE}_s__rosidl_typesupport_c"
TYPESUPPORTS = ("rosidl_typesupport_fastrtps_c", "rosidl_typesupport_introspection_c")
"""What Fast DDS asks of a type: its serialization and its fields. Each is a library of its own."""
IMPORTED = (
    "action_msgs",
    "builtin_interfaces",
    "geometry_msgs",
    "service_msgs",
    "std_msgs",
    "trajectory_msgs",
    "unique_identifier_msgs",
)
"""Packages of the interfaces that the definitions name, and that an action names."""
KINDS = ("rosidl_generator_c", "rosidl_generator_py", "rosidl_typesupport_c", *TYPESUPPORTS)
RUNTIME = (
    "rosidl_runtime_c",
    "rosidl_typesupport_c",
    "rosidl_typesupport_fastrtps_c",
    "rosidl_typesupport_fastrtps_cpp",
    "rosidl_typesupport_introspection_c",
    "rmw",
    "rcutils",
    "fastcdr",
)


def main() -> int:
    """Build the package, unless there is another one; return 1 and say why if that fails."""
    folder = Path(*sys.argv[1:2] or [sysconfig.get_path("purelib")])
    target = folder / PACKAGE
    there = find_spec(PACKAGE)  # without an origin it is the folder of the definitions
    if there and there.origin and not (Path(there.origin).parent / BUILT_HERE).exists():
        return 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as work:
            package = generated(Path(work))
            compile_extension(Path(work), package)
            (package / BUILT_HERE).touch()
            shutil.rmtree(target, ignore_errors=True)
            package.rename(target)  # complete, or not there
    except (ImportError, OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", None) or error
        print(f"no {PACKAGE}, so the tests of the action skip: {reason}", file=sys.stderr)
        return 1
    return 0


def generated(work: Path) -> Path:
    """Generate C, C++ and Python; return the folder of the Python package."""
    prefix = Path(sys.prefix)
    environ["AMENT_PREFIX_PATH"] = sys.prefix  # where the generators find their templates
    from rosidl_adapter.action import convert_action_to_idl
    from rosidl_adapter.msg import convert_msg_to_idl
    from rosidl_generator_c.cli import GenerateC
    from rosidl_generator_py.cli import GeneratePython
    from rosidl_generator_type_description.cli import HashTypeDescription
    from rosidl_typesupport_c.cli import GenerateCTypesupport
    from rosidl_typesupport_fastrtps_c.cli import GenerateFastRTPSCTypesupport
    from rosidl_typesupport_introspection_c.cli import GenerateIntrospectionCTypesupport

    translators = {".msg": convert_msg_to_idl, ".action": convert_action_to_idl}
    definitions, interfaces = HERE / PACKAGE, work / "idl" / PACKAGE
    files = []
    with open(devnull, "w") as silence, redirect_stdout(silence):
        for path in sorted(definitions.rglob("*.*")):
            file = path.relative_to(definitions)
            translators[path.suffix](definitions, PACKAGE, file, interfaces / file.parent)
            files.append(f"{interfaces}:{file.with_suffix('.idl')}")
        others = [str(prefix / "share" / name) for name in IMPORTED]
        hashes = HashTypeDescription("hash").generate_type_hashes(
            PACKAGE, files, others, work / "hash"
        )
        package, common = work / "python" / PACKAGE, work / "common"
        GenerateC("c").generate(PACKAGE, files, others, common / PACKAGE, hashes)
        dispatch = GenerateCTypesupport("c", typesupport_implementations=list(TYPESUPPORTS))
        dispatch.generate(PACKAGE, files, others, common / PACKAGE)
        kinds = GenerateFastRTPSCTypesupport("fast"), GenerateIntrospectionCTypesupport("fields")
        for name, kind in zip(TYPESUPPORTS, kinds, strict=True):
            kind.generate(PACKAGE, files, others, work / name / PACKAGE)
        python = GeneratePython("py", typesupport_implementations=["rosidl_typesupport_c"])
        python.generate(PACKAGE, files, others, package)
    (package / "__init__.py").touch()
    return package


def compile_extension(work: Path, package: Path) -> None:
    """Compile the library that rclpy loads, and those of the type supports, which it loads."""
    import numpy as np

    prefix, suffix = Path(sys.prefix), sysconfig.get_config_var("EXT_SUFFIX")
    folders = [work / name for name in ("common", *TYPESUPPORTS)]
    headers = [np.get_include(), sysconfig.get_path("include"), prefix / "include"]
    headers += [path for path in (prefix / "include").iterdir() if path.is_dir()]
    options = ["-O0", "-w", "-fPIC", *(f"-I{path}" for path in (*folders, *headers))]

    def compiled(source: Path) -> Path:
        compiler = "g++" if source.suffix == ".cpp" else "gcc"
        target = source.with_suffix(source.suffix + ".o")
        run(compiler, *options, "-c", source, "-o", target)
        return target

    def linked(target: Path, folders: Sequence[Path], *libraries: str) -> None:
        objects = [path for folder in folders for path in folder.rglob("*.o")]
        where = [f"-L{package}", f"-L{prefix / 'lib'}", f"-Wl,-rpath,$ORIGIN:{prefix / 'lib'}"]
        name = f"-Wl,-soname,{target.name}"
        run("g++", "-shared", name, "-o", target, *objects, *where, *libraries)

    sources = [path for path in work.rglob("*") if path.suffix in (".c", ".cpp")]
    with ThreadPoolExecutor(cpu_count()) as pool:
        list(pool.map(compiled, sources))
    installed = [f"-l{name}__{kind}" for name in IMPORTED for kind in KINDS]
    installed += [f"-l{name}" for name in RUNTIME]
    for name in TYPESUPPORTS:
        linked(package / f"lib{PACKAGE}__{name}.so", [work / name], *installed)
    own = ["-Wl,--no-as-needed", *(f"-l{PACKAGE}__{name}" for name in TYPESUPPORTS)]
    linked(package / (EXTENSION + suffix), [work / "common", package], *installed, *own)
    for path in package.rglob("*.[co]"):
        path.unlink()


def run(*command: str | Path) -> None:
    """Run a command that prints only if it fails."""
    subprocess.run(command, check=True, capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(main())
