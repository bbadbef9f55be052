"""The engine: plans a step, rewrites the rows, queues the work, and does not wait for it.

One host thread. While the device works on step N, the host already rewrites the rows for step
N + 1; it waits for step N's result only when `max_in_flight` steps are under way. In vLLM planning
and execution are two processes, results go through a third, and the rows live in the second; the
order of the host's writes and of the device's reads is the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np
import torch

from pinlab.serving.input_batch import InputBatch
from pinlab.serving.model import LookupModel
from pinlab.serving.output import AsyncPoolingOutput
from pinlab.serving.pooling import POOLS
from pinlab.serving.request import CachedRequestState
from pinlab.serving.scheduler import Scheduler, SchedulerOutput


class Engine:
    """Serves pooling requests with asynchronous scheduling.

    Args:
        model: what turns token ids into hidden states.
        batch: the rows, of any variant, on the model's device.
        pooling: ``"MEAN"``, ``"LAST"`` or ``"CLS"``. LAST takes long prompts in several steps.
        max_num_batched_tokens: tokens in one step at most.
        max_in_flight: steps whose results the host has not waited for, 2 or more.

    >>> from pinlab import sim
    >>> sim.install()
    >>> table = torch.tensor([[0.0, 2.0], [4.0, 0.0], [8.0, 4.0]], device="sim")
    >>> model = LookupModel(table, torch.eye(2, device="sim"))
    >>> engine = Engine(model, InputBatch(max_num_reqs=2, device="sim"))
    >>> engine.add_request("a", [0, 1])
    >>> engine.add_request("b", [2])
    >>> engine.add_request("c", [1])
    >>> {req_id: vector.tolist() for req_id, vector in engine.run().items()}
    {'a': [2.0, 1.0], 'b': [8.0, 4.0], 'c': [4.0, 0.0]}
    """

    def __init__(
        self,
        model: LookupModel,
        batch: InputBatch,
        pooling: str = "MEAN",
        max_num_batched_tokens: int = 128,
        max_in_flight: int = 2,
    ) -> None:
        if pooling not in POOLS:
            raise ValueError(f"pooling={pooling!r}; known are {', '.join(map(repr, POOLS))}")
        if model.device.type == "cpu":
            raise ValueError("the model is on 'cpu'; the engine needs a device with streams")
        if max_in_flight < 2:
            raise ValueError(f"max_in_flight={max_in_flight}; it must be 2 or more")
        self.model = model
        self.batch = batch
        self.pool = POOLS[pooling]()
        self.scheduler = Scheduler(
            batch.max_num_reqs, max_num_batched_tokens, self.pool.takes_partial_prompts
        )
        self.max_in_flight = max_in_flight
        self.in_flight: deque[AsyncPoolingOutput] = deque()
        self.outputs: dict[str, torch.Tensor] = {}
        self._known: set[str] = set()
        self._copy_stream = torch.get_device_module(model.device).Stream()

    def add_request(self, req_id: str, prompt_token_ids: Iterable[int]) -> None:
        """Queue a request.

        Raises `ValueError`, and queues nothing, for an id that was used before, a prompt that is
        empty, longer than a row or (in MEAN and CLS) than a step, and unknown tokens.
        """
        if req_id in self._known:
            raise ValueError(f"request {req_id!r} exists already")
        request = CachedRequestState(req_id, np.asarray(prompt_token_ids))
        tokens = self.batch.checked_tokens(request)
        if (highest := int(tokens.max())) >= self.model.num_tokens:
            raise ValueError(
                f"request {req_id!r}: token {highest}; the model knows 0 … "
                f"{self.model.num_tokens - 1}"
            )
        self.scheduler.add_request(request)
        self._known.add(req_id)

    def run(self) -> dict[str, torch.Tensor]:
        """Serve everything that is queued; return the vector of each request, [hidden] float32."""
        while self.step():
            pass
        while self.in_flight:
            self._collect()
        outputs, self.outputs = self.outputs, {}
        return outputs

    def step(self) -> bool:
        """Queue one step. It may wait for the result of an earlier one, never for its own.

        Returns whether there was anything to do.
        """
        if not self.scheduler.has_requests:
            return False
        while len(self.in_flight) >= self.max_in_flight:
            self._collect()
        plan = self.scheduler.schedule()
        self.batch.begin_update()
        self._update_states(plan)
        self.in_flight.append(self._execute(plan))
        self.scheduler.update_after_schedule(plan)
        return True

    def _update_states(self, plan: SchedulerOutput) -> None:
        """Rewrite the rows: out with what is not in this step, in with what is new, close gaps."""
        batch = self.batch
        for req_id in batch.req_ids:
            if req_id not in plan.num_scheduled_tokens:
                batch.remove_request(req_id)
        for request in plan.requests:
            if request.req_id in batch.req_id_to_index:
                row = batch.req_id_to_index[request.req_id]
                batch.num_computed_tokens[row] = request.num_computed_tokens
            else:
                batch.add_request(request)
        batch.condense()

    def _execute(self, plan: SchedulerOutput) -> AsyncPoolingOutput:
        """Queue the step's work: first the model, behind it the pooling, last the result's copy."""
        batch = self.batch
        scheduled = np.array([plan.num_scheduled_tokens[req_id] for req_id in batch.req_ids])
        computed = batch.num_computed_tokens[: batch.num_reqs]
        hidden_states = self.model(self._input_ids(scheduled, computed))
        metadata = batch.get_pooling_metadata()
        metadata.build_pooling_cursor(scheduled, computed + scheduled, self.model.device)
        pooled = self.pool(hidden_states, metadata)
        finished_mask = metadata.finished_mask()
        batch.end_step(metadata)
        return AsyncPoolingOutput(pooled, metadata.req_ids, finished_mask, self._copy_stream)

    def _input_ids(self, scheduled: np.ndarray, computed: np.ndarray) -> torch.Tensor:
        """The step's tokens in one line, [sum of scheduled] int32, on the device.

        Fresh pinned memory for every step, so that no later step can write to it. (vLLM reuses
        one pinned buffer and waits for an event before it writes to it again.)
        """
        ends = computed + scheduled
        parts = [
            row[start:end]
            for row, start, end in zip(self.batch.token_ids, computed, ends, strict=False)
        ]
        input_ids = torch.from_numpy(np.concatenate(parts)).pin_memory()
        return input_ids.to(self.model.device, non_blocking=True)

    def _collect(self) -> None:
        self.outputs.update(self.in_flight.popleft().get_output())

    def __repr__(self) -> str:
        waiting = len(self.scheduler.waiting) + len(self.scheduler.running)
        return (
            f"<Engine, {self.pool}, {type(self.batch).__name__}: {waiting} requests to serve, "
            f"{len(self.in_flight)} steps in flight>"
        )
