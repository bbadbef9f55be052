"""Streams, events and waits: what takes a copy off the list of those in flight."""

from __future__ import annotations

import ast
from dataclasses import replace

from pinlab.detect.lint.flow.atoms import NONE, UNKNOWN, Event, Stream, Values, one
from pinlab.detect.lint.flow.core import Core
from pinlab.detect.lint.flow.pending import Pending
from pinlab.detect.lint.flow.state import State

EVERY_STREAM = ""


class Waits(Core):
    """The host waits; streams wait for each other; events remember what lay before them."""

    def wait_all(self, state: State, *, certain: bool = True) -> None:
        """A device-wide wait, or one that cannot be told from it."""
        self._drop(state, list(state.pending), certain=certain)

    def wait_stream(self, state: State, token: str, *, certain: bool = True) -> None:
        """The host waits for one stream. The token ``""`` is a stream not known: all."""
        if token == EVERY_STREAM or state.stream == EVERY_STREAM:
            self.wait_all(state, certain=certain)
            return
        covered = [
            key
            for key, p in state.pending.items()
            if token in p.streams or EVERY_STREAM in p.streams
        ]
        self._drop(state, covered, certain=certain)

    def wait_event(self, state: State, event: Event) -> None:
        """The host waits for an event: for what was queued before its last ``record()``.

        An event of which no record is in sight gets the benefit of the doubt.
        """
        covered = state.events.get(event.site)
        if covered is None:
            self.wait_all(state)
        else:
            self._drop(state, [key for key in covered if key in state.pending], certain=True)

    def _drop(self, state: State, keys: list[str], *, certain: bool) -> None:
        self.waits_seen += certain
        if certain:
            state.drop_pending(keys)
            return
        for key in keys:
            state.put_pending(replace(state.pending[key], waited=True))

    def record(self, state: State, event: Event, token: str | None = None) -> None:
        """``event.record()`` on the current stream or on `token`."""
        on = state.stream if token is None else token
        covered = frozenset(
            key
            for key, p in state.pending.items()
            if EVERY_STREAM in (on, *p.streams) or on in p.streams
        )
        if event.many:
            covered |= state.events.get(event.site, frozenset())
        state.put_event(event.site, covered)

    def order_streams(self, state: State, waiter: str, keys: list[str]) -> None:
        """`waiter` runs after the copies `keys`: waiting for it then covers them too."""
        for key in keys:
            p = state.pending.get(key)
            if p is not None:
                state.put_pending(replace(p, streams=p.streams | {waiter}))

    def queue_copy(self, pending: Pending, state: State) -> None:
        """A new copy in flight; no earlier record of any event covers it."""
        state.put_pending(pending)
        for site, covered in state.events.items():
            if pending.key in covered:
                state.put_event(site, covered - {pending.key})

    # Calls ------------------------------------------------------------------------------

    def stream_method(
        self, stream: Stream, name: str, args: list[Values], node: ast.Call, state: State
    ) -> Values:
        """A method of a stream object."""
        if name in ("synchronize", "query"):
            self.wait_stream(state, stream.token)
        elif name == "wait_stream":
            for other in _streams(args[:1]):
                keys = [k for k, p in state.pending.items() if other.token in p.streams]
                self.order_streams(state, stream.token, keys)
        elif name == "wait_event":
            for event in _events(args[:1]):
                keys = list(state.events.get(event.site, state.pending))
                self.order_streams(state, stream.token, keys)
        elif name == "record_event":
            events = _events(args[:1]) or [Event(self.site(node))]
            for event in events:
                self.record(state, event, stream.token)
            return frozenset(events)
        elif name == "__enter__":
            state.stream = stream.token
        return UNKNOWN

    def event_method(
        self, event: Event, name: str, args: list[Values], kwargs: dict[str, Values], state: State
    ) -> Values:
        """A method of an event object."""
        if name == "record":
            given = _streams([*args[:1], *kwargs.values()])
            self.record(state, event, given[0].token if given else None)
        elif name in ("synchronize", "query"):
            self.wait_event(state, event)
        elif name == "wait":
            # The current (or given) stream waits, not the host.
            given = _streams([*args[:1], *kwargs.values()])
            token = given[0].token if given else state.stream
            keys = list(state.events.get(event.site, state.pending))
            self.order_streams(state, token, keys)
        return UNKNOWN

    def stream_call(
        self, name: str, args: list[Values], node: ast.Call, state: State
    ) -> Values | None:
        """``Stream()``, ``Event()``, ``current_stream()`` and the like, by last name."""
        if name in ("Stream", "ExternalStream"):
            return one(Stream(self.site(node)))
        if name == "Event":
            event = Event(self.site(node))
            # Made here and not yet recorded: waiting for it waits for nothing.
            state.put_event(event.site, frozenset())
            return one(event)
        if name == "current_stream":
            return one(Stream(state.stream))
        if name == "default_stream":
            return one(Stream("main"))
        if name in ("stream", "StreamContext"):
            return frozenset(_streams(args[:1])) or one(Stream(f"?{self.site(node)}"))
        if name == "set_stream":
            given = _streams(args[:1])
            state.stream = given[0].token if given else f"?{self.site(node)}"
            return NONE
        if name == "synchronize":
            streams = _streams(args[:1])
            for stream in streams:
                self.wait_stream(state, stream.token)
            if not streams:
                self.wait_all(state)
            return NONE
        return None


def _streams(values: list[Values]) -> list[Stream]:
    return [atom for group in values for atom in group if isinstance(atom, Stream)]


def _events(values: list[Values]) -> list[Event]:
    return [atom for group in values for atom in group if isinstance(atom, Event)]
