"""Recorded motions: read, matched to the joints of a robot, and doubted."""
