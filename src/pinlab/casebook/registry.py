"""All cases, found by their files: ``z11_short_name.py`` holds case Z11, and nothing lists it."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from types import ModuleType

from pinlab.casebook.case import Case
from pinlab.casebook.kinds import Kind, kind_of

ROOMS = frozenset({"case", "gaps", "guards", "kinds", "program", "registry"})
_NAME = re.compile(r"([zc]\d\d)_[a-z0-9_]+")


class CaseFileError(RuntimeError):
    """A file of a casebook does not hold a proper case."""


def scan(package: ModuleType) -> dict[str, Case]:
    """The cases of a package by id, in order of their ids, bugs first.

    Raises:
        CaseFileError: naming the file that holds no proper case, or whose name says another id.
    """
    found: dict[str, Case] = {}
    for module in pkgutil.iter_modules(package.__path__):
        if module.name in ROOMS:
            continue
        case = _load(package, module.name)
        if case.id in found:
            raise CaseFileError(f"{module.name}.py: there is another file for {case.id}")
        found[case.id] = case
    return {key: found[key] for key in sorted(found, key=lambda key: (key[0] != "Z", key))}


def _load(package: ModuleType, name: str) -> Case:
    file = f"{name}.py"
    match = _NAME.fullmatch(name)
    if match is None:
        raise CaseFileError(f"{file}: a case's file is named zNN_what.py, a control's cNN_what.py")
    try:
        module = importlib.import_module(f"{package.__name__}.{name}")
    except Exception as error:
        raise CaseFileError(f"{file} cannot be imported: {error}") from error
    case = getattr(module, "CASE", None)
    if not isinstance(case, Case):
        raise CaseFileError(f"{file}: CASE is {case!r}; it must be a Case")
    if case.id != match[1].upper():
        raise CaseFileError(f"{file}: CASE is {case.id}, the file's name says {match[1].upper()}")
    for form, function in case.forms.items():
        if function.__module__ != module.__name__:
            raise CaseFileError(f"{file}: its {form} form is from {function.__module__}")
    return case


@functools.cache
def _book() -> dict[str, Case]:
    return scan(importlib.import_module("pinlab.casebook"))


def cases(kind: str | Kind | None = None, control: bool | None = None) -> list[Case]:
    """All cases, or those of a kind, or only bugs or controls.

    Args:
        kind: a letter, a name or a `Kind`.
        control: True for reports that are no bugs, False for bugs; None for both.

    Raises:
        ValueError: for an unknown kind. CaseFileError: naming a file without a proper case.

    >>> from pinlab.casebook import cases
    >>> "Z29" in [one.id for one in cases(kind="D", control=False)]
    True
    """
    wanted = None if kind is None else kind_of(kind)
    return [
        case
        for case in _book().values()
        if (wanted is None or case.kind == wanted) and (control is None or case.control == control)
    ]


def case(id: str) -> Case:
    """One case by its id.

    Raises:
        KeyError: naming the ids that there are.

    >>> from pinlab.casebook import case
    >>> case("Z11")
    <Z11 vllm-project/vllm#24527, kind C, buffer refilled: ...>
    """
    book = _book()
    if id not in book:
        raise KeyError(f"no case {id!r}; there are {', '.join(book)}")
    return book[id]
