"""Counter-based normal random numbers, as LLVM text and in Python, with equal results.

Number j of stream `key` is a mix of key + (j + 1) G, with the G and the mixing function of
SplitMix64 (Steele, Lea and Flood 2014). It depends only on key and j, not on earlier numbers, the
thread or the SIMD lane. The Box-Muller transform makes two normal numbers of two uniform ones.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from robot_dynamics.compiler.native.ir import Code, SimdType
from robot_dynamics.compiler.native.trigonometry import sine_cosine
from robot_dynamics.foundation.arrays import Array

GOLDEN = 0x9E3779B97F4A7C15
MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
LAST_SHIFT = 31
ONE_BITS = 0x3FF0000000000000
"""Bits of 1.0: with 52 random bits below, a number in [1, 2)."""

# Coefficients of log(m) on [sqrt(1/2), sqrt(2)], from Sun's fdlibm, e_log.c
_LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD

Integers = npt.NDArray[np.uint64]


def mixed(x: Integers) -> Integers:
    """SplitMix64's mixing function: every bit of the result depends on every bit of x."""
    with np.errstate(over="ignore"):
        for shift, factor in MIX:
            x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(x ^ (x >> np.uint64(LAST_SHIFT)))


def normals(key: int | Integers, first: int, count: int) -> Array:
    """Return `count` normal numbers of one or several streams, from number `first` on.

    Args:
        key: Key of the stream, or keys of shape (N,).
        first: Index of the first number; even.
        count: Number of numbers; even.

    Returns:
        Shape (count,) or (N, count); mean 0, standard deviation 1.
    """
    places = np.arange(first + 1, first + count + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        start = np.asarray(key, dtype=np.uint64)[..., None] + places * np.uint64(GOLDEN)
    bits = (mixed(start) >> np.uint64(12)) | np.uint64(ONE_BITS)
    u = bits.view(np.float64)
    radius = np.sqrt(-2.0 * np.log(2.0 - u[..., 0::2]))
    angle = 2.0 * np.pi * (u[..., 1::2] - 1.0)
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return pairs.reshape(*pairs.shape[:-2], count)


def normal_values(
    code: Code, lanes: SimdType, key: str, first: str, count: int, fused: bool
) -> list[str]:
    """Write `normals`.

    Args:
        code: Code of the function.
        lanes: Type of doubles.
        key: Vector of 64-bit integers: the stream of every SIMD lane.
        first: Vector of integers: index of the first number.
        count: Number of numbers; even.
        fused: True if the machine multiplies and adds in one rounding.
    """
    kind, whole = lanes.type, lanes.integer

    def integer(operation: str, x: str, y: str) -> str:
        return code.let(f"{operation} {whole} {x}, {y}")

    def constant(value: int) -> str:
        return lanes.whole(value - (1 << 64) if value >= 1 << 63 else value)

    uniform = []
    for j in range(count):
        place = integer("add", first, constant(j + 1))
        x = integer("add", key, integer("mul", place, constant(GOLDEN)))
        for shift, factor in MIX:
            x = integer("xor", x, integer("lshr", x, constant(shift)))
            x = integer("mul", x, constant(factor))
        x = integer("xor", x, integer("lshr", x, constant(LAST_SHIFT)))
        x = integer("or", integer("lshr", x, constant(12)), constant(ONE_BITS))
        uniform.append(code.let(f"bitcast {whole} {x} to {kind}"))
    radii, angles = [], []
    for u, v in zip(uniform[0::2], uniform[1::2], strict=True):
        log = logarithm(code, lanes, code.let(f"fsub {kind} {lanes.number(2.0)}, {u}"))
        square = code.let(f"fmul {kind} {log}, {lanes.number(-2.0)}")
        radii.append(code.let(f"call {kind} @llvm.sqrt.{lanes.suffix}({kind} {square})"))
        turn = code.let(f"fsub {kind} {v}, {lanes.number(1.0)}")
        angles.append(code.let(f"fmul {kind} {turn}, {lanes.number(2.0 * np.pi)}"))
    values = []
    for radius, (sine, cosine) in zip(radii, sine_cosine(code, lanes, angles, fused), strict=True):
        values += [code.let(f"fmul {kind} {radius}, {wave}") for wave in (cosine, sine)]
    return values


def logarithm(code: Code, lanes: SimdType, x: str) -> str:
    """Write the natural logarithm of positive normal numbers.

    x = 2^k m with m in [sqrt(1/2), sqrt(2)]; log m = f - (f^2/2 - s (f^2/2 + R)), f = m - 1 and
    s = f / (2 + f).
    """
    kind, whole, number = lanes.type, lanes.integer, lanes.number

    def real(operation: str, a: str, b: str) -> str:
        return code.let(f"{operation} contract {kind} {a}, {b}")

    bits = code.let(f"bitcast {kind} {x} to {whole}")
    above = code.let(f"sub {whole} {bits}, {lanes.whole(_SQRT_HALF_BITS)}")
    exponent = code.let(f"ashr {whole} {above}, {lanes.whole(52)}")
    k = code.let(f"sitofp {whole} {exponent} to {kind}")
    m_bits = code.let(
        f"sub {whole} {bits}, " + code.let(f"shl {whole} {exponent}, {lanes.whole(52)}")
    )
    f = real("fsub", code.let(f"bitcast {whole} {m_bits} to {kind}"), number(1.0))
    s = real("fdiv", f, real("fadd", f, number(2.0)))
    z = real("fmul", s, s)
    R = number(_LOG[-1])
    for coefficient in reversed(_LOG[:-1]):
        R = real("fadd", real("fmul", R, z), number(coefficient))
    R = real("fmul", R, z)
    half_square = real("fmul", real("fmul", f, f), number(0.5))
    low = real("fmul", k, number(_LN2_LOW))
    inner = real("fadd", real("fmul", s, real("fadd", half_square, R)), low)
    outer = real("fsub", real("fsub", half_square, inner), f)
    return real("fsub", real("fmul", k, number(_LN2_HIGH)), outer)
