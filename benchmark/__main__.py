"""Time the kernels beside those of peers; with `--nodes`, the nodes beside the bare machine.

With `--study`, closed loops side by side.
"""

import sys

NODES, STUDY = "--nodes", "--study"

if __name__ == "__main__":
    if NODES in sys.argv:  # of its own, so that either part runs without what the other needs
        from benchmark.nodes.nodes_benchmark import main

        sys.exit(main([word for word in sys.argv[1:] if word != NODES]))
    if STUDY in sys.argv:
        from benchmark.study.study_benchmark import main

        sys.exit(main([word for word in sys.argv[1:] if word != STUDY]))
    from benchmark.kernels.kernel_benchmark import main

    sys.exit(main())
