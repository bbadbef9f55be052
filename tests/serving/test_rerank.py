"""The experiment on real text: repaired it never changes, with the alias it does."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pinlab import sim
from pinlab.serving.input_batch import InputBatch
from pinlab.serving.ranking import ndcg_at_k, rank_order
from pinlab.serving.rerank import RerankResult, RerankRun, run_rerank
from pinlab.serving.rerank_data import load_rerank_data, offline_scores
from pinlab.serving.variants import VARIANTS, AliasingBatch

DATA = load_rerank_data()
OFFLINE = offline_scores(DATA)
SHAPE = (DATA.n_queries, DATA.n_passages)
RIGHT = [name for name, variant in VARIANTS.items() if variant.device_reader]
WRONG = [name for name, variant in VARIANTS.items() if not variant.device_reader]


@pytest.fixture(scope="module")
def repaired() -> RerankResult:
    """Five runs of the batch as shipped, on a device that runs by itself."""
    sim.install()
    return run_rerank(InputBatch, "sim")


def one_run(name: str, mode: str, **options: object) -> RerankRun:
    with sim.mode(mode, **options):
        return run_rerank(VARIANTS[name].batch, "sim", runs=1)[0]


def test_the_repaired_batch_gives_the_same_bits_in_every_run(repaired: RerankResult) -> None:
    assert len(repaired) == 5
    assert repaired.same_scores
    assert repaired.distinct_orders == 1


def test_the_scores_are_those_of_a_float64_mean_a_text_at_a_time(repaired: RerankResult) -> None:
    assert repaired[0].scores.shape == SHAPE
    np.testing.assert_allclose(repaired[0].scores, OFFLINE, rtol=0, atol=1e-4)


def test_the_orders_and_ndcg_are_the_offline_ones(repaired: RerankResult) -> None:
    orders = np.array([rank_order(row) for row in OFFLINE])
    assert repaired[0].orders.tolist() == orders.tolist()
    graded = np.take_along_axis(DATA.relevance, orders, axis=1)
    assert repaired[0].ndcg == np.mean([ndcg_at_k(row, 10) for row in graded])


@pytest.mark.parametrize(
    ("mode", "options"),
    [("eager", {}), ("lazy", {}), ("lazy", {"order": "reversed"}), ("random", {"seed": 1})],
)
def test_the_repaired_batch_gives_the_same_bits_in_every_mode(
    repaired: RerankResult, mode: str, options: dict[str, object]
) -> None:
    assert one_run("clone", mode, **options).scores.tobytes() == repaired[0].scores.tobytes()


@pytest.mark.parametrize("name", RIGHT)
def test_every_right_variant_gives_the_bits_of_the_shipped_one(
    repaired: RerankResult, name: str
) -> None:
    assert one_run(name, "lazy").scores.tobytes() == repaired[0].scores.tobytes()


@pytest.mark.parametrize("name", WRONG)
def test_every_wrong_variant_gives_wrong_scores_at_the_latest_schedule(name: str) -> None:
    run = one_run(name, "lazy")
    assert (np.abs(run.scores - OFFLINE) > 1e-2).mean() > 0.5
    assert run.orders.tolist() != [rank_order(row).tolist() for row in OFFLINE]


def test_the_aliasing_batch_ranks_differently_under_different_seeds() -> None:
    result = run_rerank(AliasingBatch, "sim", seeds=range(5))
    assert len(result) == 5
    assert result.distinct_orders > 1
    assert not result.same_scores
    assert len({run.ndcg for run in result}) > 1


def test_a_seed_brings_its_schedule_back() -> None:
    first = run_rerank(AliasingBatch, "sim", seeds=[1, 4])
    again = run_rerank(AliasingBatch, "sim", seeds=[4, 1])
    assert first[0].scores.tobytes() == again[1].scores.tobytes()
    assert first[1].scores.tobytes() == again[0].scores.tobytes()
    assert first.distinct_orders == 2


def test_the_repaired_batch_ranks_the_same_under_those_seeds(repaired: RerankResult) -> None:
    result = run_rerank(InputBatch, "sim", seeds=range(5))
    assert result.same_scores
    assert result[0].scores.tobytes() == repaired[0].scores.tobytes()


@pytest.mark.parametrize("threads", [1, 2])
def test_runs_agree_to_the_bit_for_any_number_of_threads(
    repaired: RerankResult, threads: int
) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        result = run_rerank(InputBatch, "sim", runs=3)
    finally:
        torch.set_num_threads(before)
    assert result.same_scores
    np.testing.assert_allclose(result[0].scores, repaired[0].scores, rtol=0, atol=1e-4)


def test_positions_tell_the_rank_of_each_passage_in_each_run() -> None:
    orders = [np.array([[2, 0, 1]]), np.array([[0, 1, 2]])]
    runs = tuple(RerankRun(np.zeros((1, 3)), order, 1.0) for order in orders)
    result = RerankResult("X", runs)
    assert result.positions(0).tolist() == [[1, 2, 0], [0, 1, 2]]
    assert repr(result) == "<rerank with X: 2 runs, 2 different orders, nDCG@10 1.0000, 1.0000>"


def test_other_sizes_of_the_engine_change_the_grouping_but_no_score() -> None:
    with sim.mode("lazy"):
        small = run_rerank(InputBatch, "sim", runs=1, max_num_reqs=2, max_num_batched_tokens=77)
        large = run_rerank(InputBatch, "sim", runs=1, max_num_reqs=64, max_num_batched_tokens=4096)
    for result in (small, large):
        np.testing.assert_allclose(result[0].scores, OFFLINE, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"runs": 0}, "runs=0; it must be 1 or more"),
        ({"seeds": []}, "seeds is empty"),
        ({"device": "cpu", "seeds": [1]}, "seeds choose the schedule of the simulated device"),
        ({"max_num_batched_tokens": 40}, "61 tokens must be in one step, and a step takes 40"),
        ({"max_num_reqs": 0}, "max_num_reqs=0; it must be 1 or more"),
    ],
)
def test_an_experiment_that_cannot_be_run_is_refused(options, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run_rerank(**options)
