"""How many schedules there are, without running them.

A path problem: the state is "how far each stream got"; at every open position the device may make
any number of steps, at a wait it makes those that are needed. For k operations that are all queued
before L positions of one stream this is the binomial coefficient C(L + k, k).
"""

from __future__ import annotations

from collections import Counter

from pinlab.schedules.history import History, Moment, State
from pinlab.schedules.queued import Point

MAX_STATES = 50_000  # states at one position; beyond, the total is not computed


def count_schedules(history: History) -> int | None:
    """The size of the full space, or None if it would take too long to say.

    Exact where every schedule has the trace of the execution that `history` recorded.
    """
    counts: Counter[State] = Counter({(0,) * len(history.queues): 1})
    for kind, what in history.events:
        if kind == "moment" and what.opened:
            counts = _spread(history, what, counts)
            if len(counts) > MAX_STATES:
                return None
        elif kind == "wait":
            points, position = what
            forced: Counter[State] = Counter()
            for state, ways in counts.items():
                forced[history.forced(state, points, position)] += ways
            counts = forced
    return sum(counts.values())


def _spread(history: History, moment: Moment, counts: Counter[State]) -> Counter[State]:
    """Any number of steps at one position, every order of streams counted."""
    levels: dict[int, Counter[State]] = {}
    for state, ways in counts.items():
        levels.setdefault(sum(state), Counter())[state] += ways
    result: Counter[State] = Counter()
    while levels:
        level = min(levels)
        for state, ways in levels.pop(level).items():
            result[state] += ways
            for stream in range(len(state)):
                one = Point(stream, state[stream] + 1)
                if one.steps > history.lengths[stream]:
                    continue
                if history.chain(state, one, moment.position) == (stream,):
                    after = (*state[:stream], one.steps, *state[stream + 1 :])
                    levels.setdefault(level + 1, Counter())[after] += ways
    return result
