"""Whose lines count, and living next to other tracers."""

from __future__ import annotations

import functools
import os
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch

from pinlab import schedules
from pinlab.schedules import Prefix, explore, replay
from pinlab.schedules.tracer import Scope
from tools.nursery import run_script

from . import helpers_elsewhere as elsewhere
from .source_text import compiled


@dataclass
class Point:
    x: int


def lines_of(program: Callable[[], Any], **options: Any) -> list[str]:
    """The host steps of the latest schedule, as ``function: text``."""
    steps = Prefix(program, **options).end("h", lambda stop: stop.steps)
    return [f"{step.name}: {step.place.source}" for step in steps if step.is_host]


def program() -> Any:
    row = torch.tensor([5, 7], pin_memory=True)
    there = elsewhere.upload_and_rewrite(row, 40)
    return there.tolist()


@functools.wraps(program)
def wrapped() -> Any:
    return program()


def test_lines_of_the_programs_own_module_count() -> None:
    assert [line.split(":")[0] for line in lines_of(program)] == ["program"] * 3


def test_traced_functions_and_modules_count_too() -> None:
    by_function = lines_of(program, trace=[elsewhere.upload_and_rewrite])
    by_module = lines_of(program, trace=[elsewhere])
    assert by_function == by_module
    assert [line.split(":")[0] for line in by_module].count("upload_and_rewrite") == 3


def test_a_helper_of_the_caller_counts() -> None:
    there = compiled("def program(): return use(7)\n")
    there.__globals__["use"] = lambda n: n + 1

    steps = Prefix(there).end("h", lambda stop: stop.steps)
    assert [step.name for step in steps] == ["program", "<lambda>"]


def test_classes_packages_methods_and_partials() -> None:
    scope = Scope(functools.partial(program), None, [Point, schedules])
    assert scope.counts(frame_of(program))
    assert scope.counts(frame_of(schedules.explore))
    assert "Point" in str(scope)

    class Callable_:
        def __call__(self) -> Any:
            return program()

        def run(self) -> Any:
            return program()

    assert explore(Callable_()).explored == 2
    assert explore(Callable_().run).explored == 2
    assert explore(functools.partial(program)).explored == 2
    assert explore(wrapped).explored == 2


def test_generated_code_does_not_count() -> None:
    def make() -> Any:
        return Point(3).x

    assert len(lines_of(make)) == 1


def test_equal_code_elsewhere_does_not_count() -> None:
    twin = types.FunctionType(program.__code__.replace(co_filename="elsewhere.py"), {})
    scope = Scope(program, None, [])
    assert scope.counts(frame_of(program))
    assert not scope.counts(frame_of(twin))


def frame_of(function: Callable[..., Any]) -> FrameType:
    """A stand-in with the two attributes that a scope looks at."""
    return types.SimpleNamespace(  # type: ignore[return-value]
        f_code=function.__code__, f_globals=function.__globals__
    )


def test_the_previous_tracer_is_put_back() -> None:
    def tracer(frame: FrameType, event: str, arg: Any) -> Any:
        return None

    outer = sys.gettrace()
    sys.settrace(tracer)
    try:
        explore(program)
        replay(program, "h")
        with pytest.raises(ValueError, match="nothing of stream 0"):
            replay(program, "h1.d1")
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(outer)


def test_the_devices_own_code_is_traced_again_afterwards() -> None:
    seen = set()

    def tracer(frame: FrameType, event: str, arg: Any) -> Any:
        seen.add(frame.f_code.co_name)

    explore(program)
    outer = sys.gettrace()
    sys.settrace(tracer)
    try:
        torch.zeros(2, device="sim")
    finally:
        sys.settrace(outer)
    assert "dispatch" in seen


@pytest.mark.slow
def test_it_works_under_coverage(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import sys, torch\n"
        "from pinlab import sim\n"
        "from pinlab.schedules import explore\n"
        "sim.install()\n"
        "def program():\n"
        "    row = torch.tensor([5, 7], pin_memory=True)\n"
        "    lens = row.to('sim', non_blocking=True)\n"
        "    row[1] = 40\n"
        "    return lens.tolist()\n"
        "report = explore(program, expect=[5, 7])\n"
        "after = 1\n"
        "print(report.explored, len(report.outcomes), sys.gettrace() is not None)\n"
    )
    environment = {**os.environ, "COVERAGE_CORE": "ctrace"}
    code = "import sys\nfrom coverage.cmdline import main\nsys.exit(main(sys.argv[1:]))"
    run = functools.partial(run_script, code, cwd=tmp_path, env=environment)
    done = run("run", "script.py")
    assert done.stdout.split() == ["2", "2", "True"], done.stderr
    shown = run("report", "-m", "script.py")
    # The lines after the search are measured again; those of the program belong to the explorer.
    assert "6-9" in shown.stdout
    assert "11" not in shown.stdout.split("%")[-1]
