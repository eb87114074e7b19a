"""Online: a model against the efforts of a robot that runs."""
