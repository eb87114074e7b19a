"""Mutations of real URDFs, read, and compared with Pinocchio: fuzz_urdf.py [SECONDS [SEED]]."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1] / "helpers"), str(Path(__file__).parent)]

from bounded import REFUSED, bounded, main

from oracles import PinModel, all_example_urdfs, relative_error
from robot_dynamics import read_urdf
from robot_dynamics.formulations import inverse_dynamics

# Efforts are differences of large numbers where a mutation has made a mass or length large
ROUND_OFF = 1e-6
LARGEST = 60_000  # characters; larger files take longer and have nothing new
NUMBERS = (
    "nan",
    "inf",
    "-1",
    "0",
    "1e400",
    "1e-320",
    "1e30",
    "",
    "abc",
    "0x10",
    "1,5",
    "٣",
    "1e5",
    "2 3",
)
WORDS = (
    "",
    "revolute",
    "prismatic",
    "continuous",
    "fixed",
    "floating",
    "planar",
    "base",
    "☃",
    "a b",
)
NUMBER = re.compile(r"-?\d+\.?\d*(?:[eE][-+]?\d+)?")
VALUE = re.compile(r'="([^"]*)"')
ELEMENT = re.compile(r"<(\w+)[^<>]*?(?:/>|>(?:(?!<\1[ >]).)*?</\1>)", re.S)


@cache
def texts():
    """Example files without pictures, which nothing here depends on."""
    pictures = re.compile(r"<(visual|collision)\b.*?</\1>|<!--.*?-->|<\?xml.*?\?>", re.S)
    found = [pictures.sub("", path.read_text()) for path in all_example_urdfs()]
    return [text for text in found if len(text) < LARGEST]


def replaced(match, group, text, new):
    start, end = match.span(group)
    return text[:start] + new + text[end:]


def pick(rng, pattern, text):
    found = list(pattern.finditer(text))
    return rng.choice(found) if found else None


def mutated(rng, text):
    """The text with one thing changed."""
    kind = rng.randrange(9)
    if kind == 0 and (match := pick(rng, NUMBER, text)):
        return replaced(match, 0, text, rng.choice(NUMBERS))
    if kind == 1 and (match := pick(rng, VALUE, text)):
        other = pick(rng, VALUE, text).group(1)
        return replaced(match, 1, text, rng.choice([*WORDS, other, other, other]))
    if kind in (2, 3, 4) and (match := pick(rng, ELEMENT, text)):
        if kind == 2:
            return replaced(match, 0, text, "")
        if kind == 3:
            return text[: match.end()] + match.group(0) + text[match.end() :]
        place = pick(rng, ELEMENT, text).start()
        return text[:place] + match.group(0) + text[place:]
    if kind == 5:
        place = rng.randrange(len(text))
        return text[:place]
    if kind == 6:
        place = rng.randrange(len(text))
        odd = chr(rng.choice([0, 1, 34, 38, 60, 62, 0xD7FF, 0x1F600]))
        return text[:place] + odd + text[place:]
    if kind == 7 and (match := pick(rng, re.compile(r'\s(\w+)="[^"]*"'), text)):
        return replaced(match, 0, text, "")
    start = rng.randrange(len(text))
    return text[:start] + text[start + rng.randrange(1, 200) :]


def one(rng):
    text = rng.choice(texts())
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        text = mutated(rng, text) or "<"
    robot, _ = bounded(lambda: read_urdf("<" + text.lstrip().removeprefix("<")))
    if robot is REFUSED:
        return False
    generator = np.random.default_rng(rng.getrandbits(32))
    q, qd, qdd = generator.normal(size=(3, robot.dof))
    tau, _ = bounded(lambda: inverse_dynamics(robot, q, qd, qdd, formulation="newton_euler"))
    if tau is not REFUSED:
        compare(robot, text, (q, qd, qdd), tau)
    return True


def compare(robot, text, motion, tau):
    """With Pinocchio, where it reads the same joints."""
    import pinocchio

    try:
        oracle = PinModel(pinocchio, robot, text)
    except Exception:  # it refuses more: joints of meshes, names, numbers
        return
    theirs = oracle.inverse(*motion)
    if np.isfinite(theirs).all() and np.abs(theirs).max(initial=0.0) < 1e12:
        assert relative_error(tau, theirs) < ROUND_OFF, (tau, theirs)


if __name__ == "__main__":
    main("URDF text", one)
