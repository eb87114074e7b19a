"""The arm that the fault tests shake: where it moves, how softly it is held, how it is started."""

import numpy as np

from arm_system import ArmSystem

NAMES = ["joint_1", "joint_2"]
RATE = 250.0
# Below the horizontal: an arm that a busy machine leaves alone for a moment does not fall over
START = np.array([-1.2, 0.4])
FAR = np.array([-0.6, -0.4])

# At rest plant and model agree to round-off; 0.1 mrad is what a motion leaves of itself for a while
AT_REST = 1e-4

# Soft gains, and a limit well above what they ask for (an error of 1 rad makes 1400 N m, 8 times a
# second), so that only steps meet it: from gravity to the effort limit is 300 N m and more, twice
# what limit and slack let pass in one cycle. Slack: a late cycle counts for five periods, 20
# ms, and the robot may see two commands in a cycle of its own.
BANDWIDTH, EFFORT_RATE, SLACK = 8.0, 4000.0, 0.03
LIMITS = {f"limits.{name}.effort_rate": EFFORT_RATE for name in NAMES}

# A busy machine may keep a node waiting for longer than the tenth of a second of the defaults
PATIENT = {"state_timeout": 0.5, "reference_timeout": 0.5}


def shaken_arm(start, peer, common, limits=(), remapped=(), commands=True):
    """Simulator, feedforward and controller of planar_2r, which starts at START.

    Args:
        start: Starts a node: see the fixture of that name.
        peer: See `ArmSystem`.
        common: Parameters of all three nodes.
        limits: Parameters of the controller's limits.
        remapped: See `ArmSystem`.
        commands: See `ArmSystem`.
    """
    return ArmSystem(
        start,
        peer,
        {"rate": RATE, **common},
        {
            "simulator": {"initial_positions": START.tolist(), "command_timeout": 0.3},
            "controller": {**dict(limits), **PATIENT, "bandwidth": BANDWIDTH},
        },
        remapped,
        commands,
    )
