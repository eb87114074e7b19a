"""The native entry: how a call from Python reaches native code; see docs/native-entry.md.

The entry of a kernel is itself native code, written beside the kernel, with the
calling convention of CPython's builtin functions. It looks at every argument (a real
NumPy array, of the right type, shape and layout), makes the result and runs the kernel;
any other call goes to an ordinary Python function, which converts or raises.

Reading order: array_layout (what is read of objects), entry_writer and entry_functions
(the text), builtin_function (the function that Python sees), native_methods (how it takes a
method's place); extraction stands by itself: numbers out of the bytes of a message.
"""
