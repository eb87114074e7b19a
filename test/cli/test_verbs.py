"""robot-dynamics info, torque and simulate: what they print, and what they say of bad input."""

import json
import re
import shlex

import numpy as np
import pytest

from arms import puma_as_printed
from oracles import example_folder
from robot_dynamics.cli import VERBS, main, parser
from robot_dynamics.robot import find_robot


def needs_example_robots():
    if example_folder() is None:
        pytest.skip("example-robot-data is not installed")


def run(capsys, *words):
    """Exit status, standard output and error of a command line."""
    status = main(list(words))
    out, err = capsys.readouterr()
    return status, out, err


def row(text, name):
    """The cells of a table row that begins with that name."""
    (line,) = [line for line in text.splitlines() if line.strip().startswith(name)]
    return re.split(r"\s{2,}", line.strip())


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb, capsys):
    with pytest.raises(SystemExit) as end:
        main([verb, "--help"])
    assert end.value.code == 0
    assert f"robot-dynamics {verb}" in capsys.readouterr().out


def test_no_verb_is_wrong_usage(capsys):
    with pytest.raises(SystemExit) as end:
        main([])
    assert end.value.code == 2
    assert "VERB" in capsys.readouterr().err


def test_info_lists_joints_with_limits_and_mass(capsys):
    status, out, _ = run(capsys, "info", "planar_2r")
    assert status == 0
    assert "planar_2r: 2 independent joints, 4 links, 18.000 kg" in out
    joints, table = out.split("Denavit-Hartenberg", 1)
    assert row(joints, "joint_2")[1] == "revolute"
    assert row(table, "joint_1")[1:] == ["1", "0", "0", "q"]


def test_info_shows_what_a_mimic_joint_follows(capsys):
    _, out, _ = run(capsys, "info", "panda")
    assert "1 x panda_finger_joint1" in out


def test_info_prints_warnings(capsys, tmp_path):
    path = puma_as_printed(tmp_path)
    for words in ([], ["-q"]):
        _, out, err = run(capsys, "info", path, *words)
        assert re.search(r"puma\S*:\d+: link 'link_4': inertia breaks the triangle", out), out
        assert (out.count("link 'link_4': inertia breaks"), err) == (1, "")
    (*_, warning) = json.loads(run(capsys, "info", path, "--json")[1])["warnings"]
    assert "inertia breaks the triangle" in warning
    assert "warnings" not in run(capsys, "info", "planar_2r")[1]


BARE = """<robot name="bare"><link name="base"/><link name="a"/><link name="b"/>
<joint name="j1" type="revolute"><parent link="base"/><child link="a"/>
<limit lower="-2" upper="2" velocity="2" effort="5"/></joint>
<joint name="j2" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0.5 0 0"/>
<axis xyz="0 0 1"/><limit lower="-2" upper="2" velocity="2" effort="5"/></joint></robot>"""


def test_info_shows_friction_with_its_units_where_a_joint_has_some(capsys, tmp_path):
    path = tmp_path / "bare.urdf"
    text = BARE.replace("<limit", '<dynamics damping="0.5" friction="0.2"/><limit')
    path.write_text(text.replace('"j2" type="revolute"', '"j2" type="prismatic"'))
    joints, _ = run(capsys, "info", str(path))[1].split("Denavit-Hartenberg", 1)
    assert row(joints, "j1")[-2:] == ["0.5 N m s/rad", "0.2 N m"]
    assert row(joints, "j2")[-2:] == ["0.5 N s/m", "0.2 N"]
    path.write_text(BARE)
    joints, _ = run(capsys, "info", str(path))[1].split("Denavit-Hartenberg", 1)
    assert "friction" not in joints


def test_info_says_of_a_missing_limit_once(capsys, tmp_path):
    path = tmp_path / "loose.urdf"
    path.write_text(find_robot("planar_2r").read_text().replace('effort="500"', ""))
    _, out, err = run(capsys, "info", str(path))
    assert (out.count("no limit of effort"), err) == (1, "")


def test_info_of_a_robot_without_inertia_names_its_links_and_leaves_equations_out(capsys, tmp_path):
    path = tmp_path / "bare.urdf"
    path.write_text(BARE)
    status, out, err = run(capsys, "info", str(path))
    assert status == 0
    for part in ("j1", "-2 to 2 rad"):
        assert part in out
    assert "links 'a', 'b': each moves but has no mass" in out
    assert (out.count("no mass"), err) == (1, "")
    assert "equations: none, as joint 'j1' moves no inertia" in out
    status, out, _ = run(capsys, "info", str(path), "--json")
    assert status == 0
    assert json.loads(out)["operations"] == {}


