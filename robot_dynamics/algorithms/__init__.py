"""Algorithms on a tree, none of them one of the publications: composite bodies, derivatives."""
