"""The ROS domain of a demonstration: that of the user, or one that nothing else uses."""

import socket

import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from robot_dynamics.errors import ArgumentError
from robot_dynamics.nodes import composition
from robot_dynamics.nodes.composition import SAFE_DOMAINS, domain_of_user, own_domain


@pytest.fixture(autouse=True)
def _no_claims_stay(monkeypatch):
    claims = []
    monkeypatch.setattr(composition, "_claims", claims)
    monkeypatch.delenv("ROS_DOMAIN_ID", raising=False)
    yield
    for claim in claims:
        claim.close()


def test_no_domain_of_the_user_is_none():
    assert domain_of_user() is None


def test_every_call_takes_another_domain():
    assert len({own_domain() for _ in range(5)}) == 5


def test_a_domain_with_a_participant_is_left_alone():
    domain = own_domain()
    composition._claims.pop().close()
    taken = socket.socket(type=socket.SOCK_DGRAM)
    with taken:  # as the seventh participant of the middleware does
        taken.bind(("127.0.0.1", 7400 + 250 * domain + 10 + 2 * 7))
        assert own_domain() != domain
    assert domain in SAFE_DOMAINS


def test_the_domain_of_the_user_is_used(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    assert domain_of_user() == 7
    assert own_domain() != 7  # what is not for the user to see, or moves a robot, stays apart
    monkeypatch.setenv("ROS_DOMAIN_ID", "seven")
    with pytest.raises(ArgumentError) as refused:
        domain_of_user()
    assert str(refused.value) == "ROS_DOMAIN_ID is 'seven'; give a whole number from 0 to 232"
