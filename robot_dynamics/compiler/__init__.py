"""Equations become kernels: expression graph, passes, back ends.

`trace.trace` turns a function into a `Program`, `optimize.optimize` makes it smaller,
`backends.compile_program` makes a kernel of it, and `c`, `python` and `equations`
write it as source.

Reading order: `graph` with expression, piecewise, trace, count, optimize, and
packing with lane_signs (what shares an instruction);
`source` with straight_line, its back ends python, c and readable, and languages, their list;
kernel; `native` with ir, program_ir, packed_values, sincos, arctangent, kernel_ir, batch and rows
(native code as text), entry (how Python calls it), llvm, cache and parallel; kernel_arguments;
backends.

A new graph pass is a function `Program -> Program` in a file of its own, with an entry in
`optimize.PASSES`; what it shares with others stands in `trace`, not in `optimize`. A
new language is a file beside `c` with a `source.Syntax` and an entry in `languages.LANGUAGES`. A
new back end is a `kernel.Backend`, given to `Dynamics` as it is or by an entry in
`backends.BACKENDS`. A new operation is a name and a function in `expression`, and a line each in
`program_ir`, `source`, `c`, `readable` and the imports that `python` writes. Choices between two
values are in `piecewise`.
"""
