"""The command robot-dynamics: one file per verb."""
