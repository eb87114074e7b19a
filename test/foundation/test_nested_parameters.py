"""Parameters as files nest them, by nodes and by names with dots."""

import pytest
import yaml

from robot_dynamics.cli.verbs.rehearse import controller_values
from robot_dynamics.foundation.nested_parameters import by_node


def test_nodes_lose_their_namespaces_and_parameters_get_names_with_dots():
    tree = yaml.safe_load("""
        left:
          /hall/arm/controller_node: {ros__parameters: {gains: {kp: 1.0, joint: {kd: 2.0}}}}
        /**: {ros__parameters: {rate: 500.0}}
        empty: {ros__parameters: }
    """)
    assert list(by_node(tree)) == [
        ("controller_node", {"gains.kp": 1.0, "gains.joint.kd": 2.0}),
        ("**", {"rate": 500.0}),
    ]
    assert list(by_node("no parameters")) == []


@pytest.mark.parametrize("every", ["/**", "/*", "**"])
def test_the_parameters_of_every_node_are_also_the_controllers(every, tmp_path):
    path = tmp_path / "parameters.yaml"
    path.write_text(
        f'"{every}": {{ros__parameters: {{rate: 500.0, mode: pd}}}}\n'
        "controller_node: {ros__parameters: {mode: computed_torque}}"
    )
    assert controller_values(str(path)) == {"rate": 500.0, "mode": "computed_torque"}
