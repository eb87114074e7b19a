"""The native entry: how a call from Python reaches native code.

See benchmark/records/native-entry.md.

The entry of a kernel is itself native code, written beside the kernel, with the
calling convention of CPython's builtin functions. It looks at every argument (a real
NumPy array, of the right type, shape and layout), makes the result and runs the kernel;
any other call goes to an ordinary Python function, which converts or raises.

Reading order: native_entry (what is read of objects, the function that Python sees, and how it
takes a method's place), entry_code (its text).
"""
