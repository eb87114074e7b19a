"""Sine and cosine in vector instructions, as LLVM text.

For |x| < 1e5 both come from one reduction and two short polynomials, without a
branch; the error is at most 2 units in the last place. If any SIMD lane is larger,
infinite or not a number, the C library computes the whole group.

The reduction x = k pi/2 + r subtracts k pi/2 in three parts (Cody and Waite)
with fused operations; the first subtraction is exact, because k has at most 16
bits. The polynomials are the kernels of Sun's fdlibm (double) and of Moshier's
Cephes (float) on |r| <= pi/4.
"""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.compiler.native.ir import Code, SimdType, any_lane, by_lane, lane, packed

LIMIT_RAD = 1e5  # rad; the reduction is exact below, and no joint turns that far


@dataclass(frozen=True)
class _SineFormat:
    """Constants of one floating-point format."""

    round_to_integer: float  # adding it leaves a whole number in the low bits
    half_pi: tuple[float, float, float]  # pi/2 = sum of the parts
    sine: tuple[float, ...]  # of r^3, r^5, ...
    cosine: tuple[float, ...]  # of r^4, r^6, ...


_FORMATS = {
    "double": _SineFormat(
        round_to_integer=1.5 * 2**52,
        half_pi=(1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33),
        sine=(
            -1.66666666666666324348e-01,
            8.33333333332248946124e-03,
            -1.98412698298579493134e-04,
            2.75573137070700676789e-06,
            -2.50507602534068634195e-08,
            1.58969099521155010221e-10,
        ),
        cosine=(
            4.16666666666666019037e-02,
            -1.38888888888741095749e-03,
            2.48015872894767294178e-05,
            -2.75573143513906633035e-07,
            2.08757232129817482790e-09,
            -1.13596475577881948265e-11,
        ),
    ),
    "float": _SineFormat(
        round_to_integer=1.5 * 2**23,
        half_pi=(1.57079637050628662109375, -4.37113900018624283e-8, -1.71512451306151e-15),
        sine=(-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4),
        cosine=(4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5),
    ),
}


def sine_cosine(
    code: Code, lanes: SimdType, angles: list[str], fused: bool
) -> list[tuple[str, str]]:
    """Write sine and cosine of several values, with one test for all of them.

    Args:
        code: Code of the function.
        lanes: Type of the values.
        angles: The values.
        fused: True if the machine multiplies and adds in one rounding. Otherwise the reduction
            would not be exact, and the C library computes everything.
    """
    if not fused:
        return _by_library(code, lanes, angles)
    fast = [_polynomials(code, lanes, x) for x in angles]
    huge = _any_huge(code, lanes, angles)
    exact, done, here = code.fresh("exact"), code.fresh("waves"), code.fresh("polynomials")
    # The current block needs a name for the phi nodes
    code.do(f"br label %{here}")
    code.label(here)
    code.branch_rarely(huge, exact, done)
    code.label(exact)
    slow = _by_library(code, lanes, angles)
    code.do(f"br label %{done}")
    code.label(done)
    return [
        (
            code.let(f"phi {lanes.type} [ {s}, %{here} ], [ {s_exact}, %{exact} ]"),
            code.let(f"phi {lanes.type} [ {c}, %{here} ], [ {c_exact}, %{exact} ]"),
        )
        for (s, c), (s_exact, c_exact) in zip(fast, slow, strict=True)
    ]


