"""`python -m robot_dynamics` is `robot-dynamics`: the command line from a checkout."""

import sys

from robot_dynamics.cli import main

sys.exit(main())
