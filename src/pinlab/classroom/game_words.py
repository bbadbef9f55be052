"""What a move did, or why it cannot be made, in one line."""

from __future__ import annotations

from pinlab.classroom.game_look import Look
from pinlab.schedules import Step


def why_not(look: Look, stream: int) -> str:
    """Why a stream cannot make a step at this position; "" if it can."""
    if look.over:
        return "the program is over, and so is the device's work"
    if stream >= len(look.queues):
        known = ", ".join(map(str, range(len(look.queues))))
        return f"no stream {stream} so far; there is {known}"
    queue = look.queues[stream]
    if queue:
        return f"{queue[0].label} cannot run: {queue[0].blocked}" if queue[0].blocked else ""
    busy = [str(number) for number, other in enumerate(look.queues) if other]
    elsewhere = f"; there is work on stream {', '.join(busy)}" if busy else ""
    return f"nothing is queued on stream {stream}{elsewhere}"


def told(before: Look, after: Look) -> str:
    """What happened between two looks."""
    fresh = after.steps[len(before.steps) :]
    parts = [
        f"stream {step.stream} ran {_label(step, before)}"
        for step in fresh
        if not (step.is_host or step.forced)
    ]
    if not parts:
        parts.append(_host_part(before, after))
    waited = [_label(step, before) for step in fresh if step.forced]
    if waited:
        parts.append(f"the host waited for the device: {', '.join(waited)}")
    if after.over:
        parts.append(f"the program is over: {after.outcome!r}")
    return "; ".join(parts)


def _host_part(before: Look, after: Look) -> str:
    here = before.listings[-1]
    if here.next is None:
        return "the value was read"
    where = f"line {here.next}" + (f" of {here.function}" if before.in_call else "")
    if after.depth > before.depth:
        return f"{where} called {after.listings[-1].function}"
    if after.position[0] == before.position[0] and not after.over:
        return f"a part of {where} ran"
    inside = after.position[0] - before.position[0] - 1
    lines = f"{inside} line{'s' * (inside > 1)}"
    return f"{where} ran" + (f", with {lines} in its calls" if inside > 0 else "")


def _label(step: Step, before: Look) -> str:
    """A device step by the label that it had in its queue."""
    labels = {entry.number: entry.label for queue in before.queues for entry in queue}
    plain = step.name.removeprefix("aten.").split(".")[0]
    label = labels.get(step.number, plain) if step.number is not None else plain
    return f"{label} {step.piece}/{step.pieces}" if step.pieces > 1 else label
