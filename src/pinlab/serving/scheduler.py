"""Which requests share a step, and how many tokens of each it takes.

The decision rests on the requests and the number of the step, never on time and never on what the
device has finished. So it is the same in every run, and a score that differs between two runs
cannot come from another grouping.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from pinlab.serving.request import CachedRequestState


@dataclass(frozen=True)
class SchedulerOutput:
    """One step's plan: the requests in it and the tokens that each of them may use."""

    step: int
    requests: list[CachedRequestState]
    num_scheduled_tokens: dict[str, int]

    def __repr__(self) -> str:
        plan = ", ".join(f"{req_id}: {n}" for req_id, n in self.num_scheduled_tokens.items())
        return f"<step {self.step}: {plan or 'nothing'}>"


class Scheduler:
    """First come, first served, within a number of requests and of tokens a step.

    Args:
        max_num_reqs: requests in one step at most.
        max_num_batched_tokens: tokens in one step at most.
        chunked_prefill: whether a prompt may be spread over several steps.

    Requests that are under way come before those that wait. (vLLM also weighs cache blocks and
    priorities, and may take a request out of the batch for a while.)

    >>> scheduler = Scheduler(max_num_reqs=2, max_num_batched_tokens=8, chunked_prefill=True)
    >>> for name, length in [("a", 5), ("b", 5), ("c", 1)]:
    ...     scheduler.add_request(CachedRequestState(name, [7] * length))
    >>> while scheduler.has_requests:
    ...     plan = scheduler.schedule()
    ...     print(plan)
    ...     scheduler.update_after_schedule(plan)
    <step 0: a: 5, b: 3>
    <step 1: b: 2, c: 1>
    """

    def __init__(
        self, max_num_reqs: int, max_num_batched_tokens: int, chunked_prefill: bool
    ) -> None:
        if max_num_reqs < 1:
            raise ValueError(f"max_num_reqs={max_num_reqs}; at least 1")
        if max_num_batched_tokens < 1:
            raise ValueError(f"max_num_batched_tokens={max_num_batched_tokens}; at least 1")
        self.max_num_reqs = max_num_reqs
        self.max_num_batched_tokens = max_num_batched_tokens
        self.chunked_prefill = chunked_prefill
        self.step = 0
        self.waiting: deque[CachedRequestState] = deque()
        self.running: list[CachedRequestState] = []  # begun, not yet scheduled to the end

    @property
    def has_requests(self) -> bool:
        """Whether there is anything left to schedule."""
        return bool(self.waiting or self.running)

    def add_request(self, request: CachedRequestState) -> None:
        """Queue a request.

        Raises `ValueError` for a prompt that no step could take whole, and for a request that no
        step has anything left to do for: no plan would ever hold it.
        """
        length = request.num_prompt_tokens
        if request.num_computed_tokens >= length:
            raise ValueError(
                f"request {request.req_id!r}: {request.num_computed_tokens} of its {length} tokens "
                "are computed, so nothing is left to schedule; make a new CachedRequestState"
            )
        if not self.chunked_prefill and length > self.max_num_batched_tokens:
            raise ValueError(
                f"request {request.req_id!r}: {length} tokens must be in one step, "
                f"and a step takes {self.max_num_batched_tokens}"
            )
        self.waiting.append(request)

    def schedule(self) -> SchedulerOutput:
        """Plan the next step; nothing changes yet but its number."""
        plan = SchedulerOutput(self.step, [], {})
        budget = self.max_num_batched_tokens
        for request in [*self.running, *self.waiting]:
            tokens = self._tokens_for(request, budget)
            if tokens == 0 or len(plan.requests) == self.max_num_reqs:
                break
            plan.requests.append(request)
            plan.num_scheduled_tokens[request.req_id] = tokens
            budget -= tokens
        self.step += 1
        return plan

    def update_after_schedule(self, plan: SchedulerOutput) -> None:
        """Count the plan's tokens as computed, although the device may not have begun.

        This is what makes the scheduling asynchronous: the next step is planned on it.
        """
        for request in plan.requests:
            request.num_computed_tokens += plan.num_scheduled_tokens[request.req_id]
            if self.waiting and self.waiting[0] is request:
                self.running.append(self.waiting.popleft())
        self.running = [r for r in self.running if r.num_computed_tokens < r.num_prompt_tokens]

    def _tokens_for(self, request: CachedRequestState, budget: int) -> int:
        wanted = request.num_prompt_tokens - request.num_computed_tokens
        if self.chunked_prefill:
            return min(wanted, budget)
        return wanted if wanted <= budget else 0
