"""The walk over one module: which functions are entered, in which state, how often.

Three things are learned before anything is noticed: the module's globals, and for each class
what its attributes hold (its constructor is walked, then its other methods). Then each entry is
walked once, and once more from what it left in flight: a method is called again. Last, a
method may follow another one of its class.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

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
from pinlab.detect.lint.flow.modules import ClassInfo, decorator_name
from pinlab.detect.lint.flow.objects import PROPERTY_WORDS
from pinlab.detect.lint.flow.pending import Pending
from pinlab.detect.lint.flow.state import Env, State, stamp
from pinlab.detect.lint.flow.statements import Statements

CONSTRUCTORS = frozenset({"__init__", "__post_init__", "__new__"})
# Called between runs, not between steps: a write there is only worth a note.
QUIET_METHODS = frozenset(
    "reset close clear shutdown warmup warm_up cleanup free __del__ __exit__ stop".split()
)


@dataclass
class Entry:
    """One walked method: what it left in flight, and what the host touched in it."""

    func: Func
    name: str
    left: State
    touched: set[Buffer] = field(default_factory=set)
    waits: bool = False


class Interpreter(Statements):
    """Walks one module and notices what the rules look at."""

    def walk(self) -> None:
        """Everything: module code, classes, functions."""
        relevance = self.project.relevance(self.module)
        if not relevance.any:
            return
        start = self._module_code()
        for info in self.module.classes.values():
            self._walk_class(info, start)
        names = _called_names(self.module.tree, ast.Name)
        for name, node in self.module.functions.items():
            if relevance.matters(node) and not (name.startswith("_") and name in names):
                self._repeat(Func(node, self.module), start)

    def class_attributes(self, info: ClassInfo) -> dict[str, Values]:
        """What the instances of `info` hold, by attribute."""
        state = self._class_start(info, self._module_code())
        return dict(state.contents(f"self:{info.name}"))

    # Learning ---------------------------------------------------------------------------

    def _module_code(self) -> State:
        state = State()
        self.frames = [Frame(self.module, "<module>")]
        self.epoch = stamp()
        self.run_block(self.module.tree.body, state)
        self._settle(f"module:{self.module.path}", "", state)
        for info in self.module.classes.values():
            self._settle(f"class:{self.module.path}:{info.name}", f"{info.name}.", state)
        return self._fresh_start(state)

    def _fresh_start(self, state: State) -> State:
        state.pending, state.events, state.moves = {}, {}, {}
        state.fresh, state.kept = frozenset(), frozenset()
        state.stream, state.alive = "main", True
        state.envs = [Env()]
        return state

    def _class_start(self, info: ClassInfo, start: State) -> State:
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
            self._fresh_start(state)
            for func in self._methods(info):
                if _name(func) not in CONSTRUCTORS and self._matters_here(func):
                    after = self._enter_at(func, state.copy())
                    self._learn(state, after, built)
        finally:
            self.silent -= 1
            self.learning = False
        self._settle(obj.site, "self.", state)
        return self._fresh_start(state)

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

    def _methods(self, info: ClassInfo) -> list[Func]:
        """The methods of `info` and its bases, the nearest definition of each."""
        found: dict[str, Func] = {}
        for base in self.project.ancestry(info):
            for name, node in base.methods.items():
                if name not in found:
                    found[name] = self.bind(base, node, self._self_of(info))
        return list(found.values())

    # Entering ---------------------------------------------------------------------------

    def _walk_class(self, info: ClassInfo, start: State) -> None:
        relevance = self.project.relevance(self.module)
        if not any(relevance.matters(node) for node in info.methods.values()):
            return
        state = self._class_start(info, start)
        called = self._self_calls(info)
        entries = []
        for func in self._methods(info):
            name = _name(func)
            private = name.startswith("_") and not name.endswith("__")
            if private and name in called:
                continue
            if not self._matters_here(func):
                if relevance.waits(func.node):
                    entries.append(Entry(func, name, state, waits=True))
                continue
            foreign = func.module is not self.module
            self.silent += foreign
            entries.append(self._repeat(func, state))
            self.silent -= foreign
        self._follow_each_other(entries)

    def _matters_here(self, func: Func) -> bool:
        return self.project.relevance(func.module).matters(func.node)

    def _self_calls(self, info: ClassInfo) -> set[str]:
        """Private methods that another method of the class calls, or reads as a property.

        A method that only calls itself, in a circle, would be reached by nobody: such a circle
        is cut at its first method.
        """
        methods = {_name(func): func.node for func in self._methods(info)}
        properties = {name for name, node in methods.items() if _is_property(node)}
        uses = {n: _self_uses(node, properties) & set(methods) for n, node in methods.items()}
        public = [n for n in methods if not n.startswith("_") or n.endswith("__")]
        called = set().union(*uses.values()) if uses else set()
        queue = public + [name for name in methods if name not in called]
        reached: set[str] = set()
        for root in [*queue, *methods]:
            if root in reached:
                continue
            if root not in queue:
                called.discard(root)
            stack = [root]
            while stack:
                name = stack.pop()
                if name not in reached:
                    reached.add(name)
                    stack.extend(uses[name])
        return called

    def _repeat(self, func: Func, start: State) -> Entry:
        """Walk an entry; then again from what it left in flight on memory that outlives it."""
        self.written, self.read_buffers, self.waits_seen = set(), set(), 0
        left = self._enter_at(func, start.copy())
        touched = self.written | self.read_buffers
        entry = Entry(func, _name(func), left, touched, self.waits_seen > 0)
        again = left.copy()
        self._keep_persistent(again)
        if again.pending and entry.name not in CONSTRUCTORS:
            self.carry(again, f"when `{entry.name}()` is called again")
            self._enter_at(func, again)
        return entry

    def _keep_persistent(self, state: State) -> None:
        state.pending = {k: p for k, p in state.pending.items() if p.buffer.persistent}
        state.fresh, state.kept = frozenset(), frozenset()
        state.moves = {}

    def _follow_each_other(self, entries: list[Entry]) -> None:
        """One method leaves a copy in flight, another one touches the same memory."""
        for second in entries:
            if second.name in CONSTRUCTORS:
                continue
            left: dict[str, Pending] = {}
            begin: State | None = None
            for first in entries:
                if first is not second and first.name not in CONSTRUCTORS:
                    mine = self._left_for(first, second, entries)
                    if mine:
                        left |= mine
                        begin = begin or first.left.copy()
            if begin is None:
                continue
            begin.pending = left
            begin.fresh, begin.kept, begin.moves = frozenset(), frozenset(), {}
            foreign = second.func.module is not self.module
            self.silent += foreign
            self._enter_at(second.func, begin)
            self.silent -= foreign

    def _left_for(self, first: Entry, second: Entry, entries: list[Entry]) -> dict[str, Pending]:
        """The copies that `first` leaves in flight on memory that `second` touches."""
        elsewhere = any(e.waits for e in entries if e is not first and e is not second)
        quiet = elsewhere or second.name in QUIET_METHODS
        how = f"when `{second.name}()` follows `{first.name}()`"
        # An attribute that each call binds to new memory may be bound again before `second`.
        renewed = first.left.fresh
        return {
            key: replace(p, carried=how, waited=p.waited or quiet or _is_renewed(p, renewed))
            for key, p in first.left.pending.items()
            if p.buffer.persistent and p.buffer in second.touched
        }

    def _enter_at(self, func: Func, state: State) -> State:
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
                self.carry(later, f"when `{_name(func)}()` runs again")
                later.fresh = frozenset()
                self.invoke(func, [], {}, later, func.node)


def _is_renewed(pending: Pending, fresh: frozenset[Buffer]) -> bool:
    return pending.buffer in fresh or pending.buffer.origin == "download"


def _doubt(values: Values) -> None:
    """An attribute that is pinned on one path only may or may not be pinned."""
    whole = [a.buffer for a in values if isinstance(a, Array) and a.buffer.where is Where.HOST]
    if any(b.pinned is Pinned.NO for b in whole):
        for buffer in whole:
            if buffer.pinned is Pinned.YES:
                buffer.pinned = Pinned.MAYBE


def _name(func: Func) -> str:
    return getattr(func.node, "name", "<lambda>")


def _global_names(node: ast.AST) -> frozenset[str]:
    return frozenset(
        name for part in ast.walk(node) if isinstance(part, ast.Global) for name in part.names
    )


def _called_names(node: ast.AST, kind: type[ast.Name] | type[ast.Attribute]) -> set[str]:
    """Names called as ``name(…)``, or as ``self.name(…)``."""
    found = set()
    for part in ast.walk(node):
        if not isinstance(part, ast.Call):
            continue
        func = part.func
        if kind is ast.Name and isinstance(func, ast.Name):
            found.add(func.id)
        elif kind is ast.Attribute and isinstance(func, ast.Attribute):
            found.add(func.attr)
    return found


def _self_uses(node: ast.AST, properties: set[str]) -> set[str]:
    """Methods called as ``anything.name(…)``, and properties read through ``self``."""
    found = _called_names(node, ast.Attribute)
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr in properties:
            found.add(part.attr)
    return found


def _is_property(node: ast.AST) -> bool:
    marks = getattr(node, "decorator_list", [])
    return any(decorator_name(mark) in PROPERTY_WORDS for mark in marks)
