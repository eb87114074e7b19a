"""Time the kernels beside those of peers; with `--nodes`, the nodes beside the bare machine."""

import sys

NODES = "--nodes"

if __name__ == "__main__":
    if NODES in sys.argv:  # of its own, so that either part runs without what the other needs
        from benchmark.nodes.nodes_benchmark import main

        sys.exit(main([word for word in sys.argv[1:] if word != NODES]))
    from benchmark.kernels.kernel_benchmark import main

    sys.exit(main())
