"""simulate --driver: drives that close their own loop, with and without the model."""

import json
from pathlib import Path

import numpy as np
import pytest

from driven_arm import openarm, urdf
from robot_dynamics.cli import main


@pytest.fixture
def arm(tmp_path):
    return openarm(tmp_path)


def errors(arm, capsys, *options):
    """RMS errors by what the drives get, shape (3, 7), rad."""
    given = ["simulate", arm, "--driver", "openarm", "--duration", "4", "--json", *options]
    assert main(given) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rate"] == 100.0
    return np.array(list(found["rms_error"].values()))


def test_the_model_makes_the_drives_exact(arm, capsys):
    position, velocity, whole = errors(arm, capsys)
    # These links are ten times as heavy as those of the arm that the gains are for; commands hold
    # for 10 ms, in which the drives move the joints by themselves
    assert (whole < 0.05 * np.minimum(position, velocity)).all()


@pytest.mark.thorough
def test_the_drives_shake_no_light_wrist(arm, capsys):
    text = Path(arm).read_text()
    fore, wrist = text.split('<link name="link7">')
    light = wrist.replace('<mass value="1"/>', '<mass value="1e-4"/>').replace('="0.1"', '="7e-6"')
    Path(arm).write_text(f'{fore}<link name="link7">{light}')
    assert main(["simulate", arm, "--driver", "openarm", "--duration", "1", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "the arm stops" not in err
    *_, whole = json.loads(out)["rms_error"].values()
    assert max(whole) < 0.01


def test_a_stop_of_the_controller_is_said_with_its_cause(arm, capsys):
    words = ["simulate", arm, "--driver", "openarm", "--duration", "0.5", "--mass-error", "400"]
    assert main(words) == 0
    (line,) = [x for x in capsys.readouterr().err.splitlines() if x.startswith("WARNING: after")]
    assert "s the arm stops: joint 'joint" in line and "beyond its limit of" in line


@pytest.mark.thorough
def test_wrong_masses_leave_a_part_of_the_error(arm, capsys):
    *_, exact = errors(arm, capsys)
    _, velocity, light = errors(arm, capsys, "--mass-error", "11")
    assert (light > exact).all()
    assert np.linalg.norm(light) < 0.3 * np.linalg.norm(velocity)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--driver", "franka"], "its drives close no loop"),
        (["--driver", "none"], "its drives close no loop"),
        (["--driver", "openarm", "--mode", "cartesian_impedance"], "leave out --mode"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(tmp_path, capsys, options, words):
    path = tmp_path / "arm.urdf"
    path.write_text(urdf(effort=1000.0, joints=7))
    assert main(["simulate", str(path), *options]) == 1
    err = capsys.readouterr().err
    assert words in err
    assert "Traceback" not in err
