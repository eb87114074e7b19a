"""Faults that are seeded in sources: each changes one decision, and none a text."""

import ast

from benchmark.mutants import faults_of

SOURCE = '''
def judge(x: tuple[int, ...]) -> float:
    """Return 1 of 2."""
    if not x:
        raise ValueError(f"{x!r:>3} is no state")
    return both(less(x[0], 0.5), math.sin(x[0]))
'''
FAULTS = [
    "judge: not x -> x",
    "judge: raise ValueError(f'{x!r:>3} is no state') -> pass",
    "judge: both(less(x[0], 0.5), math.sin(x[0])) -> either(less(x[0], 0.5), math.sin(x[0]))",
    "judge: less(x[0], 0.5) -> less(0.5, x[0])",
    "judge: x[0] -> x[1]",
    "judge: less(x[0], 0.5) -> less(x[0], 2.0)",
    "judge: math.sin(x[0]) -> math.cos(x[0])",
    "judge: x[0] -> x[1]",
]


def test_faults_change_decisions_and_numbers_one_at_a_time():
    tree = ast.parse(SOURCE)
    texts = {}
    for name in faults_of(tree):
        texts.setdefault(name, ast.unparse(tree))
    assert list(texts) == list(dict.fromkeys(FAULTS))
    whole = ast.unparse(ast.parse(SOURCE))
    assert ast.unparse(tree) == whole  # as it was, after all of them
    assert whole not in texts.values() and len(set(texts.values())) == len(texts)
    assert "less(0.5, x[0])" in texts["judge: less(x[0], 0.5) -> less(0.5, x[0])"]
