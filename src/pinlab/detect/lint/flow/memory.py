"""Host reads and host writes of memory that a copy in flight uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from pinlab.detect.lint.flow.atoms import Array, Atom, Func, Obj, Seq, Values, arrays
from pinlab.detect.lint.flow.buffer import Where
from pinlab.detect.lint.flow.occurrences import HostRead, HostWrite, RawDrop
from pinlab.detect.lint.flow.pending import Pending
from pinlab.detect.lint.flow.region import is_column
from pinlab.detect.lint.flow.state import State, stamp
from pinlab.detect.lint.flow.waits import Waits


class Memory(Waits):
    """What the host does to bytes, held against the copies in flight."""

    def write(self, values: Values, state: State, node: ast.AST, how: str) -> None:
        """The host writes through each array of `values`."""
        for array in arrays(values):
            buffer = array.buffer
            if buffer.where is Where.DEVICE:
                continue
            self.written.add(buffer)
            if not array.sure:
                continue
            for pending in state.pending.values():
                # Write and copy both inside one call into another file: that file's finding.
                here = not self.abroad or pending.place != self.place_in_file(node)
                if here and pending.meets(array):
                    self.notice(HostWrite(self.spot(node), array, how, pending))

    def read(
        self, values: Values, state: State, node: ast.AST, how: str, *, certain: bool = True
    ) -> None:
        """The host reads, or (not `certain`) passes on, each array of `values`."""
        if not state.pending and self.silent:
            return
        for array in arrays(values):
            self.read_buffers.add(array.buffer)
            for pending in state.in_flight(array, up=False):
                self.notice(HostRead(self.spot(node), array, how, pending, certain))

    def read_inside(self, values: Values, state: State, node: ast.AST, how: str) -> None:
        """The host reads everything that `values` contain."""
        self.read(frozenset(self.flatten(values, state)), state, node, how)

    def hand_on(self, values: Values, state: State, node: ast.AST, how: str) -> None:
        """A download's destination leaves the sight of the walk before the wait."""
        if state.pending:
            inside = frozenset(self.flatten(values, state))
            if not any(_is_event(atom) for atom in inside):
                self.read(inside, state, node, how, certain=False)

    def upload(
        self, source: Array, state: State, node: ast.AST, *, sure: bool, raw: bool = False
    ) -> None:
        """A copy queued that reads `source`, pinned host memory, later; a column is read now."""
        for early in state.in_flight(source, up=False):
            if state.stream and state.stream not in early.streams and "" not in early.streams:
                how = "uploaded on a stream that does not wait for the download"
                self.notice(HostRead(self.spot(node), source, how, early, True))
        if raw or not is_column(source.region):  # torch packs a column on the host, at the call
            self._queue(source, state, node, up=True, sure=sure, raw=raw)

    def download(self, target: Array, state: State, node: ast.AST, *, sure: bool) -> None:
        """A copy queued that writes `target`, pinned host memory, later."""
        self._queue(target, state, node, up=False, sure=sure, raw=False)

    def _queue(
        self, array: Array, state: State, node: ast.AST, *, up: bool, sure: bool, raw: bool
    ) -> None:
        key = f"{self.site(node)}:{array.buffer.site}:{'up' if up else 'down'}"
        pending = Pending(
            key=key,
            buffer=array.buffer,
            region=array.region,
            slot=array.slot,
            up=up,
            place=self.place_in_file(node),
            streams=frozenset({state.stream}),
            stamp=stamp(),
            sure=sure,
            raw=raw,
        )
        old = state.pending.get(key)
        if old is not None and raw and array.buffer in state.fresh and not old.waited:
            self.notice(RawDrop(self.spot(node), old))
        self.queue_copy(pending, state)

    def drop_raw(self, kept: Values, state: State, node: ast.AST) -> None:
        """At the end of a function: temporaries that a raw copy still reads die here."""
        inside = {atom.buffer for atom in self.flatten(kept, state) if isinstance(atom, Array)}
        for pending in state.pending.values():
            buffer = pending.buffer
            lost = pending.raw and not pending.waited and not buffer.persistent
            if lost and buffer in state.fresh and buffer not in inside | state.kept:
                self.notice(RawDrop(self.spot(node), pending))

    def flatten(self, values: Values, state: State, depth: int = 6) -> Iterator[Atom]:
        """The atoms of `values` and of everything inside local containers and closures."""
        seen: set[str] = set()
        stack: list[tuple[Values, int]] = [(values, depth)]
        while stack:
            group, left = stack.pop()
            for atom in group:
                yield atom
                if left == 0:
                    continue
                if isinstance(atom, Seq):
                    stack.extend((item, left - 1) for item in atom.items)
                elif isinstance(atom, Obj) and not atom.outside and atom.site not in seen:
                    seen.add(atom.site)
                    stack.extend((inner, left - 1) for _, inner in state.contents(atom.site))
                elif isinstance(atom, Func) and atom.owner is None:
                    stack.append((self.captured(atom, state), left - 1))

    def captured(self, func: Func, state: State) -> Values:
        """What a local function or lambda holds on to: the outer names that it reads."""
        if not func.closure:
            return frozenset()
        names = self.free_names.get(func.node)
        if names is None:
            names = self.free_names[func.node] = _free_names(func.node)
        env = self.closure_env(func, state)
        return frozenset().union(*(env.get(name, frozenset()) for name in names))

    def closure_env(self, func: Func, state: State) -> dict[str, Values]:
        """The outer names as `func` sees them now."""
        if func.closure == self.frame.number:
            return state.env.names
        env = self.closures.get(func.closure)
        return env.names if env is not None else {}

    def carry(self, state: State, how: str) -> None:
        """Mark what is in flight as left over from an earlier call."""
        for p in state.pending.values():
            state.put_pending(replace(p, carried=how))


def _is_event(atom: Atom) -> bool:
    return type(atom).__name__ == "Event"


def _free_names(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    """The names that a function reads and does not take as parameters."""
    bound = {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
    read = {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
    }
    return frozenset(read - bound)
