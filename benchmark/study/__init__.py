"""Studies: closed loops side by side, beside MuJoCo."""
