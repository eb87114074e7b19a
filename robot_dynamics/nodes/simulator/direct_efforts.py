"""DirectEffortReader: efforts from the bytes of named commands straight into an array.

The usual command, of a sender whose last one was taken as `NamedEffortReader` does, is compared,
checked and copied by one native call. Everything else goes the ordinary way, which alone says what
is right. See docs/wire.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from sensor_msgs.msg import JointState

from robot_dynamics.arrays import Array
from robot_dynamics.compiler.native.entry.extraction import address_of, extractor, plan_of
from robot_dynamics.nodes.ros.joint_values import JointValues
from robot_dynamics.nodes.ros.message_bytes import JointStateReader
from robot_dynamics.nodes.ros.messages import NamedEffortReader, stamp_of


class DirectEffortReader(NamedEffortReader):
    """Reads bytes of sensor_msgs/JointState too; see `NamedEffortReader`."""

    def __init__(self, topic: str, names: Sequence[str]) -> None:
        super().__init__(topic, names)
        self._message = JointStateReader(topic)
        self._extract = extractor()
        self._efforts = np.zeros(len(self.names))
        self._plans: dict[int, bytes] = {}  # by length of the message; they name its address

    def read_if(
        self, counts: Callable[[int], bool], msg: bytes | JointState | JointValues
    ) -> Array | None:
        """Efforts of a message, shape (n,), N m or N, which are not to be kept nor changed.

        Args:
            counts: Whether a message of that stamp, ns, counts; may refuse it.
            msg: The message.

        Returns:
            None if the message does not count.

        Raises:
            ArgumentError: As `read` and `counts`, and if bytes are not those of such a message.
            ShapeError: As `read`.
        """
        if type(msg) is bytes:
            plan = self._plans.get(len(msg))
            if plan is not None and self._extract is not None:
                stamp = self._extract(msg, plan, 0)
                if stamp is not None:
                    return self._efforts if counts(stamp) else None
            msg = self._values(msg)
        elif type(msg) is JointValues and msg.names is self._last and self._source is None:
            efforts = msg.rows[2]  # handed over within the process, by the sender of the one before
            if math.isfinite(efforts.dot(efforts)):
                return efforts if counts(msg.stamp) else None
        return self.read(msg) if counts(stamp_of(msg)) else None

    def _values(self, data: bytes) -> JointState | JointValues:
        values = self._message(data)
        if isinstance(values, JointValues) and "effort" not in values.absent:
            place = {name: i for i, name in enumerate(values.names)}
            if len(place) == len(values.names) and place.keys() >= set(self.names):
                self._plans[len(data)] = self._plan(data, place, 2 - len(values.absent))
        return values

    def _plan(self, data: bytes, place: dict[str, int], row: int) -> bytes:
        """What is to be done with messages like this one.

        Args:
            data: The message.
            place: Where every name stands.
            row: Which of its sequences of numbers that are not empty the efforts are.
        """
        layout = self._message.layout(data)
        copies = [
            (layout.place(row, place[name]), address_of(self._efforts[i:]))
            for i, name in enumerate(self.names)
        ]
        return plan_of(len(data), *layout.known, layout.stamp_at, copies, len(copies))
