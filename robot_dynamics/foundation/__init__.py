"""Arrays, scalars, units, text tables, and lazy values and imports."""
