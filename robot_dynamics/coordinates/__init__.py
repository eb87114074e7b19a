"""Equations of motion in coordinates other than joint displacements."""
