"""The angle of a point in vector instructions, as LLVM text.

No branch; the error is at most 2 units in the last place. With a <= b the sorted |y| and |x|,
t = a / b is in [0, 1]. Above 1/2 the angle is pi/4 plus that of (a - b) / (a + b), so that a short
polynomial on [-1/3, 1/2] suffices: atan(z) = z + z^3 P(z^2). Multiples of pi/4 are added in two
parts. Zeros, their signs, infinities and NaN give the same results as the C library.
"""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.compiler.native.ir import Code, SimdType, by_lane, lane, packed


@dataclass(frozen=True)
class _ArctangentFormat:
    """Constants of one floating-point format."""

    quarter: tuple[float, float]  # pi/4 = sum of the parts
    tiny: float  # the least number above zero
    huge: float  # above it a + b might be infinite
    polynomial: tuple[float, ...]  # minimax of (atan(z)/z - 1) / z^2 in z^2 on [0, 1/4]


_FORMATS = {
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
    return _polynomial(code, lanes, y, x) if fused else by_lane(code, lanes, "atan2", y, x)


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


def _polynomial(code: Code, lanes: SimdType, y: str, x: str) -> str:
    f, kind, number, flags = _FORMATS[lanes.scalar], lanes.type, lanes.number, lanes.of("i1")

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
