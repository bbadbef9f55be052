"""Running the program once: a clean device, the schedule's mode, the tracer, the value."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterable
from types import FrameType, ModuleType
from typing import Any

from pinlab import sim
from pinlab.schedules.checkpoint import Checkpoint
from pinlab.schedules.execution import Execution
from pinlab.schedules.program import check_program
from pinlab.schedules.schedule import Position, Schedule
from pinlab.schedules.tracer import Scope, Tracer
from pinlab.schedules.values import Blocked, Outcome, Raised, detached, device_bytes, host_bytes
from pinlab.sim import SimTensor, factories, memory
from pinlab.sim.state import accelerator
from pinlab.sim.untraced import untraced

GRANULARITIES = ("line", "opcode")
# On 3.13 a function's first instructions go unreported in the first call that asks for them; since
# 3.12 tracing works in that way, by instrumentation.
INSTRUMENTED = (3, 12)
GARBAGE = 20_000  # objects; collected between two runs, never within one
# Where a traced line enters the device's own code, which holds no line that counts.
DEVICE_CODE: tuple[tuple[Any, str], ...] = (
    (SimTensor, "handler"),
    (memory, "empty_tensor"),
    (factories, "pin"),
)
OnPosition = Callable[[Execution, FrameType | None], None]


def make_runner(
    program: Callable[[], Any],
    caller: FrameType | None,
    trace: Iterable[Any] = (),
    pieces: int = 1,
    granularity: str = "line",
) -> Runner:
    """What runs `program`; its file and its caller's are the ones whose lines count.

    Raises:
        TypeError, ValueError: naming the argument that is wrong.
        SimError: where the process works on CUDA.
    """
    check_program(program)
    if isinstance(pieces, bool) or not isinstance(pieces, int) or pieces < 1:
        raise ValueError(f"pieces={pieces!r}; it must be a whole number from 1")
    if granularity not in GRANULARITIES:
        raise ValueError(f"granularity={granularity!r}; known are 'line' and 'opcode'")
    if os.environ.get("PINLAB_DEVICE", "sim") == "cuda":
        raise sim.SimError("explore and replay need the simulated device; PINLAB_DEVICE is 'cuda'")
    if isinstance(trace, str | ModuleType) or not isinstance(trace, Iterable):
        raise TypeError(f"trace={trace!r}; it must be a list of functions, classes or modules")
    sim.install()
    return Runner(program, Scope(program, caller, trace), pieces, granularity)


class Runner:
    """Runs one program under many schedules; a context that leaves the device clean.

    Args:
        program: the host program. scope: whose lines count.
        pieces: parts of a copy. granularity: "line" or "opcode".
    """

    def __init__(
        self,
        program: Callable[[], Any],
        scope: Scope,
        pieces: int = 1,
        granularity: str = "line",
    ) -> None:
        self.program = program
        self.scope = scope
        self.pieces = pieces
        self.granularity = granularity
        self.unseen = granularity == "opcode" and sys.version_info >= INSTRUMENTED

    def __enter__(self) -> Runner:
        device = accelerator()
        if device.mode.exclusive:
            raise sim.SimError("explore and replay cannot be used inside an explored program")
        device.wait(device.everything())  # what was queued before, and what went wrong with it
        self.outer = device.mode
        self.traced = [(owner, name, vars(owner)[name]) for owner, name in DEVICE_CODE]
        self.checkpoint = Checkpoint()  # memory to put back before each run
        self.collects = gc.isenabled()
        gc.disable()  # it would free blocks at moments of its own choice
        for owner, name, code in self.traced:
            off = untraced(getattr(owner, name))
            setattr(owner, name, staticmethod(off) if isinstance(code, staticmethod) else off)
        return self

    def __exit__(self, *_: object) -> None:
        for owner, name, code in self.traced:
            setattr(owner, name, code)
        if self.collects:
            gc.enable()
        self._fresh()
        del self.checkpoint

    def _fresh(self) -> None:
        """An empty device, and memory as it was."""
        sim.reset()
        self.checkpoint.restore()

    def run(
        self,
        schedule: Schedule,
        find: bool = False,
        on_position: OnPosition | None = None,
        log: bool = False,
    ) -> tuple[Outcome, Execution]:
        """The outcome under `schedule`, and the execution with what it noticed."""
        if self.unseen:
            self.unseen = False
            self._run(self._execution(Schedule()))
        execution = self._execution(schedule, find)
        execution.on_position = on_position
        execution.log = [] if log else None
        return self._run(execution), execution

    def run_early(self, late: tuple[int, Position] | None = None) -> tuple[Outcome, Execution]:
        """The outcome if every operation runs as soon as it is queued.

        Args:
            late: the number of an operation that waits, with all that must follow it, and the
                position at which it may run.
        """
        execution = self._execution(Schedule())
        execution.early = True
        execution.late = late
        execution.log = []
        return self._run(execution), execution

    def _execution(self, schedule: Schedule, find: bool = False) -> Execution:
        opcodes = self.granularity == "opcode"
        return Execution(schedule, self.scope, self.pieces, opcodes, find)

    def _run(self, execution: Execution) -> Outcome:
        if gc.get_count()[0] > GARBAGE:
            gc.collect()
        self._fresh()
        device = execution.device = accelerator()
        opcodes = self.granularity == "opcode"
        lines = Tracer(self.scope, execution.before_line, execution.after_return, opcodes)
        device.mode = execution
        try:
            returned = lines.run(self.program)
            if lines.lost:
                execution.fail(sim.SimError("the program replaced the line tracer (sys.settrace)"))
            execution.returned()
            value = detached(returned, host_bytes)  # as they are now
            device.wait(device.everything())
            value = detached(value, device_bytes)
        except sim.HeldStreamError as error:
            value = Blocked(str(error.place or "an unknown line"))
        except Exception as error:
            value = Raised(error)
        finally:
            device.mode = self.outer
        if execution.failure is not None:
            raise execution.failure
        return Outcome(value)
