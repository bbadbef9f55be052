"""Where branches meet: one state out of several."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pinlab.detect.lint.flow.pending import Pending
from pinlab.detect.lint.flow.state import State, stamp


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
        _merge_events(result, other)
        _merge_versions(result, other)
        if result.fresh is not other.fresh:
            result.fresh &= other.fresh
        if result.made is not other.made:
            result.made |= other.made
        if result.kept is not other.kept:
            result.kept |= other.kept
        if result.moves is not other.moves:
            result.moves = {k: v for k, v in result.moves.items() if other.moves.get(k) == v}
        if result.stream != other.stream:
            result.stream = ""
    result.pending = _merge_pending(base, live)
    return result


def _merge_names(result: State, other: State) -> None:
    for mine, theirs in zip(result.envs, other.envs, strict=True):
        if mine.names is theirs.names:
            continue
        mine.own()
        for name, values in theirs.names.items():
            known = mine.names.get(name)
            if known != values:
                mine.names[name] = values if known is None else known | values
        for name, version in theirs.versions.items():
            if mine.versions.get(name) != version:
                mine.versions[name] = stamp()


def _merge_heap(result: State, other: State) -> None:
    if result.heap is other.heap:
        return
    for site, theirs in other.heap.items():
        mine = result.heap.get(site)
        if mine is theirs:
            continue
        for key, values in theirs.items():
            if mine is None or mine.get(key) != values:
                result.store(site, key, values, add=True)


def _merge_events(result: State, other: State) -> None:
    if result.events is other.events:
        return
    merged = dict(result.events)
    for key, covered in other.events.items():
        merged[key] = merged.get(key, frozenset()) | covered
    result.events = merged


def _merge_versions(result: State, other: State) -> None:
    if result.attr_versions is other.attr_versions:
        return
    merged = dict(result.attr_versions)
    for path, version in other.attr_versions.items():
        if merged.get(path) != version:
            merged[path] = stamp()
    result.attr_versions = merged


def _merge_pending(base: State, live: list[State]) -> dict[str, Pending]:
    if all(state.pending is live[0].pending for state in live):
        return live[0].pending
    merged: dict[str, Pending] = {}
    for key in {key: None for state in live for key in state.pending}:
        found = [state.pending[key] for state in live if key in state.pending]
        newest = max(found, key=lambda p: p.stamp)
        before = base.pending.get(key)
        lost = before is not None and before.stamp == newest.stamp
        lost = lost and any(_waited_in(state, newest, base) for state in live)
        waited = lost or any(p.waited for p in found)
        streams = frozenset().union(*(p.streams for p in found))
        same = waited == newest.waited and streams == newest.streams
        merged[key] = newest if same else replace(newest, waited=waited, streams=streams)
    return merged


def _waited_in(state: State, pending: Pending, base: State) -> bool:
    """The copy ended on this path, and not because its buffer was made anew."""
    renewed = pending.buffer in state.fresh and pending.buffer not in base.fresh
    return pending.key not in state.pending and not renewed
