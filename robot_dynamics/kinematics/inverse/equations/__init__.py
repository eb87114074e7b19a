"""Closed forms of the structures that the axes of a chain can have, on any scalar."""
