"""`fence()`: run a program behind protected pages, again after each line that touched one."""

from __future__ import annotations

import os
import signal

from pinlab import sim
from pinlab.detect.fence.access import Access, Edge
from pinlab.detect.fence.child import Program
from pinlab.detect.fence.mapping import check_available
from pinlab.detect.fence.plan import Died, Ended, Line, Plan
from pinlab.detect.fence.report import FenceReport
from pinlab.detect.fence.run import Run, run_once
from pinlab.schedules.program import check_program
from pinlab.sim.pages import PAGE

MAX_RUNS = 60


def fence(program: Program, *, timeout: float = 60.0) -> FenceReport:
    """Protect pinned pages while a copy uses them; report which host lines touched them.

    The program runs in a child process, on the simulated device begun anew, in the mode that is
    set here, with one thread. While an operation is pending that reads pinned memory, a write to
    its pages stops the child; while one is pending that writes them, so does a read. The line is
    noted, and the child runs again and goes past it, comparing bytes. Nothing that the program
    does to Python objects is seen here afterwards.

    Args:
        program: called without arguments, once a run, up to 60 times; what it does outside its
            process (files, sockets) happens as often.
        timeout: seconds for each run.

    Raises:
        NotImplementedError: anywhere but on 64-bit Linux.
        TypeError: for a program that needs arguments, or is a generator or async.
        RuntimeError: under ``PINLAB_DEVICE=cuda``, or within `explore`.
        TimeoutError: a run did not end in time; it says where its threads stood.

    >>> import torch
    >>> sim.install()
    >>> def program():
    ...     rows = torch.zeros(8, dtype=torch.int32, pin_memory=True)
    ...     lens = rows[:4].to("sim", non_blocking=True)
    ...     rows.numpy()[6] = 40  # not copied, on the same page
    ...     rows.numpy()[2] = 0  # copied, and zero already
    ...     return lens.tolist()
    >>> report = fence(program)
    >>> [(access.verdict, str(access.kind)) for access in report.hits]
    [("the operation's bytes", "write to an upload's source")]
    >>> [access.verdict for access in report.misses]
    ['same page, other bytes']
    """
    check_available()
    check_program(program)
    if not timeout > 0:
        raise ValueError(f"timeout={timeout} s; it must be above 0")
    if not sim.installed() and os.environ.get("PINLAB_DEVICE", "").strip().lower() == "cuda":
        raise RuntimeError("fence needs the simulated device, not PINLAB_DEVICE=cuda")
    search = _Search(Plan())
    while search.runs < MAX_RUNS:
        if search.note(run_once(program, search.plan, timeout), timeout):
            return search.report()
    search.ended = f"stopped after {MAX_RUNS} runs"
    return search.report()


class _Search:
    """What is known after some runs, and what the next one must find out."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.runs = 0
        self.ended = ""
        self.last = Run()
        self.accesses: list[Access] = []
        self.tried: set[tuple[Line, Edge]] = set()

    def note(self, run: Run, timeout: float) -> bool:
        """Take in a run; whether nothing is left to find out."""
        self.runs += 1
        self.last = run
        self.accesses += run.accesses
        if run.late or (run.last is None and run.status == -signal.SIGKILL):
            raise TimeoutError(
                f"the program did not end within {timeout:g} s behind the fence.\n{run.late}"
            )
        more = self._refine(run.accesses)
        if isinstance(run.last, Died):
            line = (run.last.place.filename, run.last.place.lineno)
            (self.plan.opened if run.last.refused else self.plan.compared).add(line)
            self.plan.compared.add(line)
            return False
        if isinstance(run.last, Ended):
            self.ended = run.last.how
        else:
            self.ended = f"killed by signal {-run.status}" if run.status < 0 else "ended at once"
            return True
        return not more

    def _refine(self, accesses: list[Access]) -> bool:
        """After a miss: let a page end where the operation's bytes do, and look again."""
        more = False
        for access in accesses:
            line = (access.accessed_at.filename, access.accessed_at.lineno)
            if access.edge is not None and (line, access.edge) not in self.tried:
                self.tried.add((line, access.edge))
                block, at = access.edge
                self.plan.shifts[block] = -at % PAGE
                more = True
        return more

    def report(self) -> FenceReport:
        """One access for each kind and pair of lines; the one that knows the bytes, if any."""
        hits: dict[object, Access] = {}
        names = {access.pair: access.buffer.name for access in self.accesses if access.buffer.name}
        for access in self.accesses:
            access = access.named(names.get(access.pair, ""))
            key = (access.pair, access.kind)
            if access.hit and (key not in hits or (access.after and not hits[key].after)):
                hits[key] = access
        pairs = {access.pair for access in hits.values()}
        misses: dict[object, Access] = {}
        for access in self.accesses:
            if not access.hit and access.pair not in pairs:
                misses.setdefault(access.pair, access)
        status = self.last.last.status if isinstance(self.last.last, Ended) else 1
        return FenceReport(
            list(hits.values()),
            list(misses.values()),
            self.runs,
            self.ended,
            status,
            self.last.out,
            self.last.err,
        )
