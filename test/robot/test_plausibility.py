"""Plausibility warnings about a robot description."""

import tracemalloc
from cProfile import Profile

import pytest

from robot_dynamics import read_urdf
from robot_dynamics.robot.plausibility import inertialess_joints, limit_warnings

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


def test_a_plausible_arm_has_no_warnings():
    assert list(limit_warnings(arm())) == []


def test_a_heavy_arm_may_be_strong():
    (found,) = limit_warnings(arm(mass=100.0, effort="12000"))
    assert "effort limit 1.2e+04 N m" in found
    assert list(limit_warnings(arm(mass=150.0, effort="12000"))) == []


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"lower": "-180", "upper": "180"}, "joint 'elbow': moves by 360 rad; is the range in"),
        ({"velocity": "1000"}, "joint 'elbow': velocity limit 1000 rad/s is a placeholder"),
        ({"effort": "1e6"}, "joint 'elbow': effort limit 1e+06 N m is a placeholder"),
        (
            {"kind": "prismatic", "lower": "-500", "upper": "500"},
            "joint 'elbow': moves by 1000 m; is the range in degrees or millimetres?",
        ),
    ],
)
def test_a_warning_names_the_joint(changed, sentence):
    (found,) = limit_warnings(arm(**changed))
    assert found.startswith(sentence)


def test_joints_with_the_same_fault_share_a_warning():
    (found,) = limit_warnings(chain(3, velocity=100.0))
    assert found.startswith("joints 'joint_1', 'joint_2', 'joint_3': velocity limit 100 rad/s is a")


def chain(count, massless=(), mimic="", velocity=1.0):
    """Links that revolute joints move, one after the other about x and y in turn."""
    links = ['<link name="link_0"/>']
    for k in range(1, count + 1):
        body = LINK.format(name=f"link_{k}", mass=1.0, ixx=0.02)
        axis = f"{k % 2} {(k + 1) % 2} 0"
        links += [
            f'<link name="link_{k}"/>' if k in massless else body,
            f'<joint name="joint_{k}" type="revolute"><parent link="link_{k - 1}"/><child '
            f'link="link_{k}"/><origin xyz="0 0 0.2"/><axis xyz="{axis}"/>{mimic if k > 1 else ""}'
            f'<limit lower="-1" upper="1" velocity="{velocity}" effort="1"/></joint>',
        ]
    return read_urdf(f'<robot name="chain">{"".join(links)}</robot>', require_inertia=False)


@pytest.mark.parametrize(
    ("massless", "mimic", "still"),
    [
        ((), "", []),
        ((1,), "", []),  # it moves the links behind
        ((2, 3), "", ["joint_2", "joint_3"]),
        ((2, 3), '<mimic joint="joint_1"/>', []),  # they follow a joint that moves a mass
        ((1, 2, 3), '<mimic joint="joint_1"/>', ["joint_1"]),
    ],
)
def test_joints_that_move_no_inertia_are_found(massless, mimic, still):
    assert inertialess_joints(chain(3, massless, mimic)) == still


def test_the_search_for_such_joints_takes_linear_time():
    def calls(count):
        robot, profile = chain(count), Profile()
        profile.runcall(inertialess_joints, robot)
        return sum(entry.callcount for entry in profile.getstats())

    # Calls, not seconds, of which a busy machine takes any number; a dense matrix is not built
    assert calls(80) < 2.2 * calls(40)
    robot = chain(600)
    tracemalloc.start()
    inertialess_joints(robot)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 600 * 600 * 8  # bytes of one matrix of that size
