"""What each repair costs: steps of the engine, and the two shipped fixes in nanoseconds and bytes.

One engine serves the same requests with the aliasing batch and with each right one, on a device
that runs by itself. All take turns, and a ratio is that of the quickest rounds, in processor time,
the device's thread included: a busy machine only adds. Steps a second are elapsed time: there a
repair that waits pays for its waits, and a busy machine for what else runs.

The limit for any engine is a loop that only keeps the books, in plain numpy: rows out, rows in,
lengths, the step's tokens in one line.

The shipped fixes (`.copy()` of the numpy face, `.clone()` of the tensor) are timed by themselves,
in processor time of this thread, against the view that each takes the place of.

    python -m benchmarks.bench_serving
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

from benchmarks.row import Row, report
from pinlab import sim
from pinlab.serving import VARIANTS, CachedRequestState, Engine, InputBatch, LookupModel

NAMES = [name for name, variant in VARIANTS.items() if variant.device_reader]
ROWS, TOKENS, HIDDEN = 4, 12, 16
REQUESTS = 4 * 24  # 24 steps, all rows replaced in each
ROUNDS = 16
SIZES = (4, 256)  # rows in use
CALLS, REPEATS = 200, 60


def requests(count: int) -> list[CachedRequestState]:
    """Prompts of 1 … TOKENS tokens, the same on each run."""
    lengths = [1 + (7 * n) % TOKENS for n in range(count)]
    return [CachedRequestState(f"r{n}", [5] * length) for n, length in enumerate(lengths)]


def engine(name: str, model: LookupModel) -> Engine:
    """An engine with all requests queued."""
    made = Engine(model, VARIANTS[name].batch(ROWS, "sim"), "MEAN", ROWS * TOKENS)
    for request in requests(REQUESTS):
        made.add_request(request.req_id, request.prompt_token_ids)
    return made


def seconds_a_step(serving: Engine) -> tuple[float, float]:
    """Serve everything; processor time and elapsed time of a step, the results fetched."""
    steps, cpu, began = 0, time.process_time(), time.perf_counter()
    while serving.step():
        steps += 1
    found = serving.run()
    elapsed, cpu = time.perf_counter() - began, time.process_time() - cpu
    assert len(found) == REQUESTS
    return cpu / steps, elapsed / steps


class Books:
    """The bookkeeping of a step in plain numpy: no torch, no device, no metadata."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.names: list[str] = []
        self.token_ids = np.zeros((rows, TOKENS), dtype=np.int32)
        self.lengths = np.zeros(rows, dtype=np.int32)
        self.computed = np.zeros(rows, dtype=np.int32)

    def step(self, arrived: list[CachedRequestState]) -> np.ndarray:
        """Replace all rows; the step's tokens in one line."""
        self.names = [request.req_id for request in arrived]
        for row, request in enumerate(arrived):
            tokens = request.prompt_token_ids
            self.token_ids[row, : len(tokens)] = tokens
            self.lengths[row] = len(tokens)
            self.computed[row] = 0
        ends = (self.computed + self.lengths)[: len(arrived)]
        return np.concatenate(
            [row[:end] for row, end in zip(self.token_ids, ends.tolist(), strict=False)]
        )


def books_seconds(rows: int) -> float:
    """One step of the books, in processor time of this thread."""
    books, arriving = Books(rows), requests(rows)
    steps = max(CALLS // rows, 4)
    found = []
    for _ in range(REPEATS):
        began = time.thread_time()
        for _ in range(steps):
            books.step(arriving)
        found.append((time.thread_time() - began) / steps)
    return min(found)


def repairs() -> Iterator[Row]:
    """Steps a second of the aliasing batch, each right one against it, and the books' limit."""
    table = torch.arange(10 * HIDDEN, dtype=torch.float32).reshape(10, HIDDEN).to("sim")
    model = LookupModel(table, torch.eye(HIDDEN, device="sim"))
    everyone = ["aliasing", *NAMES]
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in everyone}
    for number in range(ROUNDS + 1):
        shift = number % len(everyone)  # nobody always follows the same one
        for name in [*everyone[shift:], *everyone[:shift]]:
            took = seconds_a_step(engine(name, model))
            if number:  # shapes are inferred in the first round
                found[name].append(took)
    cpu = {name: min(each[0] for each in found[name]) for name in everyone}
    elapsed = {name: statistics.median(each[1] for each in found[name]) for name in everyone}
    for name in NAMES:
        ratio = cpu[name] / cpu["aliasing"]
        yield Row(f"engine step, {name}", ratio, "times the aliasing step", note="processor time")
    for name in everyone:
        note = f"{elapsed['aliasing'] / elapsed[name]:.2f} of the aliasing batch's"
        yield Row(f"engine, {name}", 1 / elapsed[name], "steps a second", "reading", note=note)
    books = books_seconds(ROWS)
    yield Row("books in plain numpy, 4 rows", 1 / books, "steps a second", "reading")
    ratio = cpu["aliasing"] / books
    yield Row("engine step, aliasing", ratio, "times the numpy books", note="processor time")


def seconds_of(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Thread time of a call of each, the quickest of interleaved repeats."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(REPEATS):
        for name, call in calls.items():
            began = time.thread_time()
            for _ in range(CALLS):
                call()
            found[name].append((time.thread_time() - began) / CALLS)
    return {name: min(times) for name, times in found.items()}


def fixes() -> Iterator[Row]:
    """The two shipped fixes: nanoseconds and bytes a step, and the share of a numpy step."""
    for size in SIZES:
        batch = InputBatch(size, "sim", max_model_len=TOKENS)
        face, tensor = batch.num_prompt_tokens, batch.num_prompt_tokens_cpu_tensor
        ways: dict[str, tuple[Callable[[], torch.Tensor], Callable[[], torch.Tensor]]] = {
            ".copy() of the numpy face": (
                lambda face=face, n=size: torch.from_numpy(face[:n]),
                lambda face=face, n=size: torch.from_numpy(face[:n].copy()),
            ),
            ".clone() of the tensor": (
                lambda tensor=tensor, n=size: tensor[:n],
                lambda tensor=tensor, n=size: tensor[:n].clone(),
            ),
        }
        books = books_seconds(size)
        yield Row(f"books in plain numpy, {size} rows", books * 1e9, "ns a step", "reading")
        for words, (view, snapshot) in ways.items():
            took = seconds_of({"view": view, "snapshot": snapshot})
            more, copied = took["snapshot"] - took["view"], snapshot().nbytes
            yield Row(f"{words}, {size} rows", more * 1e9, "ns a step", "reading")
            yield Row(f"{words}, {size} rows: copies", copied, "bytes a step", "exact")
            yield Row(f"{words}, {size} rows: share", more / books, "of a numpy step", at_most=1)


def rows() -> Iterator[Row]:
    """The engine's steps, then the fixes by themselves."""
    sim.install()
    torch.set_num_threads(1)
    yield from repairs()
    yield from fixes()


if __name__ == "__main__":
    sys.exit(report(rows()))
