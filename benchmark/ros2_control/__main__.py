"""python -m benchmark.ros2_control: see benchmark.ros2_control.tracking."""

import sys

from benchmark.ros2_control.tracking import main

if __name__ == "__main__":
    sys.exit(main())
