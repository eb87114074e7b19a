"""python -m benchmark.nodes: see benchmark.nodes.nodes_benchmark."""

import sys

from benchmark.nodes.nodes_benchmark import main

if __name__ == "__main__":
    sys.exit(main())
