"""The experiment of the series: rank real passages with the engine, several times over.

Every query and every passage is a request; its vector is the mean of its tokens' hidden states;
the score of a passage is the dot product of its vector with the query's. There is no
normalisation, so a wrong length shows in the score. Same requests, same order, same grouping: runs
of a right engine agree to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import torch

from pinlab import sim
from pinlab.serving.engine import Engine
from pinlab.serving.input_batch import InputBatch
from pinlab.serving.model import LookupModel, reflection
from pinlab.serving.ranking import ndcg_at_k, rank_order
from pinlab.serving.rerank_data import RerankData, load_rerank_data

MAX_NUM_REQS = 4
MAX_NUM_BATCHED_TOKENS = 128
MAX_IN_FLIGHT = 2


@dataclass(frozen=True, eq=False)
class RerankRun:
    """One pass over all requests."""

    scores: npt.NDArray[np.float64]  # [queries, passages]
    orders: npt.NDArray[np.int64]  # [queries, passages], passage numbers from best to worst
    ndcg: float  # nDCG@10, mean over the queries

    def __repr__(self) -> str:
        return f"RerankRun: {len(self.scores)} queries, nDCG@10 {self.ndcg:.4f}"


@dataclass(frozen=True, eq=False)
class RerankResult:
    """The runs of one experiment; it can be indexed and iterated like a list of them."""

    batch: str  # name of the batch class
    runs: tuple[RerankRun, ...]

    @property
    def same_scores(self) -> bool:
        """Whether all runs agree in every bit of every score."""
        return len({run.scores.tobytes() for run in self.runs}) == 1

    @property
    def distinct_orders(self) -> int:
        """How many different orders there were; runs with the same order of all queries count
        once."""
        return len({run.orders.tobytes() for run in self.runs})

    def positions(self, query: int) -> npt.NDArray[np.int64]:
        """The rank of each passage of a query in each run, [runs, passages], 0 is the best."""
        return np.argsort([run.orders[query] for run in self.runs], axis=1)

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, index: int) -> RerankRun:
        return self.runs[index]

    def __iter__(self) -> Iterator[RerankRun]:
        return iter(self.runs)

    def __repr__(self) -> str:
        ndcg = ", ".join(f"{run.ndcg:.4f}" for run in self.runs)
        return (
            f"<rerank with {self.batch}: {len(self)} runs, {self.distinct_orders} different "
            f"{'order' if self.distinct_orders == 1 else 'orders'}, nDCG@10 {ndcg}>"
        )


def run_rerank(
    batch_cls: type[InputBatch] = InputBatch,
    device: torch.device | str = "sim",
    runs: int = 5,
    *,
    seeds: Sequence[int] | None = None,
    data: RerankData | None = None,
    max_num_reqs: int = MAX_NUM_REQS,
    max_num_batched_tokens: int = MAX_NUM_BATCHED_TOKENS,
    max_in_flight: int = MAX_IN_FLIGHT,
) -> RerankResult:
    """Serve all queries and passages through the engine, `runs` times, and rank the passages.

    Args:
        batch_cls: the batch under test.
        device: ``"sim"`` or ``"cuda"``.
        runs: how often, 1 or more.
        seeds: one a run: run it under the simulated device's ``random`` mode with that seed, so
            that the schedule is chosen by the seed and comes back with it; `runs` is then ignored.
            Without seeds, runs use the device as it is.
        data: texts and hidden states; those that ship with the package if None.
        max_num_reqs, max_num_batched_tokens, max_in_flight: size of the engine.

    Raises `ValueError` for a number out of range, no seeds, and seeds on another device.

    >>> from pinlab import sim
    >>> sim.install()
    >>> run_rerank(runs=2)
    <rerank with InputBatch: 2 runs, 1 different order, nDCG@10 0.9130, 0.9130>
    """
    if runs < 1:
        raise ValueError(f"runs={runs}; it must be 1 or more")
    if seeds is not None and not len(seeds):
        raise ValueError("seeds is empty; give one for each run")
    device = torch.device(device)
    if seeds is not None and device.type != "sim":
        raise ValueError(f"seeds choose the schedule of the simulated device, not of {device}")
    data = data or _shipped_data()
    table = torch.tensor(data.hidden, device=device)
    model = LookupModel(table, reflection(data.hidden.shape[1]).to(device))

    def serve() -> RerankRun:
        batch = batch_cls(max_num_reqs, device)
        engine = Engine(model, batch, "MEAN", max_num_batched_tokens, max_in_flight)
        return _serve(engine, data)

    done = []
    for seed in [None] * runs if seeds is None else seeds:
        with _schedule(seed):
            done.append(serve())
    return RerankResult(batch_cls.__name__, tuple(done))


def _schedule(seed: int | None) -> AbstractContextManager[object]:
    return nullcontext() if seed is None else sim.mode("random", seed=seed)


def _serve(engine: Engine, data: RerankData) -> RerankRun:
    for query in range(data.n_queries):
        engine.add_request(_name(query), data.rows(query))
        for passage in range(data.n_passages):
            engine.add_request(_name(query, passage), data.rows(query, passage))
    vectors = engine.run()
    scores = np.array([_scores(vectors, query, data.n_passages) for query in range(data.n_queries)])
    orders = np.array([rank_order(row) for row in scores])
    graded = np.take_along_axis(data.relevance, orders, axis=1)
    return RerankRun(scores, orders, float(np.mean([ndcg_at_k(row) for row in graded])))


def _scores(
    vectors: dict[str, torch.Tensor], query: int, n_passages: int
) -> npt.NDArray[np.float64]:
    """Dot products of one query with its passages, in float64 on the host."""
    passages = torch.stack([vectors[_name(query, passage)] for passage in range(n_passages)])
    scores: npt.NDArray[np.float64] = (passages.double() @ vectors[_name(query)].double()).numpy()
    return scores


def _name(query: int, passage: int | None = None) -> str:
    return f"q{query}" if passage is None else f"q{query}p{passage}"


@cache
def _shipped_data() -> RerankData:
    return load_rerank_data()
