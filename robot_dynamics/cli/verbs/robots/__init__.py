"""Verbs about a robot and its equations."""
