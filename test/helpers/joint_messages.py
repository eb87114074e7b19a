"""Joint values as messages."""

from sensor_msgs.msg import JointState
from std_msgs.msg import Header


def joint_state_msg(names, position, velocity, effort, stamp):
    """Joint values, shape (n,) each, of a time."""
    values = (position.tolist(), velocity.tolist(), effort.tolist())
    msg = JointState(header=Header(stamp=stamp), name=list(names))
    msg.position, msg.velocity, msg.effort = values
    return msg
