"""Verbs about motions: planned, simulated, followed, recorded."""
