"""Small programs that put a batch to the test: pool a step, rewrite its rows, read the result.

Each takes a batch class and returns a program without arguments for the explorer. The rows of the
scenario hold few tokens, chosen so that every mean is exact and no wrong length gives a right one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch

from pinlab.serving.input_batch import InputBatch
from pinlab.serving.metadata import PoolingMetadata
from pinlab.serving.pooling import MeanPool
from pinlab.serving.request import CachedRequestState

Program = Callable[[], list[float]]
A = (10, 10)
B = (20, 20, 20, 20)
C = (40,) * 8
D = (80,)


def pool_step(batch: InputBatch) -> tuple[torch.Tensor, PoolingMetadata]:
    """Queue mean pooling of all rows, [num_reqs, 1] on the device; a token's vector is its id."""
    lengths = batch.num_prompt_tokens[: batch.num_reqs].tolist()
    tokens = np.concatenate([batch.token_ids[row, :n] for row, n in enumerate(lengths)])
    hidden_states = torch.from_numpy(tokens).float().unsqueeze(1)
    hidden_states = hidden_states.to(batch.device, non_blocking=True)  # pageable, so taken now
    metadata = batch.get_pooling_metadata()
    metadata.build_pooling_cursor(np.array(lengths), np.array(lengths), batch.device)
    pooled = MeanPool()(hidden_states, metadata)
    batch.end_step(metadata)
    return pooled, metadata


def three_requests(batch_cls: type[InputBatch], device: torch.device | str) -> InputBatch:
    """A batch with a, b and c in rows 0, 1 and 2, of 2, 4 and 8 tokens; 4 rows of 8."""
    batch = batch_cls(4, device, max_model_len=8)
    batch.begin_update()
    batch.add_request(CachedRequestState("a", A))
    batch.add_request(CachedRequestState("b", B))
    batch.add_request(CachedRequestState("c", C))
    return batch


def condense_and_add(batch_cls: type[InputBatch], device: torch.device | str = "sim") -> Program:
    """b leaves, c moves into its row, d takes c's."""

    def program() -> list[float]:
        batch = three_requests(batch_cls, device)
        pooled, _ = pool_step(batch)
        batch.begin_update()
        batch.remove_request("b")
        batch.condense()
        batch.add_request(CachedRequestState("d", D))
        return pooled.flatten().tolist()

    return program


def replace_all(batch_cls: type[InputBatch], device: torch.device | str = "sim") -> Program:
    """All leave and others take their rows, as in a rerank."""

    def program() -> list[float]:
        batch = three_requests(batch_cls, device)
        pooled, _ = pool_step(batch)
        batch.begin_update()
        for req_id in ("a", "b", "c"):
            batch.remove_request(req_id)
        batch.add_request(CachedRequestState("d", D))
        batch.add_request(CachedRequestState("e", A))
        batch.condense()
        return pooled.flatten().tolist()

    return program


def swap(batch_cls: type[InputBatch], device: torch.device | str = "sim") -> Program:
    """The first and the last request change places."""

    def program() -> list[float]:
        batch = three_requests(batch_cls, device)
        pooled, _ = pool_step(batch)
        batch.begin_update()
        batch.swap_states(0, 2)
        return pooled.flatten().tolist()

    return program


def grow(batch_cls: type[InputBatch], device: torch.device | str = "sim") -> Program:
    """a comes again with a longer prompt."""

    def program() -> list[float]:
        batch = three_requests(batch_cls, device)
        pooled, _ = pool_step(batch)
        batch.begin_update()
        batch.refresh(CachedRequestState("a", (*A, 10, 10, 10)))
        return pooled.flatten().tolist()

    return program


def two_steps(batch_cls: type[InputBatch], device: torch.device | str = "sim") -> Program:
    """Two steps are under way before the result of the first is looked at, as in the engine."""

    def program() -> list[float]:
        batch = three_requests(batch_cls, device)
        first, _ = pool_step(batch)
        batch.begin_update()
        batch.remove_request("a")
        batch.add_request(CachedRequestState("d", D))
        batch.condense()
        second, _ = pool_step(batch)
        return [*first.flatten().tolist(), *second.flatten().tolist()]

    return program


def three_steps(batch_cls: type[InputBatch], device: torch.device | str = "sim") -> Program:
    """Three steps are under way: one more than a double buffer allows for."""

    def program() -> list[float]:
        batch = three_requests(batch_cls, device)
        first, _ = pool_step(batch)
        batch.begin_update()
        batch.swap_states(0, 1)
        second, _ = pool_step(batch)
        batch.begin_update()
        batch.swap_states(1, 2)
        return [*first.flatten().tolist(), *second.flatten().tolist()]

    return program


def late_host_reader(
    batch_cls: type[InputBatch], device: torch.device | str = "sim"
) -> Callable[[], list[bool]]:
    """The metadata outlives its step: the host asks it two updates later who is finished."""

    def program() -> list[bool]:
        batch = three_requests(batch_cls, device)
        _, metadata = pool_step(batch)
        batch.begin_update()
        batch.remove_request("b")
        batch.condense()
        batch.begin_update()
        batch.add_request(CachedRequestState("d", D))
        batch.swap_states(0, 1)
        return metadata.finished_mask()

    return program


@dataclass(frozen=True)
class Scenario:
    """A program for every batch class, and the value that plain Python gives for it."""

    name: str
    program: Callable[[type[InputBatch]], Program] = field(repr=False)
    expect: list[float]


SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        Scenario("condense and add", condense_and_add, [10.0, 20.0, 40.0]),
        Scenario("replace all", replace_all, [10.0, 20.0, 40.0]),
        Scenario("swap", swap, [10.0, 20.0, 40.0]),
        Scenario("grow", grow, [10.0, 20.0, 40.0]),
        Scenario("two steps", two_steps, [10.0, 20.0, 40.0, 80.0, 20.0, 40.0]),
    )
}
