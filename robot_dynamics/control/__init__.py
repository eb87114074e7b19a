"""Control laws as pure functions: state and reference in, efforts out."""
