"""Motions of a hand: along lines, circles and poses of a file."""
