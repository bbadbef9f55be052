"""An independent count of schedules: walk every path of a script, one step at a time.

A script says what each host line does; device steps may come before any line, and after the last.
It shares no code with `pinlab.schedules`.

``"line"``                  nothing for the device
``"queue s"``               queue an operation of one step on stream s (``"queue s 3"``: of three)
``"record s e"``            record event e on stream s
``"order s e"``             later work of stream s waits for event e
``"wait e"``                the host waits for event e
``"sync"``                  the host waits for everything
``"finish s"``              the host waits for stream s
``"queue s and wait"``      queue an operation and wait for it in the same line
"""

from __future__ import annotations

from functools import cache

# A stream's queue is a tuple of entries: ("work", n), ("record", ticket) or ("after", ticket).
Queue = tuple[tuple[str, int], ...]


def count(script: list[str]) -> int:
    """How many ways there are to place the device's steps between the lines of `script`."""
    lines = tuple(script)
    streams = 1 + max(
        int(words[1])
        for line in lines
        if (words := line.split())[0] in ("queue", "record", "order")
    )

    @cache
    def before(at: int, queues: tuple[Queue, ...], done: frozenset[int], events: Queue) -> int:
        """Ways from the moment before line `at`."""
        ways = 1 if at == len(lines) else _line(at, queues, done, events)
        for stream in range(streams):
            stepped = _step(stream, queues, done)
            if stepped is not None:
                ways += before(at, *stepped, events)
        return ways

    def _line(at: int, queues: tuple[Queue, ...], done: frozenset[int], events: Queue) -> int:
        word, *rest = lines[at].split()
        numbers = [int(text) for text in rest if text.isdigit()]
        recorded = dict(events)
        if word == "queue":
            steps = numbers[1] if len(numbers) > 1 else 1
            queues = _push(queues, numbers[0], *[("work", 0)] * steps)
            if rest[-1] == "wait":
                while queues[numbers[0]]:
                    queues, done = _forced(numbers[0], queues, done)
        elif word == "record":
            queues = _push(queues, numbers[0], ("record", at))
            recorded[str(numbers[1])] = at
            queues, done = _settle(queues, done)
        elif word == "order" and str(numbers[1]) in recorded:
            queues = _push(queues, numbers[0], ("after", recorded[str(numbers[1])]))
            queues, done = _settle(queues, done)
        elif word == "wait" and str(numbers[0]) in recorded:
            while recorded[str(numbers[0])] not in done:
                queues, done = _forced(_holder(recorded[str(numbers[0])], queues), queues, done)
        elif word == "finish":
            while queues[numbers[0]]:
                queues, done = _forced(numbers[0], queues, done)
        elif word == "sync":
            for stream in range(streams):
                while queues[stream]:
                    queues, done = _forced(stream, queues, done)
        return before(at + 1, queues, done, tuple(sorted(recorded.items())))

    return before(0, ((),) * streams, frozenset(), ())


def _push(queues: tuple[Queue, ...], stream: int, *entries: tuple[str, int]) -> tuple[Queue, ...]:
    return (*queues[:stream], queues[stream] + entries, *queues[stream + 1 :])


def _step(
    stream: int, queues: tuple[Queue, ...], done: frozenset[int]
) -> tuple[tuple[Queue, ...], frozenset[int]] | None:
    """One step of a stream, or None if its head is not work."""
    if not queues[stream] or queues[stream][0][0] != "work":
        return None
    return _settle((*queues[:stream], queues[stream][1:], *queues[stream + 1 :]), done)


def _settle(
    queues: tuple[Queue, ...], done: frozenset[int]
) -> tuple[tuple[Queue, ...], frozenset[int]]:
    """Pass the marks at the heads."""
    for stream, queue in enumerate(queues):
        if queue and (queue[0][0] == "record" or (queue[0][0] == "after" and queue[0][1] in done)):
            done |= {queue[0][1]} if queue[0][0] == "record" else frozenset()
            return _settle((*queues[:stream], queue[1:], *queues[stream + 1 :]), done)
    return queues, done


def _holder(ticket: int, queues: tuple[Queue, ...]) -> int:
    """The stream in whose queue a recording stands."""
    return next(s for s, queue in enumerate(queues) if ("record", ticket) in queue)


def _forced(
    stream: int, queues: tuple[Queue, ...], done: frozenset[int]
) -> tuple[tuple[Queue, ...], frozenset[int]]:
    """The step that a wait for `stream` needs next."""
    while queues[stream][0][0] == "after":
        stream = _holder(queues[stream][0][1], queues)
    stepped = _step(stream, queues, done)
    assert stepped is not None
    return stepped
