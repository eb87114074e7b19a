"""Errors of the command line about words that it does not take."""

import sys

import numpy as np
import pytest

from robot_dynamics.cli import VERBS, main, parser
from robot_dynamics.cli.output import Printer
from robot_dynamics.foundation.text_tables import TextTable


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("simulte ur5", "robot-dynamics: argument VERB: no 'simulte'; did you mean 'simulate'?"),
        (
            "info ur5 --formulatoin kane",
            "robot-dynamics info: no option '--formulatoin'; did you mean '--formulation'?",
        ),
        (
            "torque ur5 --formulation kanne",
            "robot-dynamics torque: argument --formulation: no 'kanne'; did you mean 'kane'?",
        ),
        (
            "export modl ur5",
            "robot-dynamics export: argument WHAT: no 'modl'; did you mean 'model'?",
        ),
        (
            "export law ur5 --projektor static",
            "robot-dynamics export law: no option '--projektor'; did you mean '--projector'?",
        ),
        ("info ur5 panda", "robot-dynamics info: 'panda' is one word too many"),
    ],
)
def test_a_word_that_is_wrong_is_answered_with_the_nearest_one(words, said, capsys):
    with pytest.raises(SystemExit) as end:
        main(words.split())
    assert end.value.code == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == said
    assert second == f"{said.partition(':')[0]} --help lists what it takes"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "pose allegro_right_hand",
            "no rule says which one is the end effector; name its frame by --frame",
        ),
        ("identify run.mcap ur5", "run.mcap: is no robot; give the robot before the recording"),
        (
            "effort motion.csv ur5",
            "effort: ur5: is no trajectory; give the robot before the trajectory",
        ),
        (
            "ik planar_2r --position 5,0,0",
            "orientation: --rpy 0,0,0; --selection x,y,z leaves it free",
        ),
    ],
)
def test_an_error_names_the_option_that_helps(words, said, capsys):
    assert main(words.split()) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("verb", VERBS)
def test_one_option_names_what_is_written(verb):
    (verbs,) = (action for action in parser(verb)._actions if action.dest == "verb")
    own = verbs.choices[verb]
    nested = [action.choices.values() for action in own._actions if action.dest == "action"]
    for one in (own, *(inner for choices in nested for inner in choices)):
        flags = {flag for action in one._actions for flag in action.option_strings}
        assert not flags & {"--out", "--output-file", "--outfile"}


def test_a_help_is_as_wide_as_the_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit):
        main(["validate", "--help"])
    paragraphs = capsys.readouterr().out.split("\n\n")
    (prose,) = [text for text in paragraphs if text.startswith("Friction, rotor inertia")]
    assert max(map(len, prose.splitlines())) <= 60


def test_output_is_as_wide_as_the_terminal_and_elsewhere_a_line_each(capsys, monkeypatch):
    table = TextTable("efforts", ["joint", "of"], ["peak effort", "limit"])
    table.add_row("shoulder_pan_joint", "a_robot", "1", "2")
    sentence = "the motion is impossible: " + 10 * "word "
    monkeypatch.setenv("COLUMNS", "40")
    Printer()(table, sentence.strip())
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 40
    monkeypatch.delenv("COLUMNS")
    Printer()(table, sentence.strip())
    out = capsys.readouterr().out
    assert "shoulder_pan_joint  a_robot            1      2\n" in out
    assert sentence.strip() in out.splitlines()


@pytest.mark.parametrize(
    ("environment", "bold"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
    ],
)
def test_a_title_is_bold_only_where_that_is_wanted(environment, bold, capsys, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    Printer()(TextTable("title", ["joint"]))
    assert ("\x1b[1mtitle\x1b[0m" in capsys.readouterr().out) == bold


def test_too_little_memory_ends_in_one_line(capsys, monkeypatch):
    petabytes = (10**6, 10**6, 10**3)
    monkeypatch.setattr("robot_dynamics.cli.verbs.forward.run", lambda _: np.empty(petabytes))
    assert main(["forward", "planar_2r"]) == 1
    said = capsys.readouterr().err
    assert "needs more memory than there is; give a shorter duration" in said
    assert said.count("\n") == 1
