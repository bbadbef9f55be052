"""Before anything is noticed: what the module's globals and a class's attributes hold."""

from __future__ import annotations

import ast
from dataclasses import replace

from pinlab.detect.lint.flow.atoms import (
    Array,
    Atom,
    Const,
    Ext,
    Func,
    Number,
    Obj,
    Seq,
    Values,
)
from pinlab.detect.lint.flow.buffer import Buffer, Pinned, Where
from pinlab.detect.lint.flow.core import Frame
from pinlab.detect.lint.flow.modules import ClassInfo
from pinlab.detect.lint.flow.state import Env, State, stamp
from pinlab.detect.lint.flow.statements import Statements

CONSTRUCTORS = frozenset({"__init__", "__post_init__", "__new__"})


class Learning(Statements):
    """Walks module code, constructors and methods in silence, and remembers what they store."""

    def module_code(self) -> State:
        state = State()
        self.frames = [Frame(self.module, "<module>")]
        self.epoch = stamp()
        self.run_block(self.module.tree.body, state)
        self._settle(f"module:{self.module.path}", "", state)
        for info in self.module.classes.values():
            self._settle(f"class:{self.module.path}:{info.name}", f"{info.name}.", state)
        return self.fresh_start(state)

    def fresh_start(self, state: State) -> State:
        state.pending, state.events, state.moves = {}, {}, {}
        state.age()
        state.stream, state.alive = "main", True
        state.envs = [Env()]
        return state

    def class_start(self, info: ClassInfo, start: State) -> State:
        """The state in which a method of `info` begins: the attributes are known."""
        state = start.copy()
        obj = self._self_of(info)
        self.silent += 1
        self.learning = True
        try:
            self.frames = [Frame(self.module, info.name, cls=info)]
            self.steps = 0
            for base in self.project.ancestry(info):
                if base.module is not self.module:
                    self.run_class_body(base, state)
            self.construct(obj, info, [], {}, state, info.node)
            built = set(state.fresh)
            self.fresh_start(state)
            for func in self.methods_of(info):
                if name_of(func) not in CONSTRUCTORS and self.matters_here(func):
                    after = self.enter_at(func, state.copy())
                    self._learn(state, after, built)
        finally:
            self.silent -= 1
            self.learning = False
        self._settle(obj.site, "self.", state)
        return self.fresh_start(state)

    def _learn(self, state: State, after: State, built: set[Buffer]) -> None:
        """Attributes that a method assigns are attributes from the start.

        Buffers that the constructor `built` and a method only moves between attributes stay
        where the constructor put them: that is how two buffers take turns.
        """
        changed = [site for site, held in after.heap.items() if state.heap.get(site) is not held]
        for site, key, values in [(s, k, v) for s in changed for k, v in after.contents(s)]:
            before = state.load(site, key)
            if before == values:
                continue
            held = any(isinstance(atom, Array) for atom in before)
            new = frozenset(
                atom
                for atom in values
                if not (held and isinstance(atom, Array) and atom.buffer in built)
            )
            state.store(site, key, new, add=True)

    def _settle(self, site: str, prefix: str, state: State) -> None:
        """Mark what `site` holds as outliving every call, and give it its name."""
        queue = [(site, prefix)]
        seen: set[str] = set()
        while queue:
            site, prefix = queue.pop()
            if site in seen:
                continue
            seen.add(site)
            for key, values in state.contents(site):
                name = prefix.removesuffix(".") + key if key.startswith("[") else prefix + key
                settled = frozenset(self._outside(atom, name, queue) for atom in values)
                _doubt(settled)
                state.store(site, key, settled)

    def _outside(self, atom: Atom, name: str, queue: list[tuple[str, str]]) -> Atom:
        if isinstance(atom, Array):
            atom.buffer.persistent = True
            atom = replace(atom, new=False)
            if atom.cut is None and "." not in atom.buffer.name:
                atom.buffer.name = name.replace("*", "[…]")
        elif isinstance(atom, Obj):
            queue.append((atom.site, name if atom.kind in ("list", "dict") else f"{name}."))
            return atom if atom.outside else replace(atom, outside=True, title=name)
        elif isinstance(atom, Const) and atom.kind in ("int", "float", "str"):
            # Its value when the method begins is anybody's guess.
            return Number() if atom.kind != "str" else Ext(name)
        elif isinstance(atom, Seq):
            return Seq(
                tuple(
                    frozenset(self._outside(inner, name, queue) for inner in item)
                    for item in atom.items
                )
            )
        return atom

    def _self_of(self, info: ClassInfo) -> Obj:
        return Obj(f"self:{info.name}", "self", info, outside=True, title="self")

    def methods_of(self, info: ClassInfo) -> list[Func]:
        """The methods of `info` and its bases, the nearest definition of each."""
        found: dict[str, Func] = {}
        for base in self.project.ancestry(info):
            for name, node in base.methods.items():
                if name not in found:
                    found[name] = self.bind(base, node, self._self_of(info))
        return list(found.values())

    def matters_here(self, func: Func) -> bool:
        return self.project.relevance(func.module).matters(func.node)

    def enter_at(self, func: Func, state: State) -> State:
        """Walk one function as an entry, from `state`."""
        self.frames = []
        self.epoch, self.steps = stamp(), 0
        state.envs = [Env()]
        state.stream, state.alive = "main", True
        frame = self.open_frame(func, state, None)
        frame.shared_names = _global_names(func.node)
        self.frames = [frame]
        self.bind_parameters(func, [], {}, state)
        returned = self.run_function(func, frame, state, func.node)
        self._local_functions(frame, state)
        self.drop_raw(returned, state, func.node)
        return state

    def _local_functions(self, frame: Frame, state: State) -> None:
        """Local functions that nobody called here are called later, and again."""
        for func in frame.local_functions:
            if id(func.node) in frame.called_locals:
                continue
            later = state.copy()
            later.pending = {}
            self.invoke(func, [], {}, later, func.node)
            if later.pending:
                self.carry(later, f"when `{name_of(func)}()` runs again")
                later.age()
                self.invoke(func, [], {}, later, func.node)


def _doubt(values: Values) -> None:
    """An attribute that is pinned on one path only may or may not be pinned."""
    whole = [a.buffer for a in values if isinstance(a, Array) and a.buffer.where is Where.HOST]
    if any(b.pinned is Pinned.NO for b in whole):
        for buffer in whole:
            if buffer.pinned is Pinned.YES:
                buffer.pinned = Pinned.MAYBE


def name_of(func: Func) -> str:
    """The name of a function; lambdas have none."""
    return getattr(func.node, "name", "<lambda>")


def _global_names(node: ast.AST) -> frozenset[str]:
    return frozenset(
        name for part in ast.walk(node) if isinstance(part, ast.Global) for name in part.names
    )
