"""robot-dynamics export model and controllers: what they write, say and refuse."""

import re
import shlex
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest

from loaded_model import LoadedModel
from robot_dynamics.cli import main
from robot_dynamics.control.friction import Friction
from robot_dynamics.export import controllers_package, library_compiler
from robot_dynamics.export.package_folder import MANIFEST
from robot_dynamics.identification import Drives
from robot_dynamics.identification.export.parameter_file import write_parameters
from robot_dynamics.robot import find_robot, read_urdf

ARM = """
<robot name="Arm 1">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="left"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"/>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="2" velocity="2" effort="9"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="left"/>
    <origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>
    <limit lower="0.5" upper="2" velocity="2" effort="9"/></joint>
  <joint name="flange" type="fixed"><parent link="upper"/><child link="right"/></joint>
</robot>
"""


def second(name, parent):
    """A link of a second arm, and its joint of the same name."""
    link = re.search(r'<link name="left">.*?</link>', ARM, re.DOTALL).group()
    joint = re.search(r'<joint name="elbow".*?</joint>', ARM, re.DOTALL).group()
    joint = joint.replace("elbow", name).replace("upper", parent, 1).replace("left", name)
    return link.replace("left", name) + joint


SECOND_ARM = second("other_1", "base") + second("other_2", "other_1") + "</robot>"


needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


