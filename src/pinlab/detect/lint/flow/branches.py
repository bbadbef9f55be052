"""Branches and loops: where states part and meet again."""

from __future__ import annotations

import ast
from dataclasses import replace

from pinlab.detect.lint.flow.assignments import Assignments
from pinlab.detect.lint.flow.atoms import Array, Event, Stream
from pinlab.detect.lint.flow.core import Loop
from pinlab.detect.lint.flow.joining import join
from pinlab.detect.lint.flow.state import State


class Branches(Assignments):
    """``if``, ``for``, ``while``, ``match``, ``try``."""

    def run_if(self, node: ast.If, state: State) -> None:
        test = self.evaluate(node.test, state)
        self.read(test, state, node.test, "tested")
        known = self.decided(node.test, test, state)
        base, other = state.copy(), state.copy()
        absent = self._absent_guard(node.test, state) if known is None else None
        if absent is not None:
            # Without the event there is nothing to wait for: the walk takes the author's word
            # that no copy is then in flight, and only notes it.
            _waited(state if absent else other)
        if known is not False:
            self.run_block(node.body, state)
        else:
            state.alive = False
        if known is not True:
            self.run_block(node.orelse, other)
        else:
            other.alive = False
        state.become(join(base, [state.copy(), other]))

    def _absent_guard(self, test: ast.expr, state: State) -> bool | None:
        """True: the body runs when an event or stream is None; False: when it is there."""
        negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        if negated:
            inner = self._absent_guard(test.operand, state)  # type: ignore[attr-defined]
            return None if inner is None else not inner
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            right = test.comparators[0]
            to_none = isinstance(right, ast.Constant) and right.value is None
            if to_none and self._is_guard(test.left, state):
                return isinstance(test.ops[0], ast.Is | ast.Eq)
            return None
        return False if self._is_guard(test, state) else None

    def _is_guard(self, node: ast.expr, state: State) -> bool:
        if not isinstance(node, ast.Name | ast.Attribute):
            return False
        values = self.evaluate(node, state)
        if any(isinstance(atom, Event | Stream) for atom in values):
            return True
        word = node.attr if isinstance(node, ast.Attribute) else node.id
        return "event" in word.lower()

    # Loops ------------------------------------------------------------------------------

    def run_for(self, node: ast.For | ast.AsyncFor, state: State) -> None:
        source = self.evaluate(node.iter, state)
        self.read(source, state, node.iter, "read by iterating")

        def enter(inside: State) -> None:
            self.assign(node.target, self.elements(source, node.iter, inside), inside)

        self._loop(node.body, node.orelse, state, enter)

    def run_while(self, node: ast.While, state: State) -> None:
        def enter(inside: State) -> None:
            self.read(self.evaluate(node.test, inside), inside, node.test, "tested")

        forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
        self._loop(node.body, node.orelse, state, enter, forever=forever)

    def _loop(
        self,
        body: list[ast.stmt],
        orelse: list[ast.stmt],
        state: State,
        enter: object,
        *,
        forever: bool = False,
    ) -> None:
        """Walk the body twice, so that the second pass sees what the first left in flight.

        A loop is taken to run at least once: ``for ev in events: ev.synchronize()`` waits.
        """
        assert callable(enter)
        before = state.copy()
        breaks: list[State] = []
        ends: list[State] = []
        for _ in range(2):
            loop = Loop()
            self.frame.loops.append(loop)
            enter(state)
            self.run_block(body, state)
            self.frame.loops.pop()
            breaks.extend(loop.breaks)
            state.become(join(before, [state.copy(), *loop.continues]))
            if not state.alive:
                break
            ends.append(state.copy())
            if not self._worth_another_pass(state):
                break
        after = ends[-1:] if not forever else []
        if after and not forever:
            enter(after[0])
        leaving = join(before, [*after, *breaks])
        if not leaving.alive and not forever:
            leaving = before.copy()
        elif leaving.alive:
            leaving = _with_names(leaving, [before, *ends])
        if orelse and leaving.alive:
            self.run_block(orelse, leaving)
        state.become(leaving)

    def _worth_another_pass(self, state: State) -> bool:
        """The next pass can notice more only about what this one left behind."""
        if self.learning:
            return False
        if state.pending:
            return True
        return any(
            isinstance(atom, Array) and atom.buffer.persistent
            for values in state.env.names.values()
            for atom in values
        )

    # Match and try ----------------------------------------------------------------------

    def run_match(self, node: ast.Match, state: State) -> None:
        self.read(self.evaluate(node.subject, state), state, node.subject, "tested")
        base = state.copy()
        states = [state.copy()]
        for case in node.cases:
            inside = base.copy()
            self.run_block(case.body, inside)
            states.append(inside)
            if isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None:
                states = states[1:] if case.guard is None else states
        state.become(join(base, states))

    def run_try(self, node: ast.Try | ast.TryStar, state: State) -> None:
        base = state.copy()
        frame = self.frame
        exits_before = len(frame.exits)
        loop = frame.loops[-1] if frame.loops else None
        marks = (len(loop.breaks), len(loop.continues)) if loop is not None else (0, 0)
        self.run_block(node.body, state)
        states: list[State] = []
        for handler in node.handlers:
            caught = join(base, [base.copy(), state.copy()])
            if not caught.alive:
                caught = base.copy()
            self.run_block(handler.body, caught)
            states.append(caught)
        self.run_block(node.orelse, state)
        state.become(join(base, [state.copy(), *states]))
        if not node.finalbody:
            return
        leaving = frame.exits[exits_before:]
        if loop is not None:
            leaving += loop.breaks[marks[0] :] + loop.continues[marks[1] :]
        for early in leaving:
            early.alive = True
            self.run_block(node.finalbody, early)
        if state.alive:
            self.run_block(node.finalbody, state)


def _waited(state: State) -> None:
    for pending in state.pending.values():
        state.put_pending(replace(pending, waited=True))


def _with_names(leaving: State, others: list[State]) -> State:
    """The names and contents that the loop may not have reached, without their copies."""
    kept = leaving.pending, leaving.events, leaving.moves, leaving.fresh
    fresh = leaving.fresh.intersection(*(state.fresh for state in others[1:]))
    result = join(leaving, [leaving, *(state for state in others if state.alive)])
    result.pending, result.events, result.moves, _ = kept
    result.fresh = fresh
    return result
