"""Mean, last and first vector of each request, against plain numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pinlab import sim
from pinlab.serving.metadata import PoolingMetadata
from pinlab.serving.pooling import POOLS, CLSPool, LastPool, MeanPool

WIDTH = 3


def prepare(
    lengths: list[int], scheduled: list[int] | None = None
) -> tuple[np.ndarray, torch.Tensor, PoolingMetadata]:
    """Hidden states on both sides, and metadata with its cursor."""
    now = scheduled or lengths
    rng = np.random.default_rng(sum(lengths))
    hidden = rng.normal(size=(sum(now), WIDTH)).astype(np.float32)
    names = [f"r{number}" for number in range(len(lengths))]
    metadata = PoolingMetadata(torch.tensor(lengths, dtype=torch.int32), names)
    metadata.build_pooling_cursor(np.array(now), np.array(now), "sim")
    return hidden, torch.from_numpy(hidden).to("sim"), metadata


def parts(hidden: np.ndarray, lengths: list[int]) -> list[np.ndarray]:
    return np.split(hidden.astype(np.float64), np.cumsum(lengths)[:-1])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_each_pool_agrees_with_a_plain_loop(lengths: list[int]) -> None:
    with sim.mode("lazy"):
        hidden, on_device, metadata = prepare(lengths)
        prompts = parts(hidden, lengths)
        mean = MeanPool()(on_device, metadata).cpu().numpy()
        np.testing.assert_allclose(mean, [p.mean(0) for p in prompts], atol=1e-5)
        last = LastPool()(on_device, metadata).cpu().numpy()
        assert last.tolist() == [p[-1].tolist() for p in prompts]
        first = CLSPool()(on_device, metadata).cpu().numpy()
        assert first.tolist() == [p[0].tolist() for p in prompts]


def test_half_precision_input_is_summed_in_single_precision() -> None:
    length = 3000  # in float16 a sum of ones stops at 2048
    metadata = PoolingMetadata(torch.tensor([length], dtype=torch.int32), ["a"])
    metadata.build_pooling_cursor(np.array([length]), np.array([length]), "sim")
    ones = torch.ones(length, 1, dtype=torch.float16, device="sim")
    pooled = MeanPool()(ones, metadata)
    assert pooled.dtype == torch.float32
    assert pooled.tolist() == [[1.0]]


@pytest.mark.parametrize("name", POOLS)
def test_pooling_only_queues_work(name: str) -> None:
    with sim.mode("lazy"), sim.record() as run:
        _, on_device, metadata = prepare([2, 3])
        run.host.clear()
        pooled = POOLS[name]()(on_device, metadata)
        assert not [event for event in run.host if event.kind == "wait"]
        assert sim.pending()
        assert pooled.shape == (2, WIDTH)


@pytest.mark.parametrize("name", POOLS)
def test_only_the_mean_uploads_the_lengths(name: str) -> None:
    with sim.mode("lazy"):
        _, on_device, metadata = prepare([2, 3])
        uploads = sum(operation.kind == "upload" for operation in sim.pending())
        POOLS[name]()(on_device, metadata)
        after = sum(operation.kind == "upload" for operation in sim.pending())
    assert after - uploads == (1 if name == "MEAN" else 0)


def test_a_wrong_length_rescales_the_mean_and_moves_no_boundary() -> None:
    hidden, on_device, metadata = prepare([2, 4])
    metadata.prompt_lens = torch.tensor([4, 4], dtype=torch.int32)
    pooled = MeanPool().forward(on_device, metadata, metadata.get_pooling_cursor()).cpu().numpy()
    first, second = parts(hidden, [2, 4])
    np.testing.assert_allclose(pooled, [first.sum(0) / 4, second.mean(0)], atol=1e-6)


@pytest.mark.parametrize("name", ["MEAN", "CLS"])
def test_mean_and_cls_refuse_a_partial_prompt(name: str) -> None:
    _, on_device, metadata = prepare([2, 5, 3], scheduled=[2, 4, 1])
    message = rf"{name} pooling needs whole prompts; partial here: \['r1', 'r2'\]"
    with pytest.raises(ValueError, match=message):
        POOLS[name]()(on_device, metadata)


def test_last_takes_a_chunk() -> None:
    hidden, on_device, metadata = prepare([2, 5], scheduled=[2, 4])
    assert LastPool()(on_device, metadata).tolist() == hidden[[1, 5]].tolist()
    assert metadata.finished_mask() == [True, False]


@pytest.mark.parametrize("name", POOLS)
def test_hidden_states_must_be_as_many_as_the_scheduled_tokens(name: str) -> None:
    _, on_device, metadata = prepare([2, 3])
    with pytest.raises(ValueError, match="4 hidden states for 5 scheduled tokens"):
        POOLS[name]()(on_device[:4], metadata)


def test_a_pool_says_which_one_it_is() -> None:
    assert [repr(POOLS[name]()) for name in POOLS] == [
        "MEAN pooling",
        "LAST pooling",
        "CLS pooling",
    ]
