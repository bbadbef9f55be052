"""Objects: attributes, methods, properties."""

from __future__ import annotations

import ast
from dataclasses import replace

from pinlab.detect.lint.flow import vocabulary as words
from pinlab.detect.lint.flow.atoms import (
    NUMBER,
    UNKNOWN,
    Array,
    Atom,
    Cls,
    Const,
    Cut,
    Ext,
    Func,
    Lib,
    Obj,
    Values,
    arrays,
    one,
)
from pinlab.detect.lint.flow.buffer import Where
from pinlab.detect.lint.flow.construction import Construction
from pinlab.detect.lint.flow.modules import ClassInfo, FunctionNode, decorator_name
from pinlab.detect.lint.flow.state import State

PROPERTY_WORDS = frozenset({"property", "cached_property"})


class Objects(Construction):
    """``obj.attr``, read and written."""

    def load_attribute(self, base: Values, name: str, node: ast.expr, state: State) -> Values:
        """``base.name`` as a value; a property is followed."""
        result: set[Atom] = set()
        for atom in base:
            result |= self._attribute(atom, name, node, state)
        return frozenset(result)

    def _attribute(self, atom: Atom, name: str, node: ast.expr, state: State) -> Values:
        if isinstance(atom, Array):
            return self._array_attribute(atom, name, node, state)
        if isinstance(atom, Obj):
            return self._object_attribute(atom, name, node, state)
        if isinstance(atom, Lib):
            return self.resolve_lib(f"{atom.name}.{name}")
        if isinstance(atom, Ext):
            path = f"{atom.path}.{name}"
            if self.is_trusted(name):
                return self.trusted(path, node)
            return state.load("ext", path) or one(Ext(path))
        if isinstance(atom, Cls):
            found = self._class_attribute(atom.info, name, None, state)
            return found or one(Ext(f"{atom.info.name}.{name}"))
        return UNKNOWN

    def _array_attribute(self, array: Array, name: str, node: ast.expr, state: State) -> Values:
        if name in words.VIEW_ATTRIBUTES:
            if name in ("base", "data") and array.face == "tensor":
                # `.data` is the same memory under the same shape.
                return one(replace(array, cut=Cut(node, self.place_in_file(node), "face")))
            return one(self.view_method(array, name, node, state))
        if name == "ctypes":
            return one(replace(array, face="address"))
        if array.face == "address":
            return one(array)
        if name == "device":
            on_host = array.buffer.where is Where.HOST
            return one(Const.of("cpu") if on_host else Ext("device"))
        return NUMBER if name in ("ndim", "size", "nbytes", "itemsize") else UNKNOWN

    def _object_attribute(self, obj: Obj, name: str, node: ast.expr, state: State) -> Values:
        held = state.load(obj.site, name)
        if held:
            return self.as_held(held)
        if obj.cls is not None:
            found = self._class_attribute(obj.cls, name, obj, state)
            if found:
                return self._follow_property(found, node, state)
        if state.holds(obj.site, name) and not obj.outside:
            return UNKNOWN
        if obj.outside or obj.cls is not None:
            path = f"{obj.title or 'object'}.{name}"
            if self.is_trusted(name):
                return self.trusted(path, node)
            return state.load("ext", path) or one(Ext(path))
        return state.load(obj.site, "*") if obj.kind == "object" else UNKNOWN

    def as_held(self, values: Values) -> Values:
        """An attribute read: the object it holds, not the expression that once made it."""
        return frozenset(
            replace(atom, cut=None) if isinstance(atom, Array) and atom.cut is not None else atom
            for atom in values
        )

    def _class_attribute(
        self, cls: ClassInfo, name: str, owner: Obj | None, state: State
    ) -> Values:
        for info in self.project.ancestry(cls):
            if name in info.methods:
                return one(self.bind(info, info.methods[name], owner))
            held = state.load(class_site(info), name)
            if held:
                return self.as_held(held)
        return UNKNOWN

    def bind(self, cls: ClassInfo, node: FunctionNode, owner: Obj | None) -> Func:
        """A method as a value, bound to `owner` unless it is static."""
        marks = {decorator_name(d) for d in node.decorator_list}
        if "staticmethod" in marks:
            return Func(node, cls.module, cls)
        if owner is None:
            kind = "class" if "classmethod" in marks else "unbound"
            owner = Obj(class_site(cls), kind, cls, outside=True, title=cls.name)
            if kind == "unbound":
                return Func(node, cls.module, cls)
        return Func(node, cls.module, cls, owner)

    def _follow_property(self, found: Values, node: ast.expr, state: State) -> Values:
        result: set[Atom] = set()
        for atom in found:
            is_property = isinstance(atom, Func) and any(
                decorator_name(mark) in PROPERTY_WORDS
                for mark in getattr(atom.node, "decorator_list", [])
            )
            if is_property:
                assert isinstance(atom, Func)
                result |= self.invoke(atom, [], {}, state, node)
            else:
                result.add(atom)
        return frozenset(result)

    def store_attribute(self, target: ast.Attribute, values: Values, state: State) -> None:
        """``base.attr = values``."""
        base = self.evaluate(target.value, state)
        text = ast.unparse(target)
        state.bump(text)
        if not base and isinstance(target.value, ast.Name):
            base = one(Obj(self.site(target.value) + ":" + target.value.id, title=""))
            state.env.put(target.value.id, base)
        for atom in base:
            if isinstance(atom, Obj):
                own = atom.site == self.self_site() or _holds(atom.site, "", values, state)
                self.name_buffers(values, text, state)
                state.store(atom.site, target.attr, values, add=len(base) > 1)
                if atom.outside:
                    self.store_escape(values, state, target, text, own=own)
            elif isinstance(atom, Ext | Lib):
                path = atom.path if isinstance(atom, Ext) else atom.name
                own = _holds("ext", f"{path}.", values, state)
                state.store("ext", f"{path}.{target.attr}", values)
                self.store_escape(values, state, target, text, own=own)
            elif isinstance(atom, Cls):
                self.name_buffers(values, text, state)
                state.store(class_site(atom.info), target.attr, values)

    def self_site(self) -> str:
        """The site of the innermost ``self`` that lives outside the walk."""
        for frame in reversed(self.frames):
            if frame.owner is not None:
                return frame.owner.site
        return "?"


def _holds(site: str, prefix: str, values: Values, state: State) -> bool:
    """Whether the object has each lasting buffer of `values` in an attribute already."""
    held = {
        atom.buffer
        for key, inner in state.contents(site)
        if key.startswith(prefix)
        for atom in inner
        if isinstance(atom, Array)
    }
    return bool(held) and all(a.buffer in held for a in arrays(values) if a.buffer.persistent)


def class_site(cls: ClassInfo) -> str:
    """The heap name of a class's own attributes."""
    return f"class:{cls.module.path}:{cls.name}"
