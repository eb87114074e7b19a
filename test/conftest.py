"""Shared set-up: the helpers beside this file are importable, hypothesis repeats itself."""

import os
import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

# Seeded, so that a failure on one machine is a failure on every machine; no deadline, because a
# compiled kernel takes its time on first use. HYPOTHESIS_PROFILE=search looks for new examples.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=50)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
