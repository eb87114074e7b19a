"""Inverse kinematics beside its peers."""
