"""Equations become kernels: expression graph, passes, back ends.

`graph.trace` turns a function into a `Program`, `graph.optimize` simplifies it,
`kernel.compile_program` compiles it to a kernel, and `source` exports it as text.

Reading order:

* `graph`: expression, piecewise, trace, optimize and packing.
* `source`: straight_line, and the languages python, c and readable; `LANGUAGES` lists them.
* `kernel.py` and `kernel_arguments.py`: the interface of every compiled program.
* `native`: ir, program_ir, trigonometry, kernel_ir and batch write LLVM text;
  entry connects it to Python; llvm, cache and parallel compile, store and run it.

To extend the compiler:

* Graph pass: a function `Program -> Program` in a file of its own, listed in `optimize.PASSES`.
  Put code that several passes share in `trace`, which `optimize` imports.
* Language: a file beside `c` with a `straight_line.Syntax`, listed in `source.LANGUAGES`.
* Back end: a `kernel.Backend`, given to `Dynamics`.
* Operation: a name and a function in `expression`, and a line each in `program_ir`,
  `straight_line`, `c`, `readable` and the imports that `python` writes.
"""
