"""Timeline: one lane for the host, one for copies, one for kernels; what was in flight, and when.

A light bar reaches from the line that queued an operation to the end of it: as long as it lasts the
operation still has to use its bytes. The solid part is where it ran. A host access to those bytes
inside a bar is crossed out. With several streams each has its own pair of lanes.
"""

from __future__ import annotations

from pinlab.figures.chronicle import Chronicle
from pinlab.figures.lanes import Page
from pinlab.figures.pen import drawn
from pinlab.figures.style import Drawing, house_style
from pinlab.sim import Recording

LIMIT = 60  # operations; more do not fit on a page
AXES = ("steps", "time")
PAGE, TEXT, SOURCE = 104, 60, 24  # characters: of a line of the twin, its step, its source
SENTENCES = 2  # clashes told one by one in the alt text


@house_style
def timeline(run: Recording, axis: str = "steps") -> Drawing:
    """Draw what was recorded with ``sim.record()``.

    Args:
        run: a recording with 1 to 60 operations.
        axis: ``"steps"`` puts everything in order, a column for each step, and is the same in every
            run of modes lazy and eager; ``"time"`` shows this run's milliseconds.

    >>> import torch
    >>> from pinlab import sim
    >>> sim.install()
    >>> row = torch.tensor([3, 5, 2], pin_memory=True)
    >>> with sim.mode("lazy"), sim.record(row=row) as run:
    ...     lens = row.to("sim", non_blocking=True)
    ...     row[0] = 99
    >>> timeline(run).alt
    'Timeline of 1 operation on 1 stream in 2 steps. The host writes row while copy 1 is in flight.'
    """
    if axis not in AXES:
        raise ValueError(f"axis={axis!r}; known are 'steps' and 'time'")
    if not 1 <= len(run.operations) <= LIMIT:
        count = len(run.operations)
        raise ValueError(f"timeline draws 1 to {LIMIT} operations, got {count}: record less")
    told = Chronicle(run)
    drawing = drawn(Page(told, in_time=axis == "time"))
    return drawing.described(twin=timeline_twin(run), alt=timeline_alt(run))


def timeline_twin(run: Recording) -> list[str]:
    """The steps in order, as lines of text; no times, because they differ from run to run."""
    told = Chronicle(run)
    who = max(len(step.who) for step in told.steps)
    what = min(TEXT, max(len(step.text) for step in told.steps if step.place))
    lines = [f"timeline: {_size(told)}"]
    for step in told.steps:
        mark = "!" if any(m.clash and m.step is step for m in told.marks) else " "
        text = f"{step.number:2} {mark} {step.who:{who}}  {step.text:{what}}  "
        room = max(SOURCE, PAGE - len(text))
        source = step.line if len(step.line) <= room else step.line[: room - 1] + "…"
        lines.append((text + source).rstrip())
    return lines


def timeline_alt(run: Recording) -> str:
    """One line: how much was recorded, and whether the host touched bytes in flight."""
    told = Chronicle(run)
    text = f"Timeline of {_size(told)}."
    hits = [mark for mark in told.marks if mark.clash]
    for mark in hits[:SENTENCES]:
        verb = "is" if mark.hits == 1 else "are"
        text += f" The host {mark.kind}s {mark.label} while {mark.late} {verb} in flight."
    if len(hits) > SENTENCES:
        text += f" So it does {len(hits) - SENTENCES} more times."
    return text if hits else text + " The host touches no bytes in flight."


def _size(told: Chronicle) -> str:
    counts = (len(told.operations), len(told.streams), len(told.steps))
    names = ("operation", "stream", "step")
    ops, streams, steps = (
        f"{n} {name}" + "s" * (n != 1) for n, name in zip(counts, names, strict=True)
    )
    return f"{ops} on {streams} in {steps}"