def test_info_has_the_denavit_hartenberg_table_of_a_chain(capsys):
    """The Panda of its manufacturer, up to the signs of x axes: here no length is negative."""
    needs_example_robots()
    _, out, _ = run(capsys, "info", "panda", "--tip", "panda_link8", "--convention", "modified")
    table = out.split("Denavit-Hartenberg", 1)[1]
    published = {  # a_(i-1), alpha_(i-1), d_i; the flange is 0.107 m beyond joint 7
        "panda_joint1": (0.0, 0.0, 0.333),
        "panda_joint2": (0.0, -90.0, 0.0),
        "panda_joint3": (0.0, 90.0, 0.316),
        "panda_joint4": (0.0825, 90.0, 0.0),
        "panda_joint5": (-0.0825, -90.0, 0.384),
        "panda_joint6": (0.0, 90.0, 0.0),
        "panda_joint7": (0.088, 90.0, 0.107),
    }
    for name, expected in published.items():
        assert [abs(float(cell)) for cell in row(table, name)[1:4]] == [abs(x) for x in expected]


def test_info_has_a_table_without_being_asked_only_where_the_robot_is_one_chain(capsys):
    needs_example_robots()
    assert "Denavit-Hartenberg table to tool0" in run(capsys, "info", "ur5")[1]
    assert "Denavit-Hartenberg" not in run(capsys, "info", "panda")[1]


def test_info_of_a_chain_to_no_frame_is_refused_before_anything_is_printed(capsys):
    status, out, err = run(capsys, "info", "planar_2r", "--tip", "hand")
    assert (status, out) == (1, "")
    assert "no frame 'hand' in robot 'planar_2r'" in err


def test_torque_is_that_of_pinocchio(capsys):
    pin = pytest.importorskip("pinocchio")
    status, out, _ = run(
        capsys,
        "torque",
        "ur5",
        "--q",
        "0.1,-1.2,0.9,0.4,-0.3,0.2",
        "--qd",
        "1,0.5,-0.5,0.2,0.1,0",
        "--qdd",
        "elbow_joint=2.0",
    )
    assert status == 0
    model = pin.buildModelFromUrdf(str(find_robot("ur5")))
    q, qd = np.array([0.1, -1.2, 0.9, 0.4, -0.3, 0.2]), np.array([1.0, 0.5, -0.5, 0.2, 0.1, 0.0])
    tau = pin.rnea(model, model.createData(), q, qd, np.array([0.0, 0.0, 2.0, 0.0, 0.0, 0.0]))
    for name, expected in zip(list(model.names)[1:], tau, strict=True):
        printed = float(row(out, name)[4].split()[0])
        assert printed == pytest.approx(expected, abs=6e-5)  # four decimals are printed


def test_torque_is_the_sum_of_its_parts(capsys):
    _, out, _ = run(capsys, "torque", "panda", "--qd", "panda_joint2=1", "--qdd", "panda_joint4=2")
    cells = row(out, "panda_joint4")
    gravity, velocity, acceleration, friction = map(float, cells[6:])
    total = float(cells[4].split()[0])
    # Five numbers rounded to four decimals
    assert gravity + velocity + acceleration + friction == pytest.approx(total, abs=3e-4)


