"""Inverse kinematics: all solutions in closed form where the axes allow it, else numerically."""
