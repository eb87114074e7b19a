"""python -m benchmark: see benchmark.benchmark, and benchmark.nodes for `--nodes`."""

import sys

NODES = "--nodes"

if __name__ == "__main__":
    if NODES in sys.argv:  # of its own, so that either part runs without what the other needs
        from benchmark.nodes import main

        sys.exit(main([word for word in sys.argv[1:] if word != NODES]))
    from benchmark.benchmark import main

    sys.exit(main())
