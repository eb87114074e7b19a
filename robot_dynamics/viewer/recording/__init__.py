"""Recordings of runs: MCAP files with the schemas of ROS 2."""
