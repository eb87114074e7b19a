"""Bringup: which nodes run for an arm, and how they are wired."""
