"""Compiled equations in array libraries, timed beside those of peers."""
