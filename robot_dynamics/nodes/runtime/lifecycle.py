"""ManagedNode: the life cycle of ROS 2 nodes, with errors that name their cause.

unconfigured -> inactive (`configure`) -> active (`activate`), and back by `deactivate` and
`cleanup`, on request of `ros2 lifecycle set`, a launch file or the process itself.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from lifecycle_msgs.srv import ChangeState
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from robot_dynamics.errors import RobotDynamicsError


class ManagedNode(LifecycleNode):  # type: ignore[misc]  # rclpy is untyped where it is absent
    """A node with the standard transitions, which a subclass fills by hooks.

    A hook that raises a RobotDynamicsError leaves the node in its previous state and logs one
    line. Topics, services and timers created in `configure` are destroyed after `cleanup`.

    Args:
        name: Name of the node.
        options: Options of `rclpy.node.Node`.

    Attributes:
        configured: Whether the node is inactive or active.
        active: Whether the node is active.
        ends: Whether the process of the node is about to end.
    """

    def __init__(self, name: str, **options: Any) -> None:
        self.configured = False
        self.active = False
        self.ends = False
        self._failure: RobotDynamicsError | None = None
        self._before: set[object] = set()
        super().__init__(name, **options)
        service = self._service_change_state
        service.callback = self._guarded(service.callback)

    # -- hooks ------------------------------------------------------------------------------

    def configure(self) -> None:
        """Prepare the node without commanding anything."""

    def activate(self) -> None:
        """Start the work."""

    def deactivate(self) -> None:
        """Stop the work."""

    def cleanup(self) -> None:
        """Undo `configure`."""

    # -- for the process --------------------------------------------------------------------

    def start_up(self) -> None:
        """Configure and activate.

        Raises:
            RobotDynamicsError: If a transition fails.
        """
        for transition in (self.trigger_configure, self.trigger_activate):
            if transition() is not TransitionCallbackReturn.SUCCESS:
                raise self._failure or RobotDynamicsError(f"{self.get_name()} did not start")

    def shut_down(self) -> None:
        """Deactivate an active node at the end of its process."""
        if self.active:
            self.trigger_deactivate()

    @property
    def state(self) -> str:
        """Name of the present state."""
        return str(self._state_machine.current_state[1])

    # -- transitions ------------------------------------------------------------------------

    def on_configure(self, _: LifecycleState) -> TransitionCallbackReturn:
        """Unconfigured -> inactive."""
        self._before = self._entities()
        result = self._attempt(self.configure)
        self.configured = result is TransitionCallbackReturn.SUCCESS
        if not self.configured:
            self._drop()
        return result

    def on_activate(self, _: LifecycleState) -> TransitionCallbackReturn:
        """Inactive -> active."""
        result = self._attempt(self.activate)
        self.active = result is TransitionCallbackReturn.SUCCESS
        return result

    def on_deactivate(self, _: LifecycleState) -> TransitionCallbackReturn:
        """Active -> inactive."""
        result = self._attempt(self.deactivate)
        self.active = False
        return result

    def on_cleanup(self, _: LifecycleState) -> TransitionCallbackReturn:
        """Inactive -> unconfigured."""
        self.configured = False
        self._drop()
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Any state -> finalized."""
        if self.active:
            self.on_deactivate(state)
        return self.on_cleanup(state)

    def _attempt(self, hook: Callable[[], None]) -> TransitionCallbackReturn:
        self._failure = None
        try:
            hook()
        except RobotDynamicsError as error:
            self._failure = error
        except Exception as error:  # rclpy would swallow it
            self.get_logger().error(traceback.format_exc())
            self._failure = RobotDynamicsError(f"{self.get_name()}: {error!r}")
        return (
            TransitionCallbackReturn.SUCCESS
            if self._failure is None
            else TransitionCallbackReturn.FAILURE
        )

    def _guarded(
        self, change: Callable[[ChangeState.Request, ChangeState.Response], ChangeState.Response]
    ) -> Callable[[ChangeState.Request, ChangeState.Response], ChangeState.Response]:
        """Wrap the service ~/change_state so that a refusal logs its reason."""

        def guarded(
            request: ChangeState.Request, response: ChangeState.Response
        ) -> ChangeState.Response:
            transition = request.transition.label or f"transition {request.transition.id}"
            self._failure = None
            try:
                response = change(request, response)
            except rclpy_implementation.RCLError:  # would end the process
                response.success = False
            if not response.success:
                reason = f"failed: {self._failure}" if self._failure else "is not possible now"
                self.get_logger().error(f"{transition} {reason} (still {self.state})")
            return response

        return guarded

    # -- created by configure ---------------------------------------------------------------

    def _entities(self) -> set[object]:
        return {
            *self.publishers,
            *self.subscriptions,
            *self.clients,
            *self.services,
            *self.timers,
            *self.guards,
        }

    def _drop(self) -> None:
        self.cleanup()
        made = self._entities() - self._before
        for entities, destroy in (
            (self.publishers, self.destroy_publisher),
            (self.subscriptions, self.destroy_subscription),
            (self.clients, self.destroy_client),
            (self.services, self.destroy_service),
            (self.timers, self.destroy_timer),
            (self.guards, self.destroy_guard_condition),
        ):
            for entity in made.intersection(entities):
                destroy(entity)
