"""What an expression may be: a set of atoms. The empty set means that nothing is known."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinlab.detect.lint.flow.buffer import Buffer, Place
from pinlab.detect.lint.flow.region import WHOLE, Key, Region, Selector

if TYPE_CHECKING:
    from pinlab.detect.lint.flow.modules import ClassInfo, ModuleInfo


@dataclass(frozen=True, slots=True)
class Const:
    """A literal; `kind` keeps ``True`` and ``1`` apart."""

    value: bool | int | float | complex | str | bytes | None
    kind: str

    @classmethod
    def of(cls, value: bool | int | float | complex | str | bytes | None) -> Const:
        return cls(value, type(value).__name__)


@dataclass(frozen=True, slots=True)
class Number:
    """Some number whose value is not followed: never a view, always a plain index."""


@dataclass(frozen=True, slots=True)
class Span:
    """A ``slice`` object."""

    selector: Selector


@dataclass(frozen=True, slots=True)
class Cut:
    """The expression that made a view; the text is made only when a finding needs it."""

    node: ast.expr
    place: Place
    step: str

    @property
    def text(self) -> str:
        text = " ".join(ast.unparse(self.node).split())
        return text if len(text) <= 80 else text[:77] + "…"


@dataclass(frozen=True, slots=True)
class Array:
    """A tensor, an array or a memoryview over a buffer.

    `cut` is None for the buffer's own object, else the expression that made the view. `slot`
    tells elements of a list of buffers apart. `ndim` is None where unknown. `new`: not an
    attribute's value from before, but made by the code under way.
    """

    buffer: Buffer
    face: str = "tensor"
    region: Region = WHOLE
    slot: Key | None = None
    cut: Cut | None = None
    ndim: int | None = None
    sure: bool = True
    new: bool = False


@dataclass(frozen=True, slots=True)
class Obj:
    """An object with contents: an instance, a list, a dict, the result of a constructor."""

    site: str
    kind: str = "object"
    cls: ClassInfo | None = None
    outside: bool = False
    title: str = ""


@dataclass(frozen=True, slots=True)
class Seq:
    """A tuple whose items are known one by one."""

    items: tuple[frozenset[Atom], ...]


@dataclass(frozen=True, slots=True)
class Ext:
    """Something that lives outside the function: a parameter, an unknown attribute."""

    path: str


@dataclass(frozen=True, slots=True)
class Lib:
    """A dotted name of an imported module."""

    name: str


@dataclass(frozen=True, slots=True)
class Func:
    """A function or lambda of the checked files, bound to `owner` if it is a method."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    module: ModuleInfo
    cls: ClassInfo | None = None
    owner: Obj | None = None
    closure: int = 0


@dataclass(frozen=True, slots=True)
class Cls:
    """A class of the checked files."""

    info: ClassInfo


@dataclass(frozen=True, slots=True)
class Stream:
    """A device stream, by its token; ``""`` is a stream that nothing is known of."""

    token: str


@dataclass(frozen=True, slots=True)
class Event:
    """A device event, by the place that made it."""

    site: str
    many: bool = False


Atom = Const | Number | Span | Array | Obj | Seq | Ext | Lib | Func | Cls | Stream | Event
Values = frozenset[Atom]
UNKNOWN: Values = frozenset()
NONE: Values = frozenset({Const.of(None)})
NUMBER: Values = frozenset({Number()})


def one(atom: Atom) -> Values:
    """The set of one atom."""
    return frozenset({atom})


def arrays(values: Values) -> list[Array]:
    """The arrays among `values`, in a stable order."""
    found = [atom for atom in values if isinstance(atom, Array)]
    return found if len(found) < 2 else sorted(found, key=lambda a: (a.buffer.site, str(a.region)))


def constant(values: Values) -> Const | None:
    """The one literal that `values` must be, or None."""
    if len(values) != 1:
        return None
    (atom,) = values
    return atom if isinstance(atom, Const) else None
