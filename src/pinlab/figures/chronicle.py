"""A recorded run as numbered steps: what happened after what, without seconds.

Times differ from run to run. The *order* of a run in which nothing runs by itself (modes lazy and
eager, a schedule, ``sim.step``) is always the same, so steps can be printed and compared.

>>> import torch
>>> from pinlab import sim
>>> sim.install()
>>> row = torch.tensor([3, 5, 2], pin_memory=True)
>>> with sim.mode("lazy"), sim.record(row=row) as run:
...     lens = row.to("sim", non_blocking=True)
...     row[0] = 99
...     lens = lens.tolist()
>>> for step in Chronicle(run).steps[:3]:
...     print(step.number, step.who, step.text)
1 host queues copy 1: upload of row, 24 bytes
2 host writes row, which copy 1 has yet to read
3 host queues copy 2: download, 24 bytes
"""

from __future__ import annotations

import math

from pinlab.figures.moments import NAN, Mark, Span, Step
from pinlab.sim import HostEvent, Operation, Place, Recording

HOST = "host"
MANY = 3  # operations named one by one in a wait


class Chronicle:
    """The steps of a recording, and the spans and marks that a timeline draws.

    Attributes:
        steps: everything in order.
        operations, waits, holds: spans, in order of their begin.
        marks: writes, declared reads, notes, events, queries.
        streams: indices of the streams that were used, ascending.
    """

    def __init__(self, run: Recording) -> None:
        self.run = run
        used = [op.stream.index for op in run.operations + run.marks]
        self.streams = sorted(set(used))
        self.steps: list[Step] = []
        self.operations: list[Span] = []
        self.waits: list[Span] = []
        self.holds: list[Span] = []
        self.marks: list[Mark] = []
        self._names = {id(op): f"{_noun(op)} {n}" for n, op in enumerate(run.operations, 1)}
        # What the host did in a line is noted at the latest when the next thing begins, with the
        # same time: it comes first here, and sorting by time keeps that.
        clashes = run.clashes()
        at_once = [event for event in run.host if event.kind != "wait"]
        for event in at_once:
            self._add_event(event, [op for seen, op in clashes if seen is event])
        for number, operation in enumerate(run.operations, 1):
            hit = [at_once.index(event) for event, op in clashes if op is operation]
            self._add_operation(number, operation, [self.marks[k] for k in hit])
        for mark in run.marks:
            self._add_mark(mark)
        for event in run.host:
            if event.kind == "wait":
                self._add_wait(event)
        self._number()

    # -- from the recording -----------------------------------------------------------------------

    def _step(self, who: str, text: str, at: float, place: Place | None = None) -> Step:
        step = Step(who, text, at - self.run.began, place)
        self.steps.append(step)
        return step

    def _times(self, *moments: float) -> tuple[float, float, float]:
        """Seconds since the begin; nan for what came after the end of the recording."""
        cut = (NAN if moment > self.run.ended else moment for moment in moments)
        opened, started, ended = (moment - self.run.began for moment in cut)
        return opened, started, ended

    def _who(self, lane: str, stream: int) -> str:
        return lane if len(self.streams) < 2 else f"{lane} s{stream}"

    def _add_operation(self, number: int, op: Operation, clashes: list[Mark]) -> None:
        name, what = self._names[id(op)], short_name(op)
        buffers = ", ".join(self.run.buffers_of(op))
        text = f"queues {name}: {what}" + (f" of {buffers}" if buffers else "")
        text += f", {op.nbytes} bytes" if op.nbytes else ""
        text += ", staged in the call" if is_staged(op) else ""
        text += f", on stream {op.stream.index}" if len(self.streams) > 1 else ""
        opened = self._step(HOST, text, op.queued, op.queued_at)
        label = f"{number} {what} {buffers or ('staged' if is_staged(op) else '')}".rstrip()
        span = Span(label, op.kind, op.stream.index, opened, clashes=clashes)
        span.times = self._times(op.queued, op.started, op.ended)
        who = self._who(op.lane, op.stream.index)
        if not math.isnan(span.times[1]):
            span.started = self._step(who, f"{name} begins", op.started)
        if not math.isnan(span.times[2]):
            failed = f", and fails: {op.error}" if op.error else ""
            span.ended = self._step(who, f"{name} {_does(op, buffers)}{failed}", op.ended)
        self.operations.append(span)

    def _add_mark(self, mark: Operation) -> None:
        stream = f"stream {mark.stream.index}"
        if mark.kind == "hold":
            opened = self._step(HOST, f"holds {stream}", mark.queued, mark.queued_at)
            span = Span("held", "hold", mark.stream.index, opened)
            span.times = self._times(mark.queued, NAN, mark.ended)
            if not math.isnan(span.times[2]):
                span.ended = self._step(HOST, f"releases {stream}", mark.ended)
            self.holds.append(span)
            return
        text = f"records an event in {stream}"
        if mark.kind == "wait":
            text = f"makes {stream} wait for an event of stream {_awaited(mark)}"
        label = "event" if mark.kind == "record" else f"s{mark.stream.index} waits for event"
        step = self._step(HOST, text, mark.queued, mark.queued_at)
        self.marks.append(Mark("record" if mark.kind == "record" else "order", label, step))

    def _add_event(self, event: HostEvent, hit: list[Operation]) -> None:
        text = {
            "write": f"writes {event.label}",
            "read": f"reads {event.label}",
            "query": f"asks and hears that {self._targets(event)} is done",
            "note": f"notes: {event.label}",
        }[event.kind]
        late = self._named(hit)
        if hit:
            use = {_use(op) for op in hit}
            has = "have" if len(hit) > 1 else "has"
            text += f", which {late} {has} yet to {use.pop() if len(use) == 1 else 'use'}"
        step = self._step(HOST, text, event.time, event.place)
        self.marks.append(Mark(event.kind, event.label, step, late, len(hit)))

    def _add_wait(self, event: HostEvent) -> None:
        text = f"waits for {self._targets(event)}"
        opened = self._step(HOST, text, event.began, event.place)
        ended = self._step(HOST, "goes on", event.time)
        times = self._times(event.began, NAN, event.time)
        self.waits.append(Span("waits", "wait", -1, opened, None, ended, times))

    def _targets(self, event: HostEvent) -> str:
        """The work that a wait is for: by name if it is known, else by stream."""
        wanted = dict(event.targets)
        covered = [op for op in self.run.operations if op.seq <= wanted.get(op.stream.index, 0)]
        streams = [index for index in wanted if index in self.streams] or [0]
        open_ = [op for op in covered if not op.ended <= event.began]
        return self._named(open_) or _joined([f"stream {index}" for index in streams])

    def _named(self, operations: list[Operation]) -> str:
        names = [self._names[id(op)] for op in operations]
        return _joined(names) if len(names) <= MANY else f"{len(names)} operations"

    # -- in order ---------------------------------------------------------------------------------

    def _number(self) -> None:
        """Sort by time, merge a begin with the end that follows it at once, number the rest."""
        self.steps.sort(key=lambda step: step.time)
        after = {id(a): b for a, b in zip(self.steps, self.steps[1:], strict=False)}
        merged = set()
        for span in self.operations + self.waits:
            begin = span.opened if span.kind == "wait" else span.started
            if begin is None or span.ended is None or after.get(id(begin)) is not span.ended:
                continue
            keep, drop = (begin, span.ended) if span.kind == "wait" else (span.ended, begin)
            merged.add(id(drop))
            span.started = span.ended = keep
            span.opened = keep if span.kind == "wait" else span.opened
        self.steps = [step for step in self.steps if id(step) not in merged]
        for number, step in enumerate(self.steps, 1):
            step.number = number

    def __repr__(self) -> str:
        return f"<chronicle: {len(self.steps)} steps, {len(self.operations)} operations>"


def short_name(op: Operation) -> str:
    """``"upload"``, ``"add"``: the operation's name without its torch namespace.

    >>> from pinlab.sim.queue import StreamQueue
    >>> short_name(Operation("aten.add_.Tensor", "kernel", None, None))
    'add_'
    """
    parts = op.name.split(".")
    return parts[1] if len(parts) > 1 else op.name


def _noun(op: Operation) -> str:
    return "kernel" if op.kind == "kernel" else "copy"


def _use(op: Operation) -> str:
    return "write" if op.host_writes else "read"


def is_staged(op: Operation) -> bool:
    """Whether an upload took the host's bytes in the call, so that it reads none when it runs."""
    return op.kind == "upload" and not op.host_reads


def _does(op: Operation, buffers: str) -> str:
    if op.kind == "upload":
        staged = "reads the staged bytes" if is_staged(op) else "runs"
        return f"reads {buffers}" if buffers else staged
    if op.kind == "download":
        return f"writes {buffers}" if buffers else "runs"
    return f"runs {short_name(op)}"


def _awaited(mark: Operation) -> int | str:
    stream = getattr(mark.guard, "stream", None)
    return stream.index if stream is not None else "?"


def _joined(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
