"""`python -m robot_dynamics.cli` is `robot-dynamics`."""

import sys

from robot_dynamics.cli import main

sys.exit(main())
