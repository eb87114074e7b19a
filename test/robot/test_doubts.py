"""What a description says that a reader should look at."""

import pytest

from robot_dynamics import read_urdf
from robot_dynamics.robot.plausibility import doubts

LINK = (
    '<link name="{name}"><inertial><mass value="{mass}"/>'
    '<inertia ixx="{ixx}" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
GOOD = {"lower": "-1", "upper": "1", "velocity": "2", "effort": "100"}


def arm(kind="revolute", mass=1.0, ixx=0.02, **limits):
    """One link that one joint moves."""
    given = " ".join(f'{name}="{value}"' for name, value in {**GOOD, **limits}.items())
    return read_urdf(
        f'<robot name="arm"><link name="base"/>{LINK.format(name="forearm", mass=mass, ixx=ixx)}'
        f'<joint name="elbow" type="{kind}"><parent link="base"/><child link="forearm"/>'
        f'<axis xyz="0 0 1"/><limit {given}/></joint></robot>'
    )


def test_nothing_is_doubtful_in_a_sound_arm():
    assert list(doubts(arm())) == []


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"ixx": 1.0}, "link 'forearm': inertia breaks the triangle inequality"),
        ({"mass": 0.0}, "link 'forearm': has rotational inertia but no mass"),
        ({"mass": 5000.0}, "link 'forearm': weighs 5000 kg; are the masses in grams?"),
        ({"effort": "0"}, "joint 'elbow': no limit of effort, so that nothing is kept within one"),
        ({"velocity": "0"}, "joint 'elbow': no limit of velocity"),
        ({"lower": "0", "upper": "0"}, "joint 'elbow': no limit of position"),
        ({"lower": "-180", "upper": "180"}, "joint 'elbow': moves by 360 rad; is the range in"),
        ({"velocity": "1000"}, "joint 'elbow': velocity limit 1000 rad/s is a placeholder"),
        ({"effort": "1e6"}, "joint 'elbow': effort limit 1e+06 N m is a placeholder"),
        (
            {"kind": "prismatic", "lower": "-500", "upper": "500"},
            "joint 'elbow': moves by 1000 m; is the range in degrees or millimetres?",
        ),
    ],
)
def test_what_is_doubtful_is_named_with_its_link_or_joint(changed, sentence):
    (found,) = doubts(arm(**changed))
    assert found.startswith(sentence)


def test_a_link_that_moves_without_mass_makes_its_joint_doubtful_too():
    robot = read_urdf(
        '<robot name="arm"><link name="base"/><link name="tip"/>'
        '<joint name="elbow" type="continuous"><parent link="base"/><child link="tip"/>'
        '<axis xyz="0 0 1"/><limit velocity="2" effort="100"/></joint></robot>',
        require_inertia=False,
    )
    assert [found.split(":")[0] for found in doubts(robot)] == ["link 'tip'", "joint 'elbow'"]
