"""The state of the walk: names, contents of objects, copies in flight, events.

States are copied at every branch; `joining` brings them together again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

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
    """The local names of one function call and the version of each; shared until written."""

    names: dict[str, Values] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    entry: int = field(default_factory=stamp)
    shared: bool = False

    def copy(self) -> Env:
        self.shared = True
        return Env(self.names, self.versions, self.entry, True)

    def bind(self, name: str, values: Values) -> None:
        self.own()
        self.names[name] = values
        self.versions[name] = stamp()

    def put(self, name: str, values: Values) -> None:
        """Change what is known of `name` without a new version of it."""
        self.own()
        self.names[name] = values

    def drop(self, name: str) -> None:
        if name in self.names:
            self.own()
            del self.names[name]

    def own(self) -> None:
        """Stop sharing the tables, before a change."""
        if self.shared:
            self.names, self.versions = dict(self.names), dict(self.versions)
            self.shared = False


Heap = dict[str, dict[str, Values]]
"""What each object holds, by its site. An inner table is replaced, never changed."""


@dataclass(frozen=True, slots=True)
class RowMove:
    """``m[left] = m[right]`` was just executed; `holders` are names that view ``m[left]``."""

    buffer: Buffer
    left: Region
    right: Region
    line: int


class State:
    """Everything that is known at one point of the walk.

    Copying is cheap, because every table is replaced rather than changed (`heap` and the names
    of an `Env` are copied before the first change).

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
        "made",
        "moves",
        "pending",
        "stream",
    )

    def __init__(self) -> None:
        self.envs: list[Env] = [Env()]
        self.heap: Heap = {}
        self.pending: dict[str, Pending] = {}
        self.events: dict[str, frozenset[str]] = {}
        self.attr_versions: dict[str, int] = {}
        # Made since the walk began: on every path that leads here, and on some path.
        self.fresh: frozenset[Buffer] = frozenset()
        self.made: frozenset[Buffer] = frozenset()
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
        other.pending, other.events, other.moves = self.pending, self.events, self.moves
        other.attr_versions = self.attr_versions
        other.fresh, other.made, other.kept = self.fresh, self.made, self.kept
        other.stream, other.alive = self.stream, self.alive
        return other

    def become(self, other: State) -> None:
        """Take over everything of `other`, which is not used afterwards."""
        for slot in self.__slots__:
            setattr(self, slot, getattr(other, slot))

    def age(self) -> None:
        """A new call begins: nothing in sight was made by it."""
        self.fresh = self.made = self.kept = frozenset()

    def load(self, site: str, key: str) -> Values:
        held = self.heap.get(site)
        return UNKNOWN if held is None else held.get(key, UNKNOWN)

    def holds(self, site: str, key: str) -> bool:
        """True if `key` was ever stored, with whatever value."""
        return key in self.heap.get(site, ())

    def store(self, site: str, key: str, values: Values, *, add: bool = False) -> None:
        self._own()
        held = self.heap.get(site, {})
        old = held.get(key, UNKNOWN) if add else UNKNOWN
        self.heap[site] = {**held, key: old | values}

    def _own(self) -> None:
        if not self._owned:
            self.heap, self._owned = dict(self.heap), True

    def contents(self, site: str) -> list[tuple[str, Values]]:
        """Everything that the object of `site` is seen to hold."""
        return list(self.heap.get(site, {}).items())

    def clear(self, site: str) -> None:
        """Forget the contents: a new object is made at the same place."""
        if site in self.heap:
            self._own()
            del self.heap[site]

    def put_pending(self, pending: Pending) -> None:
        """Add a copy in flight, or change what is known of one."""
        self.pending = {**self.pending, pending.key: pending}

    def drop_pending(self, keys: Iterable[str]) -> None:
        gone = set(keys)
        if gone:
            self.pending = {k: p for k, p in self.pending.items() if k not in gone}

    def put_event(self, site: str, covered: frozenset[str] | None) -> None:
        """What an event's last record covers; None: no record is in sight."""
        self.events = {k: v for k, v in self.events.items() if k != site}
        if covered is not None:
            self.events[site] = covered

    def put_move(self, move: RowMove) -> None:
        self.moves = {**self.moves, move.buffer.site: move}

    def in_flight(self, array: Array, *, up: bool) -> list[Pending]:
        """The copies of one direction that surely touch `array`'s elements."""
        return [p for p in self.pending.values() if p.up is up and p.meets(array)]

    def bump(self, path: str) -> None:
        self.attr_versions = {**self.attr_versions, path: stamp()}
