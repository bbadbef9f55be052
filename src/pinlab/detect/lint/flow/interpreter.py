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
    Func,
    Values,
)
from pinlab.detect.lint.flow.buffer import Buffer
from pinlab.detect.lint.flow.learning import CONSTRUCTORS, Learning, name_of
from pinlab.detect.lint.flow.modules import ClassInfo, decorator_name
from pinlab.detect.lint.flow.objects import PROPERTY_WORDS
from pinlab.detect.lint.flow.pending import Pending
from pinlab.detect.lint.flow.state import State

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


class Interpreter(Learning):
    """Walks one module and notices what the rules look at."""

    def walk(self) -> None:
        """Everything: module code, classes, functions."""
        relevance = self.project.relevance(self.module)
        if not relevance.any:
            return
        start = self.module_code()
        for info in self.module.classes.values():
            self._walk_class(info, start)
        names = self.module.called
        for name, node in self.module.functions.items():
            if relevance.matters(node) and not (name.startswith("_") and name in names):
                self._repeat(Func(node, self.module), start)

    def class_attributes(self, info: ClassInfo) -> dict[str, Values]:
        """What the instances of `info` hold, by attribute."""
        state = self.class_start(info, self.module_code())
        return dict(state.contents(f"self:{info.name}"))

    # Entering ---------------------------------------------------------------------------

    def _walk_class(self, info: ClassInfo, start: State) -> None:
        relevance = self.project.relevance(self.module)
        if not any(relevance.matters(node) for node in info.methods.values()):
            return
        state = self.class_start(info, start)
        called = self._self_calls(info)
        entries = []
        for func in self.methods_of(info):
            name = name_of(func)
            private = name.startswith("_") and not name.endswith("__")
            if private and name in called:
                continue
            if not self.matters_here(func):
                if relevance.waits(func.node):
                    entries.append(Entry(func, name, state, waits=True))
                continue
            foreign = func.module is not self.module
            self.silent += foreign
            entries.append(self._repeat(func, state))
            self.silent -= foreign
        self._follow_each_other(entries)

    def _self_calls(self, info: ClassInfo) -> set[str]:
        """Private methods that another method of the class calls, or reads as a property.

        A method that only calls itself, in a circle, would be reached by nobody: such a circle
        is cut at its first method.
        """
        methods = {name_of(func): func for func in self.methods_of(info)}
        properties = {name for name, func in methods.items() if _is_property(func.node)}
        uses = {n: self._uses(func, properties) & set(methods) for n, func in methods.items()}
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

    def _uses(self, func: Func, properties: set[str]) -> set[str]:
        assert not isinstance(func.node, ast.Lambda)
        return self.project.relevance(func.module).uses(func.node, properties)

    def _repeat(self, func: Func, start: State) -> Entry:
        """Walk an entry; then again from what it left in flight on memory that outlives it."""
        self.written, self.read_buffers, self.waits_seen = set(), set(), 0
        left = self.enter_at(func, start.copy())
        touched = self.written | self.read_buffers
        entry = Entry(func, name_of(func), left, touched, self.waits_seen > 0)
        again = left.copy()
        self._keep_persistent(again)
        if again.pending and entry.name not in CONSTRUCTORS:
            self.carry(again, f"when `{entry.name}()` is called again")
            self.enter_at(func, again)
        return entry

    def _keep_persistent(self, state: State) -> None:
        state.pending = {k: p for k, p in state.pending.items() if p.buffer.persistent}
        state.age()
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
            begin.age()
            begin.moves = {}
            foreign = second.func.module is not self.module
            self.silent += foreign
            self.enter_at(second.func, begin)
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


def _is_renewed(pending: Pending, fresh: frozenset[Buffer]) -> bool:
    return pending.buffer in fresh or pending.buffer.origin == "download"


def _is_property(node: ast.AST) -> bool:
    marks = getattr(node, "decorator_list", [])
    return any(decorator_name(mark) in PROPERTY_WORDS for mark in marks)
