"""The public API: each callable says what it takes, returns and raises, and examples run."""

import ast
import doctest
import re
import textwrap
from functools import cache
from pathlib import Path

import pytest

from oracles import example_folder
from robot_dynamics import errors

griffe = pytest.importorskip("griffe", reason="griffe comes with mkdocstrings")

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
HOOKS = (ROOT / "docs" / "site_hooks.py").read_text(encoding="utf-8")
PAGES = re.findall(r'^    "(robot_dynamics[\w.]*)",', HOOKS, re.M)
RAISING = {"check_known": "UnknownNameError", "unknown_name": "UnknownNameError"}
"""Functions that raise or make an error, with its class."""


def things(module):
    """Public objects of a module: those of `__all__`, or else those that it defines."""
    for name, member in module.members.items():
        if module.exports is None:
            shown = not name.startswith("_") and not member.is_alias
        else:
            shown = name in map(str, module.exports)
        if shown:
            yield member.final_target if member.is_alias else member


def is_function(thing):
    """Return whether an object is called: griffe takes a cached property for a function."""
    properties = (str(one.value) for one in thing.decorators) if thing.is_function else ()
    return thing.is_function and not any("property" in value for value in properties)


@cache
def public_things():
    """Classes, functions and methods on the pages of the API, by path; read once, in a second."""
    options = {"docstring_parser": "google", "docstring_options": {"warnings": False}}
    package = griffe.load("robot_dynamics", search_paths=[str(ROOT)], **options)
    found = {}
    for page in PAGES:
        for thing in things(package[page.partition(".")[2]] if "." in page else package):
            found[thing.path] = thing
            for name, member in thing.all_members.items() if thing.is_class else ():
                if not name.startswith("_"):
                    method = member.final_target if member.is_alias else member
                    found[method.path] = method
    return found


def functions():
    return {path: thing for path, thing in public_things().items() if is_function(thing)}


def classes():
    return {path: thing for path, thing in public_things().items() if thing.is_class}


def examples():
    """Public objects whose docstring has an example, by path."""
    return {path: thing for path, thing in public_things().items() if ">>>" in docstring(thing)}


def docstring(thing):
    return "" if thing.docstring is None else thing.docstring.value


def sections(thing):
    return {part.kind.value: part.value for part in thing.docstring.parsed}


def named(thing, *kinds):
    """Names in sections of a docstring."""
    entries = [entry for kind in kinds for entry in sections(thing).get(kind, ())]
    return {entry.name.lstrip("*") for entry in entries}


def parameters(function):
    return {one.name.lstrip("*") for one in function.parameters} - {"self", "cls"}


def given(cls):
    """Names of what a class is built from: fields without a docstring, or of its `__init__`."""
    fields = {
        name
        for name, member in cls.members.items()
        if member.is_attribute and member.annotation is not None and member.docstring is None
        if not name.startswith("_") and "property" not in member.labels
    }
    own = cls.members.get("__init__")
    return parameters(own) if own is not None else fields


def raised(function):
    """Names of the package's errors that a function raises itself."""
    found = set()
    for node in ast.walk(ast.parse(textwrap.dedent(function.source))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found.add(RAISING.get(node.func.id, ""))
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            found.add(getattr(node.exc.func, "id", ""))
    kinds = vars(errors)
    return {name for name in found if isinstance(kinds.get(name), type)}


def failing(found, test):
    """Paths and differences of the objects whose docstring does not pass a test."""
    return {path: wrong for path, thing in found.items() if (wrong := test(thing))}


def test_each_public_callable_has_a_docstring():
    assert failing({**functions(), **classes()}, lambda thing: thing.docstring is None) == {}


def test_arguments_of_a_docstring_are_those_of_its_function():
    def differing(function):
        return named(function, "parameters") ^ parameters(function)

    assert failing(functions(), differing) == {}


def test_a_docstring_says_what_its_function_returns():
    def wrong(function):
        said = {"returns", "yields"} & set(sections(function))
        if str(function.returns) == "None":
            return bool(said)
        first = function.docstring.value  # which says it where there is no argument
        return not (said or (not parameters(function) and first.startswith("Return ")))

    assert failing(functions(), wrong) == {}


def test_a_docstring_says_what_its_function_raises():
    def lacking(function):
        said = {str(entry.annotation) for entry in sections(function).get("raises", ())}
        bases = {
            name: {c.__name__ for c in getattr(errors, name).__mro__} for name in raised(function)
        }
        return {name for name, known in bases.items() if not said & known}

    assert failing(functions(), lacking) == {}


def test_a_docstring_says_what_its_class_is_built_from():
    def lacking(cls):
        return given(cls) - named(cls, "parameters", "attributes")

    assert failing(classes(), lacking) == {}


def test_the_most_used_callables_have_an_example():
    assert len(examples()) >= 20


def test_examples_print_what_they_say():
    def wrong(thing):
        if "examples" not in sections(thing):  # as code on the site
            return "no section of examples"
        text, told = docstring(thing), []
        robots = set(re.findall(r'find_robot\("(\w+)"\)', text))
        if robots - {"planar_2r"} and example_folder() is None:
            return ""
        where = str(thing.relative_package_filepath), thing.docstring.lineno
        example = doctest.DocTestParser().get_doctest(text, {}, thing.path, *where)
        doctest.DocTestRunner(verbose=False).run(example, out=told.append)
        return "".join(told)

    assert failing(examples(), wrong) == {}
