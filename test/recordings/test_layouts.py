"""The layouts for Foxglove and PlotJuggler show what a recording holds."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("mcap")
pytest.importorskip("rosbags")

from rosbags.highlevel import AnyReader

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.recordings.recorded_motion import read_motion
from robot_dynamics.robot import find_robot, urdf_text
from robot_dynamics.viewer.simulated_runs import SimulatedRecording
from robot_dynamics.viewer.snapshot import Snapshot

CONFIG = Path(__file__).parents[2] / "config"


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A recording of a Panda."""
    robot = read_urdf(find_robot("panda"))
    path = tmp_path_factory.mktemp("layouts") / "run.mcap"
    recording = SimulatedRecording(path, urdf_text("panda"), Dynamics(robot))
    none = np.zeros(robot.dof)
    recording.add(Snapshot(0.0, none, none, none, none, none), none, none)
    recording.close()
    return path


@pytest.fixture(scope="module")
def motion(recording):
    return read_motion(recording)


def leaves(layout) -> set[str]:
    """Panels of a mosaic of Foxglove: a name, or two of them side by side."""
    if isinstance(layout, str):
        return {layout}
    return leaves(layout["first"]) | leaves(layout["second"])


def test_foxglove_finds_every_path_of_its_plots(motion):
    layout = json.loads((CONFIG / "foxglove_layout.json").read_text())
    assert set(layout) == {"configById", "globalVariables", "userNodes", "playbackConfig", "layout"}
    assert leaves(layout["layout"]) == set(layout["configById"])
    paths = [p["value"] for panel in layout["configById"].values() for p in panel.get("paths", ())]
    assert len(paths) > 20
    for path in paths:
        topic, field, index = re.fullmatch(r"/([\w/]+)\.(\w+)\[(\d+)\]", path).groups()
        assert np.isfinite(getattr(motion.topics[topic], field)[0, int(index)]), path


def test_foxglove_finds_the_topics_of_its_scene(recording):
    layout = json.loads((CONFIG / "foxglove_layout.json").read_text())
    topics = {
        topic
        for panel in layout["configById"].values()
        for topic, drawn in panel.get("topics", {}).items()
        if drawn["visible"]
    }
    with AnyReader([recording]) as reader:
        assert topics == {"/robot_description", "/markers"} <= set(reader.topics)
        (connection,) = [c for c in reader.connections if c.topic == "/markers"]
        ((_, _, data),) = reader.messages([connection])
        markers = reader.deserialize(data, connection.msgtype).markers
    expected = {"load", "effort", "reference", "gravity", "wrench", "target"}
    assert {marker.ns for marker in markers} == expected
    assert {marker.header.frame_id for marker in markers} == {"panda_link0"}


def test_plotjuggler_finds_every_curve(motion):
    root = ElementTree.parse(CONFIG / "plotjuggler_layout.xml").getroot()
    plots = root.findall("./tabbed_widget/Tab/Container/DockSplitter/DockArea/plot")
    (splitter,) = root.findall("./tabbed_widget/Tab/Container/DockSplitter")
    assert len(plots) == int(splitter.get("count")) == len(splitter.get("sizes").split(";"))
    curves = [curve.get("name") for plot in plots for curve in plot.findall("curve")]
    assert len(curves) > 15
    for curve in curves:
        topic, joint, field = re.fullmatch(r"/([\w/]+)/(\w+)/(\w+)", curve).groups()
        rows = motion.topics[topic]
        assert np.isfinite(getattr(rows, field)[0, rows.joint_names.index(joint)]), curve
