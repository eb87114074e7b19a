"""Sine, cosine and arctangent in vector instructions, as LLVM text.

For |x| < 1e5, sine and cosine come from one reduction and two short polynomials, without a
branch; the error is at most 2 units in the last place. If any SIMD lane is larger,
infinite or not a number, the C library computes the whole group. The reduction
x = k pi/2 + r subtracts k pi/2 in three parts (Cody and Waite) with fused operations;
the first subtraction is exact, because k has at most 16 bits. The polynomials are the
kernels of Sun's fdlibm (double) and of Moshier's Cephes (float) on |r| <= pi/4.

The arctangent of a point has no branch either, and the same largest error. With a <= b the
sorted |y| and |x|, t = a / b is in [0, 1]. Above 1/2 the angle is pi/4 plus that of
(a - b) / (a + b), so that a short polynomial on [-1/3, 1/2] suffices:
atan(z) = z + z^3 P(z^2). Multiples of pi/4 are added in two parts. Zeros, their signs,
infinities and NaN give the same results as the C library.
"""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.compiler.native.ir import Code, SimdType, any_lane, by_lane, lane, packed

# -- sine and cosine ---------------------------------------------------------------------------

LIMIT_RAD = 1e5  # rad; the reduction is exact below, and no joint turns that far


@dataclass(frozen=True)
class _SineFormat:
    """Constants of one floating-point format."""

    round_to_integer: float  # adding it leaves a whole number in the low bits
    half_pi: tuple[float, float, float]  # pi/2 = sum of the parts
    sine: tuple[float, ...]  # of r^3, r^5, ...
    cosine: tuple[float, ...]  # of r^4, r^6, ...


_SINE_FORMATS = {
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
    f, kind, whole, number = _SINE_FORMATS[lanes.scalar], lanes.type, lanes.integer, lanes.number

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


# -- arctangent --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ArctangentFormat:
    """Constants of one floating-point format."""

    quarter: tuple[float, float]  # pi/4 = sum of the parts
    tiny: float  # the least number above zero
    huge: float  # above it a + b might be infinite
    polynomial: tuple[float, ...]  # minimax of (atan(z)/z - 1) / z^2 in z^2 on [0, 1/4]


_ARCTANGENT_FORMATS = {
    "double": _ArctangentFormat(
        quarter=(0.7853981633974483, 3.061616997868383e-17),
        tiny=5e-324,
        huge=2.0**1000,
        polynomial=(
            -0.3333333333333333,
            0.19999999999999488,
            -0.14285714285599188,
            0.11111111100917376,
            -0.09090908620322523,
            0.07692294712540285,
            -0.06666435677235948,
            0.05879578429582425,
            -0.05240099507994713,
            0.04628024868570153,
            -0.03806653672057366,
            0.025006503566489507,
            -0.009215792047089858,
        ),
    ),
    "float": _ArctangentFormat(
        quarter=(0.7853981852531433, -2.1855695000931213e-08),
        tiny=2.0**-149,
        huge=2.0**120,
        polynomial=(
            -0.33333332901484686,
            0.1999987524978264,
            -0.14279801095810957,
            0.11006880681346318,
            -0.08235505763636282,
            0.04225685963021552,
        ),
    ),
}


def arctangent(code: Code, lanes: SimdType, y: str, x: str, fused: bool) -> str:
    """Write the angle of the point (x, y).

    Args:
        code: Code of the function.
        lanes: Type of the values.
        y: Second coordinate.
        x: First coordinate.
        fused: True if the machine multiplies and adds in one rounding; else the C library is used.
    """
    return _first_octant(code, lanes, y, x) if fused else by_lane(code, lanes, "atan2", y, x)


def packed_arctangent(
    code: Code, lanes: SimdType, width: int, points: list[tuple[str, str]], fused: bool
) -> list[str]:
    """Write the angles of several points (y, x) of scalars, `width` of them to a vector."""
    if len(points) < 2 or not fused:
        return [arctangent(code, lanes, y, x, fused) for y, x in points]
    wide = SimdType(lanes.scalar, width)
    columns = [packed(code, wide, list(scalars)) for scalars in zip(*points, strict=True)]
    angles = [arctangent(code, wide, y, x, fused) for y, x in zip(*columns, strict=True)]
    return [lane(code, wide, angles[k // width], k) for k in range(len(points))]


def _first_octant(code: Code, lanes: SimdType, y: str, x: str) -> str:
    f, kind = _ARCTANGENT_FORMATS[lanes.scalar], lanes.type
    number, flags = lanes.number, lanes.of("i1")

    def call(name: str, *operands: str) -> str:
        arguments = ", ".join(f"{kind} {operand}" for operand in operands)
        return code.let(f"call {kind} @llvm.{name}.{lanes.suffix}({arguments})")

    def choose(condition: str, yes: str, no: str) -> str:
        return code.let(f"select {flags} {condition}, {kind} {yes}, {kind} {no}")

    def compare(how: str, a: str, b: str) -> str:
        return code.let(f"fcmp {how} {kind} {a}, {b}")

    def times(a: str, b: str) -> str:
        return code.let(f"fmul {kind} {a}, {b}")

    # In order of size; a NaN is one of both
    x_size, y_size = call("fabs", x), call("fabs", y)
    steep = compare("ogt", y_size, x_size)
    a, b = choose(steep, x_size, y_size), choose(steep, y_size, x_size)
    factor = choose(compare("ogt", b, number(f.huge)), number(0.25), number(1.0))
    a, b = times(a, factor), times(b, factor)
    # Near pi/4, where the difference is exact; that of two infinities is not a number, taken as 0
    apart = code.let(f"fsub {kind} {a}, {b}")
    near = compare("ugt", a, code.let(f"fneg {kind} {apart}"))
    apart = choose(compare("oeq", a, b), number(0.0), apart)
    below = choose(compare("oeq", b, number(0.0)), number(f.tiny), b)
    under = choose(near, code.let(f"fadd {kind} {a}, {b}"), below)
    z = code.let(f"fdiv {kind} {choose(near, apart, a)}, {under}")
    squared = times(z, z)
    p = number(f.polynomial[-1])
    for c in reversed(f.polynomial[:-1]):
        p = call("fma", p, squared, number(c))
    angle = call("fma", times(z, squared), p, z)
    # k pi/4 +- angle: from pi/2 backwards where it is steep, from pi backwards where x < 0
    k = choose(near, number(1.0), number(0.0))
    k = choose(steep, code.let(f"fsub {kind} {number(2.0)}, {k}"), k)
    angle = choose(steep, code.let(f"fneg {kind} {angle}"), angle)
    behind = compare("olt", call("copysign", number(1.0), x), number(0.0))
    k = choose(behind, code.let(f"fsub {kind} {number(4.0)}, {k}"), k)
    angle = choose(behind, code.let(f"fneg {kind} {angle}"), angle)
    high, low = (number(part) for part in f.quarter)
    return call("copysign", call("fma", k, high, call("fma", k, low, angle)), y)
