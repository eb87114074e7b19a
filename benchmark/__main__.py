"""python -m benchmark: see benchmark.benchmark."""

import sys

from benchmark.benchmark import main

if __name__ == "__main__":
    sys.exit(main())
