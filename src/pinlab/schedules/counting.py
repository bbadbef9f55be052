"""How many schedules there are, without running them.

A path problem: the state is "how far each stream got"; at every open position the device may make
any number of steps, at a wait it makes those that are needed. For k operations that are all queued
before L positions of one stream this is the binomial coefficient C(L + k, k).
"""

from __future__ import annotations

from collections import Counter

from pinlab.schedules.history import History, Moment

MAX_STATES = 50_000  # states at one position; beyond, the total is not computed


def count_schedules(history: History) -> int | None:
    """The size of the full space, or None if it would take too long to say.

    Exact where every schedule has the trace of the execution that `history` recorded.
    """
    streams = len(history.queues)
    counts: Counter[tuple[int, ...]] = Counter({(0,) * streams: 1})
    for kind, what in history.events:
        if kind == "position" and what.opened:
            counts = _spread(history, what, counts)
            if len(counts) > MAX_STATES:
                return None
        elif kind == "wait":
            counts = _force(history, what, counts)
    return sum(counts.values())


def _spread(
    history: History, moment: Moment, counts: Counter[tuple[int, ...]]
) -> Counter[tuple[int, ...]]:
    """Any number of steps at one position, every order of streams counted."""
    levels: dict[int, Counter[tuple[int, ...]]] = {}
    for state, ways in counts.items():
        levels.setdefault(sum(state), Counter())[state] += ways
    result: Counter[tuple[int, ...]] = Counter()
    level = min(levels)
    while level in levels or any(other > level for other in levels):
        for state, ways in levels.pop(level, Counter()).items():
            result[state] += ways
            for stream in range(len(state)):
                if _may_step(history, moment, state, stream):
                    after = (*state[:stream], state[stream] + 1, *state[stream + 1 :])
                    levels.setdefault(level + 1, Counter())[after] += ways
        level += 1
    return result


def _may_step(history: History, moment: Moment, state: tuple[int, ...], stream: int) -> bool:
    if state[stream] >= history.lengths[stream]:
        return False
    return history.chain(state, stream, state[stream] + 1, moment.position) == (stream,)


def _force(
    history: History, targets: list[tuple[int, int]], counts: Counter[tuple[int, ...]]
) -> Counter[tuple[int, ...]]:
    """What a wait needs, from each state."""
    result: Counter[tuple[int, ...]] = Counter()
    for state, ways in counts.items():
        progress = state
        for stream, steps in targets:
            made = history.chain(progress, stream, steps, _LATEST) or ()
            progress = tuple(n + made.count(s) for s, n in enumerate(progress))
        result[progress] += ways
    return result


_LATEST = (1 << 60, 0)
