"""Faults of states, references and processes, met by real nodes before a robot that is not ours."""
