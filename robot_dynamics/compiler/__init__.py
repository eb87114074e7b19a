"""Equations become kernels: expression graph, passes, back ends.

`trace.trace` turns a function into a `Program`, `optimize.optimize` makes it smaller,
`backends.compile_program` makes a kernel of it, and `c`, `python` and `equations`
write it as source.

Reading order: expression, trace, optimize, count; then source with its back ends
python, c and equations; then native with ir, sincos, single, batch and rows (what
native code computes), door (how Python calls it), llvm, cache and parallel.

A new graph pass is a function `Program -> Program` in a file of its own, listed in
`optimize.PASSES`. A new language is a file beside `c` with a `source.Syntax`. A new
back end is a `kernel.Kernel`, listed in `backends`. A new operation is a name in
`expression` and a line in `ir` and `source`.
"""
