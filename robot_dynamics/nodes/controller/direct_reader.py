"""DirectReader: joint values from the bytes of messages straight into arrays.

The usual message, of a sender whose last one was taken as `JointReader` does, is compared, checked
and copied by one native call. Everything else goes the ordinary way, which alone says what is
right. See docs/wire.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from sensor_msgs.msg import JointState

from robot_dynamics.compiler.native.entry.extraction import address_of, extractor, plan_of
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.nodes.ros.joint_values import JointValues, Sender
from robot_dynamics.nodes.ros.message_bytes import JointStateReader
from robot_dynamics.nodes.ros.messages import JointReader

Plan = tuple[bytes, Sender, Array]
"""Plan for the messages of a sender, see `plan_of`; the sender; the array that it writes."""


class DirectReader(JointReader):
    """Reads bytes of sensor_msgs/JointState too; see `JointReader`."""

    def __init__(
        self, topic: str, joint_names: Sequence[str], required: Sequence[str] = ("position",)
    ) -> None:
        self._message = JointStateReader(topic)
        self._extract = extractor()
        self._plans: dict[int, Plan] = {}  # by length of the message
        self._plan: Plan | None = None  # that of the last one
        super().__init__(topic, joint_names, required)

    def forget(self) -> None:
        """See `JointReader.forget`."""
        self._plans.clear()  # they name the addresses of arrays
        self._plan = None
        super().forget()

    def read(self, msg: bytes | JointState | JointValues) -> bool:
        """See `JointReader.read`.

        Raises:
            ArgumentError: Also if bytes are not those of such a message.
        """
        if type(msg) is not bytes:
            return super().read(msg)
        plan = self._plan
        if plan is None or self._extract is None:  # the latter with the former
            return self._read_unlike(msg)
        stamp = self._extract(msg, plan[0], plan[1].stamp)
        if stamp is None:
            return self._read_unlike(msg)
        self.stamp = plan[1].stamp = stamp
        return True

    def _read_unlike(self, data: bytes) -> bool:
        """Read a message unlike the last one: of another sender, or not as it should be."""
        plan = self._plans.get(len(data))
        if plan is not None and plan is not self._plan:
            self._plan = plan
            return self.read(data)
        values = self._message(data)
        ours = super().read(values)
        if ours and self._extract and isinstance(values, JointValues) and not values.absent:
            self._plan = self._plan_for(data), self._last, self.values
            self._plans[len(data)] = self._plan
        return ours

    def _plan_for(self, data: bytes) -> bytes:
        """Return the plan for messages like this one, which gives all fields."""
        layout, names = self._message.layout(data), self._last.names
        columns = [self._column.get(name) for name in names]
        copies = [
            (layout.place(row, i), address_of(self.values[row, column:]))
            for row in range(len(self.values))
            for i, column in enumerate(columns)
            if column is not None
        ]
        required = len(self._required) * len(copies) // len(self.values)
        return plan_of(len(data), *layout.known, layout.stamp_at, copies, required)
