"""The state of the walk: names, contents of objects, copies in flight, events.

States are copied at every branch; the tables are shared until one side writes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from pinlab.detect.lint.flow.atoms import UNKNOWN, Array, Values
from pinlab.detect.lint.flow.buffer import Buffer
from pinlab.detect.lint.flow.pending import Pending
from pinlab.detect.lint.flow.region import Region

_stamps = itertools.count(1)


def stamp() -> int:
    """A number not used before: versions of names, ages of copies."""
    return next(_stamps)


@dataclass(slots=True)
class Env:
    """The local names of one function call and the version of each."""

    names: dict[str, Values] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    entry: int = field(default_factory=stamp)

    def copy(self) -> Env:
        return Env(dict(self.names), dict(self.versions), self.entry)

    def bind(self, name: str, values: Values) -> None:
        self.names[name] = values
        self.versions[name] = stamp()


HeapKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class RowMove:
    """``m[left] = m[right]`` was just executed; `holders` are names that view ``m[left]``."""

    buffer: Buffer
    left: Region
    right: Region
    line: int


class State:
    """Everything that is known at one point of the walk.

    >>> state = State()
    >>> state.env.bind("x", UNKNOWN)
    >>> state
    <State alive, 1 names, 0 copies in flight>
    """

    __slots__ = (
        "_owned",
        "alive",
        "attr_versions",
        "envs",
        "events",
        "fresh",
        "heap",
        "kept",
        "moves",
        "pending",
        "stream",
    )

    def __init__(self) -> None:
        self.envs: list[Env] = [Env()]
        self.heap: dict[HeapKey, Values] = {}
        self.pending: dict[str, Pending] = {}
        self.events: dict[str, frozenset[str]] = {}
        self.attr_versions: dict[str, int] = {}
        self.fresh: frozenset[Buffer] = frozenset()
        self.kept: frozenset[Buffer] = frozenset()
        self.moves: dict[str, RowMove] = {}
        self.stream = "main"
        self.alive = True
        self._owned = True

    def __repr__(self) -> str:
        return (
            f"<State {'alive' if self.alive else 'dead'}, {len(self.env.names)} names, "
            f"{len(self.pending)} copies in flight>"
        )

    @property
    def env(self) -> Env:
        return self.envs[-1]

    def copy(self) -> State:
        other = State.__new__(State)
        other.envs = [env.copy() for env in self.envs]
        other.heap = self.heap
        self._owned = other._owned = False
        other.pending = dict(self.pending)
        other.events = dict(self.events)
        other.attr_versions = dict(self.attr_versions)
        other.fresh, other.kept = self.fresh, self.kept
        other.moves = dict(self.moves)
        other.stream, other.alive = self.stream, self.alive
        return other

    def become(self, other: State) -> None:
        """Take over everything of `other`, which is not used afterwards."""
        for slot in self.__slots__:
            setattr(self, slot, getattr(other, slot))

    def load(self, site: str, key: str) -> Values:
        return self.heap.get((site, key), UNKNOWN)

    def store(self, site: str, key: str, values: Values, *, add: bool = False) -> None:
        if not self._owned:
            self.heap, self._owned = dict(self.heap), True
        old = self.heap.get((site, key), UNKNOWN) if add else UNKNOWN
        self.heap[site, key] = old | values

    def contents(self, site: str) -> list[tuple[str, Values]]:
        """Everything that the object of `site` is seen to hold."""
        return [(key, values) for (owner, key), values in self.heap.items() if owner == site]

    def clear(self, site: str) -> None:
        """Forget the contents: a new object is made at the same place."""
        stale = [key for key in self.heap if key[0] == site]
        if stale and not self._owned:
            self.heap, self._owned = dict(self.heap), True
        for key in stale:
            del self.heap[key]

    def in_flight(self, array: Array, *, up: bool) -> list[Pending]:
        """The copies of one direction that surely touch `array`'s elements."""
        return [p for p in self.pending.values() if p.up is up and p.meets(array)]

    def bump(self, path: str) -> None:
        self.attr_versions[path] = stamp()


def join(base: State, states: Iterable[State]) -> State:
    """One state for the point where the live ones of `states` meet again.

    A copy that was in flight at `base` and is not in every state was waited for on some path
    only: it stays, marked `waited`. A copy queued on one path stays as it is.
    """
    live = [state for state in states if state.alive]
    if not live:
        dead = base.copy()
        dead.alive = False
        return dead
    if len(live) == 1:
        return live[0]
    result = live[0].copy()
    for other in live[1:]:
        _merge_names(result, other)
        _merge_heap(result, other)
        for key, covered in other.events.items():
            result.events[key] = result.events.get(key, frozenset()) | covered
        for path, version in other.attr_versions.items():
            if result.attr_versions.get(path) != version:
                result.attr_versions[path] = stamp()
        result.fresh &= other.fresh
        result.kept |= other.kept
        result.moves = {k: v for k, v in result.moves.items() if other.moves.get(k) == v}
        if result.stream != other.stream:
            result.stream = ""
    result.pending = _merge_pending(base, live)
    return result


def _merge_names(result: State, other: State) -> None:
    for mine, theirs in zip(result.envs, other.envs, strict=True):
        for name, values in theirs.names.items():
            mine.names[name] = mine.names.get(name, UNKNOWN) | values
        for name, version in theirs.versions.items():
            if mine.versions.get(name) != version:
                mine.versions[name] = stamp()


def _merge_heap(result: State, other: State) -> None:
    if result.heap is other.heap:
        return
    for (site, key), values in other.heap.items():
        if result.heap.get((site, key)) != values:
            result.store(site, key, values, add=True)


def _merge_pending(base: State, live: list[State]) -> dict[str, Pending]:
    merged: dict[str, Pending] = {}
    for key in {key: None for state in live for key in state.pending}:
        found = [state.pending[key] for state in live if key in state.pending]
        newest = max(found, key=lambda p: p.stamp)
        before = base.pending.get(key)
        lost = len(found) < len(live) and before is not None and before.stamp == newest.stamp
        waited = lost or all(p.waited for p in found)
        streams = frozenset().union(*(p.streams for p in found))
        merged[key] = replace(newest, waited=waited, streams=streams)
    return merged
