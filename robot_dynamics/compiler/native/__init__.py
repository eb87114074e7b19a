"""A program as machine code, through LLVM: for one sample and for many at once."""
