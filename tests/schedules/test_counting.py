"""`report.total` against closed forms, against brute force, and against executions made."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinlab.schedules import Report, explore

from .brute_force import count
from .source_text import compiled

HEAD = """\
def program():
    s0, s1 = gpu.default_stream(), gpu.Stream()
    e0, e1 = gpu.Event(), gpu.Event()
"""
LINES = {
    "line": "pass",
    "queue": "there{0}.copy_(here, non_blocking=True)",
    "record": "e{1}.record(s{0})",
    "order": "s{0}.wait_event(e{1})",
    "wait": "e{0}.synchronize()",
    "sync": "gpu.synchronize()",
    "blocking": "there{0}.copy_(here)",
}


def program_of(script: list[str]) -> Callable[[], Any]:
    """A program whose lines do what the script says (see `brute_force`)."""
    body = []
    for line in script:
        word, *numbers = line.split()
        if word == "queue":
            body.append(f"gpu.set_stream(s{numbers[0]})")
        word = "blocking" if numbers[-1:] == ["wait"] else word
        body.append(LINES[word].format(*numbers))
    text = HEAD + "".join(f"    {line}\n" for line in [*body, "return 0"])
    setup = (
        "here = torch.tensor([1, 2, 3], pin_memory=True)\n"
        "there0, there1 = torch.zeros(2, 3, dtype=torch.int64, device='sim')\n"
    )
    return compiled(setup + text)


def brute(script: list[str], pieces: int = 1) -> int:
    """The count of `program_of(script)`, by brute force."""
    steps: list[str] = []
    for line in script:
        word, *numbers = line.split()
        if word == "queue":
            waits = numbers[-1] == "wait"
            # The default stream is there from the beginning, stream 1 once a step names it.
            others = numbers[0] == "1" or any(f"{name} 1" in step for step in steps
                                              for name in ("queue", "record", "order"))  # fmt: skip
            steps += ["line", f"queue {numbers[0]} {pieces}"]
            if waits and pieces > 1 and others:
                steps.append(f"finish {numbers[0]}")  # other streams come between the parts
            elif waits:
                steps[-1] += " and wait"
        else:
            steps.append(line)
    return count(["line", "line", *steps, "line"])


def full(script: list[str], **options: Any) -> Report:
    """All schedules, made."""
    report = explore(program_of(script), full=True, max_schedules=2_001, **options)
    assert report.complete
    return report


@pytest.mark.parametrize(("uploads", "lines"), [(1, 1), (1, 7), (2, 4), (3, 3), (4, 3), (3, 6)])
def test_one_stream_has_the_binomial_coefficient(uploads: int, lines: int) -> None:
    # The uploads are queued together, by one call, before `lines` positions and a wait.
    text = (
        "here = torch.tensor([1], pin_memory=True)\n"
        "there = torch.zeros(1, dtype=torch.int64, device='sim')\n"
        "def program():\n"
        f"    with sim.hold(): [there.copy_(here, non_blocking=True) for _ in range({uploads})]\n"
        + "    pass\n" * (lines - 1)
        + "    gpu.synchronize()\n"
    )
    report = explore(compiled(text), full=True)
    assert report.explored == report.total == math.comb(lines + uploads, uploads)


@pytest.mark.parametrize("pieces", [2, 3])
def test_a_torn_copy_counts_as_so_many_copies(pieces: int) -> None:
    text = (
        "here = torch.tensor([1, 2, 3], pin_memory=True)\n"
        "there = torch.zeros(3, dtype=torch.int64, device='sim')\n"
        "def program():\n"
        "    there.copy_(here, non_blocking=True)\n"
        "    pass\n"
        "    pass\n"
        "    gpu.synchronize()\n"
    )
    report = explore(compiled(text), full=True, pieces=pieces)
    assert report.explored == report.total == math.comb(3 + pieces, pieces)


@pytest.mark.parametrize(
    "script",
    [
        ["queue 0", "queue 0", "line", "sync"],
        ["queue 0", "line", "queue 0", "line", "line", "sync"],
        ["queue 0", "line", "line"],  # nobody waits
        ["queue 0", "record 0 0", "queue 0", "line", "wait 0", "line", "sync"],
        ["queue 0", "queue 1", "line", "sync"],
        ["queue 0", "queue 1", "queue 0", "sync"],
        ["queue 0", "record 0 0", "order 1 0", "queue 1", "line", "sync"],
        ["queue 0", "record 0 0", "order 1 0", "queue 1", "queue 0", "sync"],
        ["queue 1", "record 1 1", "queue 0", "wait 1", "line", "queue 0 and wait"],
        ["queue 0", "record 0 0", "order 1 0", "record 1 1", "line", "wait 1", "line"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("pieces", [1, 2])
def test_scripts_have_as_many_schedules_as_brute_force_finds(
    script: list[str], pieces: int
) -> None:
    expected = brute(script, pieces)
    report = explore(program_of(script), pieces=pieces)
    assert report.total == expected
    if expected <= 400:
        assert full(script, pieces=pieces).explored == expected


ENTRIES = st.one_of(
    st.just("line"),
    st.sampled_from(["queue 0", "queue 0", "queue 1", "queue 0 and wait", "queue 1 and wait"]),
    st.builds("record {} {}".format, st.integers(0, 1), st.integers(0, 1)),
    st.builds("order {} {}".format, st.integers(0, 1), st.integers(0, 1)),
    st.builds("wait {}".format, st.integers(0, 1)),
    st.just("sync"),
)


@settings(max_examples=60)
@given(st.lists(ENTRIES, min_size=1, max_size=8))
def test_random_scripts_have_as_many_schedules_as_brute_force_finds(script: list[str]) -> None:
    expected = brute(["queue 1 and wait", *script])  # the first names both streams
    report = explore(program_of(["queue 1 and wait", *script]))
    assert report.total == expected


@settings(max_examples=12)
@given(st.lists(ENTRIES, min_size=1, max_size=5))
def test_random_scripts_have_as_many_schedules_as_the_full_search_runs(script: list[str]) -> None:
    script = ["queue 1 and wait", *script]
    expected = brute(script)
    if expected <= 200:
        report = full(script)
        assert report.explored == report.total == expected


@pytest.mark.soak
@settings(max_examples=1_000, derandomize=False)
@given(st.lists(ENTRIES, min_size=1, max_size=9), st.integers(1, 3))
def test_many_random_scripts(script: list[str], pieces: int) -> None:
    script = ["queue 1 and wait", *script]
    expected = brute(script, pieces)
    assert explore(program_of(script), pieces=pieces).total == expected
    if expected <= 2_000:
        assert full(script, pieces=pieces).explored == expected
