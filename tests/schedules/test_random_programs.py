"""Random programs: the reduced search sees what the full one sees, and what chance sees."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pinlab.schedules import Report, explore, replay
from pinlab.schedules.values import Outcome

from .free_walk import walk
from .random_programs import sources
from .source_text import compiled

SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


def compare(source: str, limit: int, pieces: int = 1, walks: int = 5) -> Report:
    """Check one program; skip it if it has more than `limit` schedules."""
    program = compiled(source)
    full = explore(program, full=True, max_schedules=limit, pieces=pieces)
    assume(full.complete)
    reduced = explore(program, pieces=pieces)
    assert reduced.complete
    assert set(reduced.outcomes) == set(full.outcomes)
    assert reduced.explored <= full.explored
    assert full.total in (None, full.explored)
    assert reduced.total in (None, full.explored)
    for outcome, ways in reduced.outcomes.items():
        assert Outcome(replay(program, str(ways[0]), pieces=pieces)) == outcome
    for seed in range(walks if pieces == 1 else 0):
        assert walk(program, seed) in reduced.outcomes
    return reduced


@settings(max_examples=25, suppress_health_check=SLOW)
@given(sources(1, 4))
def test_the_reduced_search_misses_nothing(source: str) -> None:
    compare(source, limit=40)


@settings(max_examples=6, suppress_health_check=SLOW)
@given(sources(1, 3))
def test_the_reduced_search_misses_nothing_in_torn_copies(source: str) -> None:
    compare(source, limit=40, pieces=2)


@pytest.mark.soak
@settings(max_examples=1_000, derandomize=False, suppress_health_check=SLOW)
@given(sources(2, 6), st.integers(1, 2))
def test_thousands_of_random_programs(source: str, pieces: int) -> None:
    compare(source, limit=2_000, pieces=pieces, walks=50)
