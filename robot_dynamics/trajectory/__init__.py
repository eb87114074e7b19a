"""Desired motions: what a trajectory says, and sampling it."""