def test_simulate_shows_that_feedforward_follows_better_than_pd(capsys, tmp_path):
    status, out, _ = run(
        capsys, "simulate", "planar_2r", "--duration", "2", "--output", str(tmp_path)
    )
    assert status == 0
    for joint in ("joint_1", "joint_2"):
        better = [float(cell.split()[0]) for cell in row(out, joint) if cell.endswith(" x")]
        assert len(better) == 2  # than PD with gravity, than PD alone
        assert min(better) > 20.0
    picture = (tmp_path / "planar_2r.png").read_bytes()
    assert picture.startswith(b"\x89PNG")


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_every_verb_has_examples_that_its_parser_takes(verb, capsys):
    with pytest.raises(SystemExit):
        main([verb, "--help"])
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    examples = [line for line in lines if line.startswith(f"robot-dynamics {verb} ")]
    examples += [line for line in lines if line == f"robot-dynamics {verb}"]
    assert examples
    for example in examples:
        typed, *_ = re.split(r"  +| -> | > ", example)
        words = shlex.split(typed, comments=True)[1:]
        assert parser(verb).parse_args(words).verb == verb, typed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["info", "no_such_robot"], "robot-dynamics info: no robot 'no_such_robot'"),
        (["info", "missing.urdf"], "robot-dynamics info: no such file: missing.urdf"),
        (
            ["torque", "planar_2r", "--q", "1,2,3"],
            "robot-dynamics torque: --q: 3 numbers for 2 joints (joint_1, joint_2); give one per "
            "joint, or JOINT=NUMBER for some",
        ),
        (
            ["torque", "planar_2r", "--q", "joint_1=1,joint_1=2"],
            "robot-dynamics torque: --q: joint 'joint_1' is given twice; leave one out",
        ),
        (
            ["torque", "planar_2r", "--q", "1,two"],
            "robot-dynamics torque: --q: 'two' is not a number",
        ),
        (
            ["torque", "planar_2r", "--qd", "nan,0"],
            "robot-dynamics torque: --qd: 'nan' is not a finite number",
        ),
        (
            ["torque", "planar_2r", "--qd", "joint_3=1"],
            "robot-dynamics torque: --qd: no joint 'joint_3' in robot 'planar_2r'",
        ),
        (
            ["torque", "planar_2r", "--qd", "1e300,0"],
            "robot-dynamics torque: --q, --qd, --qdd: the efforts of this motion are beyond the "
            "range of floating-point numbers; give smaller values",
        ),
        (["info", "."], "robot-dynamics info: . is a folder; give the path of a URDF"),
        (
            ["plot", "run.mcap", "--output", "run.xyz"],
            "robot-dynamics plot: run.xyz: no kind of picture; use .png, .pdf or .svg",
        ),
        (
            ["simulate", "planar_2r", "--record", "run.bag"],
            "robot-dynamics simulate: run.bag: is to hold a recording; name it run.mcap",
        ),
        (
            ["simulate", "ur5", "--mode", "cartesian_impedance", "--frame", "tool"],
            "robot-dynamics simulate: no frame 'tool' in robot 'ur5'",
        ),
        (
            ["simulate", "planar_2r", "--mode", "cartesian_impedance", "--record", "run.mcap"],
            "robot-dynamics simulate: --mode prints a table; leave out --output and --record",
        ),
    ],
)
def test_bad_input_is_answered_with_one_line(words, message, capsys):
    status, out, err = run(capsys, *words)
    assert status == 1
    assert err.startswith(message)
    assert len(err.strip().splitlines()) == 1
    assert out == ""


@pytest.mark.parametrize("verb", ["torque", "equations", "simulate"])
def test_a_robot_that_cannot_move_is_named(verb, capsys, tmp_path):
    path = urdf(tmp_path, joint='<joint name="weld" type="fixed">{links}</joint>')
    status, out, err = run(capsys, verb, path)
    assert status == 1
    assert out == ""
    assert err == (
        f"robot-dynamics {verb}: {path}: robot 'small' has no joint that moves, so there are no "
        "torques; give it a revolute, continuous or prismatic joint\n"
    )


def test_info_tells_of_a_robot_that_cannot_move(capsys, tmp_path):
    path = urdf(tmp_path, joint='<joint name="weld" type="fixed">{links}</joint>')
    status, out, _ = run(capsys, "info", path)
    assert status == 0
    assert "small: 0 independent joints, 2 links, 1.000 kg" in out


def test_a_missing_inertia_is_one_line(capsys, tmp_path):
    joint = '<joint name="hinge" type="continuous">{links}</joint>'
    status, _, err = run(capsys, "simulate", urdf(tmp_path, joint=joint, inertia=""))
    assert status == 1
    assert len(err.splitlines()) == 1
    assert "joint 'hinge': moves no inertia about its axis" in err


@pytest.mark.parametrize("verb", [["simulate", "planar_2r"], ["demo"]])
@pytest.mark.parametrize("percent", ["-100", "-90.5", "1e6", "nan"])
def test_masses_that_no_robot_has_are_wrong_usage(verb, percent, capsys):
    with pytest.raises(SystemExit) as end:
        main([*verb, "--mass-error", percent])
    assert end.value.code == 2
    said = f"argument --mass-error: {percent} is not within -90 to 900 percent"
    assert capsys.readouterr().err.splitlines()[0].endswith(said)


INERTIA = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'


def urdf(folder, joint, inertia=INERTIA + "</inertial>"):
    """Path of a robot of two links, with that joint between them."""
    path = folder / "small.urdf"
    links = joint.format(links='<parent link="base"/><child link="arm"/>')
    path.write_text(
        f'<robot name="small"><link name="base"/><link name="arm">{inertia}</link>{links}</robot>'
    )
    return str(path)


