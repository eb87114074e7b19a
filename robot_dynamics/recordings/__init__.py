"""Recordings of robots: MCAP files, ROS 2 bags, CSV and NPZ.

`Recording.read` gives one motion with its efforts, for identification; `quality_warnings` judge it.
`read_motion` gives joint values of all topics, for replay and plots; `recorded_waypoints` a
trajectory. They read messages by `bag_messages`, tables by `read_motion_table`. `McapWriter` writes
messages, `SimulatedRecording` simulated runs.
"""
