"""What is said when an executor cannot get a portion done."""

from __future__ import annotations

from pinlab.schedules.schedule import Schedule

SHOWN = 3  # schedules


class LostWorkerError(RuntimeError):
    """An executor lost a worker for good, or stopped taking work. `__cause__` is its error."""


def lost(error: BaseException, made: int, given: list[Schedule]) -> LostWorkerError:
    """The error to raise.

    Args:
        error: the executor's.
        made: executions that were answered. given: schedules that were in the workers' hands.
    """
    shown = ", ".join(map(str, given[:SHOWN]))
    more = f" and {len(given) - SHOWN:,} more" if len(given) > SHOWN else ""
    said = str(error).rstrip(".") or repr(error)
    return LostWorkerError(
        f"the executor gave a portion of the search up: {type(error).__name__}: {said}. "
        f"{made:,} executions had been answered; in the workers' hands were the schedules {shown}"
        f"{more}, and what they lead to. If one of them ends its process, replay(program, token) "
        "shows it here; other reasons are memory that ran out, and a script that calls explore "
        'outside if __name__ == "__main__":'
    )
