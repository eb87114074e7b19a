"""The closed loop, compiled: many robots side by side, a lane each."""
