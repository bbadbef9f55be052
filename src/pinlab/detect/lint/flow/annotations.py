"""What a type annotation tells: a tensor, an array, an instance of a known class."""

from __future__ import annotations

import ast

from pinlab.detect.lint.flow.atoms import (
    NUMBER,
    UNKNOWN,
    Array,
    Cls,
    Event,
    Ext,
    Lib,
    Obj,
    Stream,
    Values,
    one,
)
from pinlab.detect.lint.flow.buffer import Buffer, Pinned, Where
from pinlab.detect.lint.flow.escapes import Escapes
from pinlab.detect.lint.flow.modules import ClassInfo
from pinlab.detect.lint.flow.state import State

CONTAINERS = {
    "list": "list", "List": "list", "deque": "list", "Sequence": "list", "MutableSequence": "list",
    "dict": "dict", "Dict": "dict", "MutableMapping": "dict", "defaultdict": "dict",
    "OrderedDict": "dict", "set": "list", "Set": "list",
}  # fmt: skip


class Annotations(Escapes):
    """Names of the module, and values made from annotations."""

    def resolve_lib(self, dotted: str) -> Values:
        """An imported name: a class of the file set if it is one, else a library name."""
        last = dotted.rpartition(".")[2]
        if last[:1].isupper() or last[:2].strip("_")[:1].isupper():
            cls = self.project.find_class(dotted)
            if cls is not None:
                return one(Cls(cls))
        return one(Lib(dotted))

    def annotated(
        self, annotation: ast.expr | None, path: str, state: State, node: ast.AST
    ) -> Values:
        """A parameter or attribute of which only the annotation is known."""
        if annotation is None:
            return one(Ext(path))
        for part in _alternatives(annotation):
            values = self._from_part(part, path, state, node)
            if values:
                return values
        return one(Ext(path))

    def _from_part(self, part: ast.expr, path: str, state: State, node: ast.AST) -> Values:
        word = _last_word(part)
        if word in ("Tensor", "ndarray", "NDArray", "ArrayLike", "memoryview"):
            return self._unseen_array(word, path, node)
        if word == "int":
            return NUMBER
        if word in CONTAINERS:
            return one(Obj(f"ext:{path}", CONTAINERS[word], outside=True, title=path))
        if word == "Stream":
            return one(Stream(f"ext:{path}"))
        if word == "Event" and "threading" not in ast.unparse(part):
            return one(Event(f"ext:{path}"))
        known = self.frame.module.classes.get(word)
        if known is None and word[:1].isupper():
            known = self.project.find_class(self.frame.module.imports.get(word, word))
        if known is None:
            return UNKNOWN
        return self.external_instance(Cls(known), path, state, node)

    def _unseen_array(self, word: str, path: str, node: ast.AST) -> Values:
        site = f"ext:{self.frame.prefix}{self.frame.title}:{path}"
        buffer = self.buffers.get(site)
        face = "tensor" if word == "Tensor" else ("memory" if word == "memoryview" else "array")
        if buffer is None:
            where = Where.UNKNOWN if face == "tensor" else Where.HOST
            buffer = Buffer(site, self.place(node), face, where, Pinned.UNSEEN, name=path)
            self.buffers[site] = buffer
        return one(Array(buffer, face))

    def is_trusted(self, name: str) -> bool:
        """Whether names are believed, and this one says that its memory is pinned."""
        return bool(self.trusted_suffixes) and name.endswith(self.trusted_suffixes)

    def trusted(self, path: str, node: ast.AST) -> Values:
        """Memory that its name declares to be pinned, made out of sight."""
        site = f"named:{path}"
        buffer = self.buffers.get(site)
        if buffer is None:
            place = self.place(node)
            buffer = Buffer(site, place, "tensor", Where.HOST, Pinned.MAYBE, name=path)
            buffer.persistent, buffer.origin = True, "name"
            self.buffers[site] = buffer
        return one(Array(buffer))

    def external_instance(self, cls: Cls, path: str, state: State, node: ast.AST) -> Values:
        """An instance that lives outside: its buffers are what its constructor makes."""
        obj = Obj(f"ext:{cls.info.name}:{path}", "object", cls.info, outside=True, title=path)
        if not state.contents(obj.site) and len(self.frames) < 3:
            self.silent += 1
            try:
                fresh, made, pending = state.fresh, state.made, dict(state.pending)
                self.construct(obj, cls.info, [], {}, state, node)
                self._settle_instance(obj, path, state)
                state.fresh, state.made, state.pending = fresh, made, pending
            finally:
                self.silent -= 1
        return one(obj)

    def _settle_instance(self, obj: Obj, path: str, state: State) -> None:
        for key, values in state.contents(obj.site):
            for atom in values:
                if isinstance(atom, Array):
                    atom.buffer.persistent = True
                    if atom.cut is None:
                        atom.buffer.name = f"{path}.{key}"

    def construct(
        self,
        obj: Obj,
        cls: ClassInfo,
        args: list[Values],
        kwargs: dict[str, Values],
        state: State,
        node: ast.AST,
    ) -> None:
        raise NotImplementedError


def _alternatives(annotation: ast.expr) -> list[ast.expr]:
    """``X | None``, ``Optional[X]``, ``Annotated[X, …]`` and ``"X"`` as a list of parts."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            return _alternatives(ast.parse(annotation.value, mode="eval").body)
        except (SyntaxError, ValueError, RecursionError):
            return []
    if isinstance(annotation, ast.BinOp):
        return [*_alternatives(annotation.left), *_alternatives(annotation.right)]
    if isinstance(annotation, ast.Subscript):
        word = _last_word(annotation.value)
        inner = annotation.slice
        if word in ("Optional", "Final", "ClassVar", "Annotated", "InitVar"):
            first = inner.elts[0] if isinstance(inner, ast.Tuple) and inner.elts else inner
            return _alternatives(first)
        if word == "Union":
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return [p for part in parts for p in _alternatives(part)]
    return [annotation]


def _last_word(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