@pytest.fixture
def arm(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    return path


@pytest.fixture
def export(tmp_path, capsys):
    """The verb, to a C file: exit status, standard output and error."""

    def export(robot, *words, output=tmp_path / "arm.c"):
        status = main(["export", "model", str(robot), "--source", *words, "-o", str(output)])
        return status, *capsys.readouterr()

    return export


def initializer(text, table):
    """Lines of a table in a C file."""
    return text.split(f"{table}[] = {{\n")[1].split("};")[0].splitlines()


def field(text, name):
    """Initial value of a scalar field of the settings, or the first one of a vector."""
    (row,) = [x for x in initializer(text, "settings_fields") if x.startswith(f'    {{"{name}",')]
    offset = int(row.split('", ')[-1].split(",")[0])
    return float(initializer(text, "settings_initial")[offset].strip(" ,"))


@needs_compiler
def test_it_writes_a_library_and_says_how_to_use_it(tmp_path, capsys):
    output = tmp_path / "arm.so"
    words = ["planar_2r", "--payload", "1.5", "--com=-0.1,0,0", "-o", str(output)]
    assert main(["export", "model", *words]) == 0
    assert capsys.readouterr() == (
        f"wrote {output}: 2 joints, payloads at 'endpoint', end effector 'endpoint'\n"
        f"next: robot-dynamics export config, with --model {output}\n",
        "",
    )
    assert stat.S_IMODE(output.stat().st_mode) == 0o644
    library = LoadedModel(output)
    arrived = library.views("arrived", library.initial("arrived"))
    np.testing.assert_allclose(arrived["payload_goal"][:2], [1.5, -0.15])
    assert library.model.command.decode() == (
        "robot-dynamics export model planar_2r --payload 1.5 --com=-0.1,0,0 -o arm.so"
    )


@pytest.mark.thorough
@needs_compiler
def test_a_failed_compilation_and_a_missing_compiler_keep_what_was_there(
    tmp_path, capsys, monkeypatch
):
    output = tmp_path / "arm.so"
    output.write_text("mine")
    monkeypatch.setenv("CC", "no-such-compiler")
    assert main(["export", "model", "planar_2r", "-o", str(output)]) == 1
    assert capsys.readouterr().err == (
        "robot-dynamics export: no C compiler 'no-such-compiler' on this computer; install one "
        "(apt install gcc), set CC, or write the C file with --source and compile it elsewhere\n"
    )
    monkeypatch.setenv("CC", "cc")
    monkeypatch.setattr(library_compiler, "COMMAND", ("cc", "--no-such-flag"))
    assert main(["export", "model", "planar_2r", "-o", str(output)]) == 1
    line = capsys.readouterr().err
    assert line.startswith("robot-dynamics export: cc failed: ") and line.count("\n") == 1
    assert output.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [output]


@pytest.mark.thorough
def test_two_sources_are_the_same_bytes_without_paths_of_the_machine(export, tmp_path, arm):
    for name in ("one.c", "two.c"):
        assert export(arm, output=tmp_path / name)[0] == 0
    one, two = (tmp_path / name for name in ("one.c", "two.c"))
    assert one.read_text().replace("one.c", "two.c") == two.read_text()
    assert str(tmp_path) not in one.read_text()


@pytest.mark.thorough
def test_the_source_names_the_command_that_compiles_it(export, tmp_path, arm):
    _, out, _ = export(arm)
    assert out.splitlines()[-1] == (
        "compile it by the command at its top, on the computer that loads it"
    )
    head = (tmp_path / "arm.c").read_text().split("*/")[0]
    assert "cc -std=c99 -O1 " in head and " -o model.so model.c -lm" in head


@pytest.mark.thorough
def test_payloads_are_at_the_end_effector_unless_a_frame_is_named(export, arm):
    _, out, _ = export(arm, "--payload", "1")
    assert out.splitlines()[0].endswith(": 2 joints, payloads at 'left', end effector 'left'")
    _, out, _ = export(arm, "--payload-frame", "right")
    assert out.splitlines()[0].endswith(": 2 joints, payloads at 'right', end effector 'left'")
    _, out, _ = export(arm, "--lock", "elbow=1", "--frame", "upper")
    assert out.splitlines()[0].endswith(": 1 joint, payloads at 'upper', end effector 'upper'")


@pytest.mark.thorough
def test_without_an_end_effector_there_are_no_payloads_unless_a_frame_is_named(export, arm):
    arm.write_text(arm.read_text().replace("</robot>", SECOND_ARM))
    _, out, _ = export(arm)
    assert out.splitlines()[0].endswith(": 4 joints, no payloads, no modes in task space")
    assert export(arm, "--payload", "1") == (
        1,
        "",
        "robot-dynamics export: robot 'Arm 1' has 3 tips (left, right, other_2), and no rule says "
        "which one is the end effector; name its frame by --payload-frame\n",
    )
    _, out, _ = export(arm, "--lock", "other_1=0.5,other_2=1")
    assert out.splitlines()[0].endswith(": 2 joints, payloads at 'left', end effector 'left'")


@pytest.mark.parametrize("effort", ["0", "1.7976931348623157e308"])
def test_a_joint_without_effort_limit_is_refused(export, arm, tmp_path, effort):
    arm.write_text(ARM.replace('effort="9"', f'effort="{effort}"'))
    status, out, err = export(arm)
    assert (status, out) == (1, "")
    assert err.splitlines()[-1] == (
        "robot-dynamics export: joint 'shoulder' of robot 'Arm 1' has no effort limit; give it one "
        'in the URDF, <limit effort="..."> above 0, or fix the joint with --lock'
    )
    assert not (tmp_path / "arm.c").exists()


def drive_file(path, friction):
    robot = read_urdf(find_robot("planar_2r"))
    terms = Friction(np.array([0.1, 0.2]), np.array([0.3, friction]), memory=np.array([0.5, 0.0]))
    write_parameters(path, robot, Drives(terms, np.array([0.02, 0.01])))
    return path


@pytest.mark.thorough
def test_identified_friction_and_rotors_are_exported_from_their_file(export, tmp_path):
    file = drive_file(tmp_path / "found.yaml", 0.4)
    _, out, _ = export("planar_2r", "--parameters", str(file))
    assert out.splitlines()[0].endswith(", end effector 'endpoint', drives of found.yaml")
    text = (tmp_path / "arm.c").read_text()
    assert (field(text, "friction"), field(text, "rotor")) == (0.1, 0.02)
    assert field(text, "has_memory") == 1.0
    assert "planar_2r --parameters found.yaml --source -o arm.c\n" in text


@pytest.mark.thorough
def test_a_file_of_drives_beside_the_urdf_is_used(export, tmp_path):
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(Path(find_robot("planar_2r")).read_text())
    drive_file(tmp_path / "arm.yaml", 0.5)
    _, out, _ = export(urdf)
    assert out.splitlines()[0].endswith(", drives of arm.yaml")


def test_a_file_that_holds_no_drives_is_refused(export, tmp_path):
    file = tmp_path / "other.yaml"
    file.write_text("a: 1\n")
    assert export("planar_2r", "--parameters", str(file)) == (
        1,
        "",
        f"robot-dynamics export: {file}: is no parameter file of identified drives; give the one "
        "that `robot-dynamics identify` has exported\n",
    )
    assert not (tmp_path / "arm.c").exists()


def transmission(joint, reduction):
    return f"""<transmission name="{joint}_t"><type>transmission_interface/SimpleTransmission</type>
<joint name="{joint}"/><actuator name="{joint}_motor">
<mechanicalReduction>{reduction}</mechanicalReduction></actuator></transmission>"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param("", "NULL", marks=pytest.mark.thorough),
        pytest.param(transmission("shoulder", 100), "NULL", marks=pytest.mark.thorough),
        (
            transmission("elbow", 50) + transmission("shoulder", -100),
            ["-100.0", "0.0", "0.0", "50.0"],
        ),
    ],
)
def test_transmissions_of_every_joint_are_the_coupling_of_actuators(
    export, arm, tmp_path, written, expected
):
    arm.write_text(ARM.replace("</robot>", f"{written}</robot>"))
    assert export(arm)[0] == 0
    text = (tmp_path / "arm.c").read_text()
    if expected == "NULL":
        assert ".transmissions = NULL," in text
    else:
        found = [x.strip(" ,") for x in initializer(text, "transmission_table")]
        assert found == expected


@pytest.mark.thorough
def test_only_what_a_joint_moves_or_a_mass_needs_is_compared(export, arm, tmp_path):
    export(arm)
    text = (tmp_path / "arm.c").read_text()
    links = [row.split('"')[1] for row in initializer(text, "links_table")]
    joints = [row.split('"')[1] for row in initializer(text, "tree_table")]
    assert (links, joints) == (["upper", "left"], ["shoulder", "elbow"])
    export(arm, "--payload-frame", "right")
    rows = initializer((tmp_path / "arm.c").read_text(), "tree_table")
    assert [row.split('"')[1] for row in rows] == ["shoulder", "elbow", "flange"]


def test_a_centre_of_mass_without_payload_is_refused(export):
    assert export("planar_2r", "--com", "0,0,1") == (
        1,
        "",
        "robot-dynamics export: --com: is that of a payload; add --payload\n",
    )


def test_a_file_that_cannot_be_written_is_refused(export, tmp_path):
    status, out, err = export("planar_2r", output=tmp_path)
    assert (status, out) == (1, "")
    assert err == f"robot-dynamics export: {tmp_path}: is a folder; name a file\n"
    status, out, err = export("planar_2r", output="/proc/arm.c")
    assert (status, out) == (1, "")
    assert err.startswith("robot-dynamics export: /proc/arm.c: cannot be written (")


@pytest.mark.thorough
def test_the_command_in_a_source_writes_it_again(export, tmp_path, monkeypatch, arm):
    export(arm, "--lock", "elbow=1", "--bandwidth", "12.5")
    before = (tmp_path / "arm.c").read_text()
    command = shlex.split(before.splitlines()[2].removeprefix(" *   "))
    monkeypatch.chdir(tmp_path)
    assert command[0] == "robot-dynamics"
    assert main(command[1:]) == 0
    assert (tmp_path / "arm.c").read_text() == before


# -- the package ---------------------------------------------------------------------------------


@pytest.fixture
def copy(tmp_path, capsys):
    """The verb: exit status, standard output and error."""

    def copy(*words, output=tmp_path / "ws" / "src"):
        status = main(["export", "controllers", *words, "-o", str(output)])
        return status, *capsys.readouterr()

    return copy


def test_the_controllers_are_copied_with_the_commands_that_build_them(copy, tmp_path):
    status, out, err = copy()
    folder = tmp_path / "ws" / "src" / "robot_dynamics_controllers"
    files = controllers_package.package_files()
    assert (status, err) == (0, "")
    assert out == (
        f"wrote {folder}: {len(files)} files\n"
        "next:\n"
        f"  cd {tmp_path}/ws\n"
        "  rosdep install --from-paths src -y --ignore-src\n"
        "  colcon build --packages-select robot_dynamics_controllers\n"
        "  robot-dynamics export model ROBOT.urdf -o ROBOT.so\n"
        "  robot-dynamics export config ROBOT.urdf -o ROBOT_controllers.yaml\n"
    )
    assert {"package.xml", "CMakeLists.txt", controllers_package.HEADER} <= set(files)
    assert (folder / "package.xml").read_text() == files["package.xml"]


def test_a_changed_package_is_overwritten_only_with_force(copy, tmp_path):
    copy()
    folder = tmp_path / "ws" / "src" / "robot_dynamics_controllers"
    (folder / "CMakeLists.txt").write_text("mine")
    assert copy() == (
        1,
        "",
        f"robot-dynamics export: {folder}/CMakeLists.txt: was changed after its export; move your "
        "changes to another package, or overwrite them with --force\n",
    )
    assert (folder / "CMakeLists.txt").read_text() == "mine"
    assert copy("--force")[0] == 0
    assert (folder / "CMakeLists.txt").read_text() != "mine"
    assert (folder / MANIFEST).exists()


def test_an_empty_folder_name_is_refused(copy):
    assert copy(output="") == (
        1,
        "",
        "robot-dynamics export: the folder to write to has no name; name one, . for this one\n",
    )


def test_the_package_stays_small():
    lines = [
        line.strip()
        for path, text in controllers_package.package_files().items()
        if path.startswith("src/") and path.endswith((".cpp", ".hpp"))
        for line in text.splitlines()
    ]
    assert sum(bool(line) and not line.startswith("//") for line in lines) <= 2500
