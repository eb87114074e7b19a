"""The arm when it is not there: plant, integrators, friction."""