def test_help_teaches_by_example(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    examples = re.findall(r"^  robot-dynamics (\w+)", capsys.readouterr().out, re.M)
    assert len(examples) >= 3 and set(examples) <= set(VERBS)


@pytest.mark.parametrize(
    "words",
    [
        ["simulate", "planar_2r", "--output"],
        ["simulate", "planar_2r", "--record"],
        ["view", "planar_2r", "--record"],
        ["demo", "planar_2r", "--output"],
        ["demo", "planar_2r", "--record"],
        ["study", "planar_2r", "--output"],
        ["excite", "planar_2r", "--out"],
        ["identify", "planar_2r", "run.mcap", "--out"],
        ["identify", "planar_2r", "run.mcap", "--report"],
        ["validate", "planar_2r", "run.mcap", "--report"],
        ["plot", "run.mcap", "--output"],
    ],
    ids=" ".join,
)
def test_a_place_that_cannot_be_written_is_refused_before_any_work(words, tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    place = f"{tmp_path}/file/run.{'mcap' if '--record' in words else 'csv'}"
    status, out, err = run(capsys, *words, place)
    assert (status, out) == (1, "")
    said = f"{place}: cannot be written (Not a directory); name a f"
    assert err.startswith(f"robot-dynamics {words[0]}: {said}")
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_file_that_cannot_be_written_is_one_line(tmp_path, capsys):
    picture = tmp_path / "planar_2r.png"
    picture.mkdir()
    words = ["simulate", "planar_2r", "--duration", "0.2", "--output", str(tmp_path)]
    status, _, err = run(capsys, *words)
    assert status == 1
    assert err == f"robot-dynamics simulate: {picture}: Is a directory\n"


ONE = """<robot name="one"><link name="base"/><link name="bob">
<inertial><origin xyz="1 0 0"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" velocity="1" effort="50"/></joint></robot>"""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["info"], "one: 1 independent joint, 2 links, "),
        (["torque", "--q", "0,1"], "--q: 2 numbers for 1 joint (hinge)"),
        (["compare"], "inverse dynamics of one, 1 joint"),
        (["export", "config", "--driver", "none", "-o", "{}/out.yaml"], "out.yaml: 1 joint, 1000"),
        (["ik", "--position", "1"], "--position: 1 number where 3 are needed: x,y,z"),
    ],
)
def test_one_thing_is_named_in_the_singular(words, said, tmp_path, capsys):
    path = tmp_path / "one.urdf"
    path.write_text(ONE)
    verbs = 2 if words[0] == "export" else 1
    words = [*words[:verbs], str(path), *(word.format(tmp_path) for word in words[verbs:])]
    _, out, err = run(capsys, *words)
    assert said in out + err
    assert not re.search(r"\b1 \w*(joints|numbers|links)\b", out + err)


NO_NUMBERS = "nan", "1e400", " "


@pytest.mark.parametrize("value", NO_NUMBERS)
@pytest.mark.parametrize(
    "words",
    [
        ["torque", "--q={},0"],
        ["torque", "--qdd=joint_1={}"],
        ["ik", "--position={},0,0"],
        ["ik", "--position=1,0,0", "--rpy={}"],
        ["ik", "--position=1,0,0", "--quaternion={},0,0,1"],
        ["forward", "--qd={},0"],
        ["forward", "--step={}"],
        ["forward", "--lock=joint_2={}"],
        ["simulate", "--rate={}"],
        ["simulate", "--mass-error={}"],
        ["rehearse", "--faults=8", "--noise={}"],
        ["rehearse", "--faults={}"],
        ["rehearse", "--scenario=1:{}:1"],
        ["study", "--runs=8", "--rate={}"],
        ["study", "--runs=8", "--step={}"],
        ["study", "--runs=8", "--payload=0..{}"],
        ["study", "--runs=8", "--known-payload={}"],
        ["study", "--runs=8", "--keep={}"],
    ],
    ids=" ".join,
)
def test_what_is_no_number_is_refused_in_one_line(words, value, capsys):
    """By argparse with 2 and a line that names --help, or with 1."""
    try:
        status = main([words[0], "planar_2r", *(word.format(value) for word in words[1:])])
    except SystemExit as end:
        status = end.code
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", status)
    assert status in (1, 2)
    assert err.startswith(f"robot-dynamics {words[0]}: ")
    assert not re.search("invalid (positive|duration|percentage) value", err)