def packed_sine_cosine(
    code: Code, lanes: SimdType, width: int, angles: list[str], fused: bool
) -> list[tuple[str, str]]:
    """Write sine and cosine of several scalars, `width` of them to a vector."""
    if len(angles) < 2 or not fused:
        return sine_cosine(code, lanes, angles, fused)
    wide = SimdType(lanes.scalar, width)
    pairs = sine_cosine(code, wide, packed(code, wide, angles), fused)
    return [
        (lane(code, wide, pairs[k // width][0], k), lane(code, wide, pairs[k // width][1], k))
        for k in range(len(angles))
    ]


def exact_functions(lanes: SimdType, typed_pointers: bool) -> str:
    """Write functions that call the C library per SIMD lane; out of line to keep code compact."""
    text = []
    for name in ("sin", "cos"):
        code = Code(typed_pointers)
        result = by_lane(code, lanes, name, "%x")
        code.do(f"ret {lanes.type} {result}")
        signature = f"define internal {lanes.type} {_exact(name, lanes)}({lanes.type} %x)"
        text.append(code.function(signature, "noinline cold"))
    return "".join(text)


def _by_library(code: Code, lanes: SimdType, angles: list[str]) -> list[tuple[str, str]]:
    kind = lanes.type
    return [
        (
            code.let(f"call {kind} {_exact('sin', lanes)}({kind} {x})"),
            code.let(f"call {kind} {_exact('cos', lanes)}({kind} {x})"),
        )
        for x in angles
    ]


def _exact(name: str, lanes: SimdType) -> str:
    return f"@exact_{name}_{lanes.suffix}"


def _any_huge(code: Code, lanes: SimdType, angles: list[str]) -> str:
    """True (i1) if any lane of any angle is out of range or not a number."""
    kind, flags = lanes.type, lanes.of("i1")
    huge = ""
    for x in angles:
        size = code.let(f"call {kind} @llvm.fabs.{lanes.suffix}({kind} {x})")
        this = code.let(f"fcmp uge {kind} {size}, {lanes.number(LIMIT_RAD)}")
        huge = this if not huge else code.let(f"or {flags} {huge}, {this}")
    return any_lane(code, lanes, huge)


def _polynomials(code: Code, lanes: SimdType, x: str) -> tuple[str, str]:
    """Write sine and cosine of x, valid for |x| < LIMIT_RAD."""
    f, kind, whole, number = _FORMATS[lanes.scalar], lanes.type, lanes.integer, lanes.number

    def fma(a: str, b: str, c: str) -> str:
        fused = f"@llvm.fma.{lanes.suffix}"
        return code.let(f"call {kind} {fused}({kind} {a}, {kind} {b}, {kind} {c})")

    def mul(a: str, b: str) -> str:
        return code.let(f"fmul {kind} {a}, {b}")

    def horner(coefficients: tuple[float, ...], z: str) -> str:
        total = number(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = fma(total, z, number(c))
        return total

    # x = k pi/2 + r
    shifted = fma(x, number(0.6366197723675814), number(f.round_to_integer))  # 2/pi
    k_bits = code.let(f"bitcast {kind} {shifted} to {whole}")
    k = code.let(f"fsub {kind} {shifted}, {number(f.round_to_integer)}")
    r = x
    for part in f.half_pi:
        r = fma(k, number(-part), r)
    # On |r| <= pi/4
    z = mul(r, r)
    sine_r = fma(mul(z, r), horner(f.sine, z), r)
    cosine_r = fma(mul(z, z), horner(f.cosine, z), fma(z, number(-0.5), number(1.0)))
    # An odd quadrant swaps the two; quadrants 2 and 3 change the sign of the sine, 1 and 2 of
    # the cosine: bit 1 of k and of k + 1, moved to where the sign is
    odd = code.let(f"and {whole} {k_bits}, {lanes.whole(1)}")
    swap = code.let(f"icmp ne {whole} {odd}, {lanes.whole(0)}")
    sine = code.let(f"select {lanes.of('i1')} {swap}, {kind} {cosine_r}, {kind} {sine_r}")
    cosine = code.let(f"select {lanes.of('i1')} {swap}, {kind} {sine_r}, {kind} {cosine_r}")
    k_next = code.let(f"add {whole} {k_bits}, {lanes.whole(1)}")
    return _negate_if_bit_1(code, lanes, sine, k_bits), _negate_if_bit_1(
        code, lanes, cosine, k_next
    )


def _negate_if_bit_1(code: Code, lanes: SimdType, x: str, bits: str) -> str:
    kind, whole = lanes.type, lanes.integer
    moved = code.let(f"shl {whole} {bits}, {lanes.whole(lanes.bits - 2)}")
    sign = code.let(f"and {whole} {moved}, {lanes.whole(-(1 << (lanes.bits - 1)))}")
    x_bits = code.let(f"bitcast {kind} {x} to {whole}")
    flipped = code.let(f"xor {whole} {x_bits}, {sign}")
    return code.let(f"bitcast {whole} {flipped} to {kind}")
