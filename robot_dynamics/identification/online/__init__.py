"""Online identification: compare a model with the efforts of a running robot."""
