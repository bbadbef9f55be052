"""Random numbers: seeded like torch, fixed at submission, the same on every schedule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

from pinlab import sim
from pinlab.sim import generator
from tools.nursery import run_script

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))

DRAWS: dict[str, Callable[[], torch.Tensor]] = {
    "rand": lambda: torch.rand(5, device="sim"),
    "randn": lambda: torch.randn(5, device="sim"),
    "randint": lambda: torch.randint(100, (5,), device="sim"),
    "randperm": lambda: torch.randperm(9, device="sim"),
    "rand_like": lambda: torch.rand_like(torch.zeros(5, device="sim")),
    "randn_like": lambda: torch.randn_like(torch.zeros(5, device="sim")),
    "randint_like": lambda: torch.randint_like(torch.zeros(5, device="sim"), 3, 100),
    "uniform_": lambda: torch.zeros(5, device="sim").uniform_(),
    "exponential_": lambda: torch.zeros(5, device="sim").exponential_(),
    "bernoulli": lambda: torch.full((64,), 0.5, device="sim").bernoulli(),
    "multinomial": lambda: torch.ones(64, device="sim").multinomial(9),
    "poisson": lambda: torch.poisson(torch.full((9,), 4.0, device="sim")),
    "dropout": lambda: functional.dropout(torch.ones(64, device="sim"), 0.5),
    "rrelu": lambda: functional.rrelu(-torch.ones(9, device="sim"), training=True),
}


@pytest.mark.parametrize("name", DRAWS)
def test_manual_seed_repeats_and_another_draw_differs(name: str) -> None:
    draw = DRAWS[name]
    torch.manual_seed(3)
    first, second = draw().tolist(), draw().tolist()
    torch.manual_seed(3)
    assert [draw().tolist(), draw().tolist()] == [first, second]
    assert first != second


def all_draws() -> list[list[float]]:
    torch.manual_seed(11)
    results = [draw() for draw in DRAWS.values()]
    return [result.tolist() for result in results]


@pytest.mark.parametrize("mode", ["threaded", "eager", "random"])
def test_numbers_depend_neither_on_the_mode_nor_on_the_schedule(mode: str) -> None:
    with sim.mode("lazy"):
        expected = all_draws()
    with sim.mode(mode):
        assert all_draws() == expected


def test_numbers_do_not_depend_on_the_order_in_which_streams_run() -> None:
    def two_streams(order: str) -> list[list[float]]:
        torch.manual_seed(5)
        with sim.mode("lazy", order=order):
            streams = [gpu.Stream(), gpu.Stream()]
            results = []
            for stream in streams:
                with gpu.stream(stream):
                    results.append(torch.rand(4, device="sim"))
            gpu.synchronize()
            return [result.tolist() for result in results]

    assert two_streams("creation") == two_streams("reversed")


@pytest.mark.parametrize("mode", ["threaded", "eager", "lazy"])
def test_the_hosts_own_random_state_is_left_alone(mode: str) -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    with sim.mode(mode):
        for draw in DRAWS.values():
            draw()
        gpu.synchronize()
    assert torch.equal(torch.rand(3), expected)


def test_host_draws_between_submission_and_run_change_nothing() -> None:
    with sim.mode("lazy"):
        torch.manual_seed(2)
        quiet = torch.rand(3, device="sim")
        expected = quiet.tolist()
        torch.manual_seed(2)
        there = torch.rand(3, device="sim")
        torch.manual_seed(99)  # later: too late for the operation that is queued
        torch.rand(7)
        assert there.tolist() == expected


def test_a_seed_set_before_install_counts() -> None:
    script = (
        "import torch\ntorch.manual_seed(5)\nfrom pinlab import sim\nsim.install()\n"
        "first = torch.rand(3, device='sim').tolist()\ntorch.manual_seed(5)\n"
        "assert torch.rand(3, device='sim').tolist() == first\n"
        "assert torch.sim.initial_seed() == 5\n"
    )
    run_script(script, check=True)


def test_the_state_can_be_saved_and_put_back() -> None:
    gpu.manual_seed(8)
    torch.rand(2, device="sim")
    state = gpu.get_rng_state()
    first = torch.rand(3, device="sim").tolist()
    assert state.dtype == torch.uint8
    assert state.device.type == "cpu"
    gpu.set_rng_state(state)
    assert torch.rand(3, device="sim").tolist() == first
    assert gpu.initial_seed() == 8


def test_a_foreign_state_is_refused() -> None:
    with pytest.raises(TypeError, match="16 bytes"):
        gpu.set_rng_state(torch.get_rng_state())


def test_fork_rng_keeps_the_state() -> None:
    torch.manual_seed(1)
    with torch.random.fork_rng(device_type="sim"):
        inside = torch.rand(2, device="sim").tolist()
    assert torch.rand(2, device="sim").tolist() == inside


def test_seed_takes_a_new_seed_each_time() -> None:
    assert gpu.seed() != gpu.seed()
    assert gpu.initial_seed() == generator.initial_seed()


def test_reset_seeds_with_zero() -> None:
    gpu.manual_seed(0)
    expected = torch.rand(2, device="sim").tolist()
    gpu.manual_seed(44)
    sim.reset()
    assert torch.rand(2, device="sim").tolist() == expected


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.Generator(device="sim"),
        lambda: torch.Generator("sim:0"),
        lambda: torch.Generator(torch.device("sim")),
    ],
)
def test_a_generator_cannot_be_made_and_the_error_says_so(make: Callable[[], Any]) -> None:
    with pytest.raises(sim.SimError, match=r"generator cannot be made.*torch\.manual_seed"):
        make()


def test_a_host_generator_is_refused_by_device_operators() -> None:
    with pytest.raises(sim.SimError, match="generator on cpu"):
        torch.rand(2, device="sim", generator=torch.Generator())


def test_generators_of_the_host_work_as_before() -> None:
    made = torch.Generator().manual_seed(4)
    assert isinstance(made, torch.Generator)
    assert isinstance(torch.default_generator, torch.Generator)
    first = torch.rand(2, generator=made)
    again = torch.rand(2, generator=torch.Generator("cpu").manual_seed(4))
    assert torch.equal(first, again)


def test_uniform_numbers_look_uniform() -> None:
    torch.manual_seed(0)
    values = torch.cat([torch.rand(64, device="sim") for _ in range(64)]).cpu()
    assert 0.48 < values.mean() < 0.52
    assert 0.27 < values.std() < 0.31  # 1/√12 is 0.289
    assert values.unique().numel() > 4000  # successive draws do not repeat each other


@pytest.mark.parametrize("p", [0.0, 0.25, 1.0])
def test_dropout_keeps_its_share_and_scales_the_rest(p: float) -> None:
    torch.manual_seed(0)
    kept = functional.dropout(torch.ones(4000, device="sim"), p).cpu()
    assert abs((kept == 0).float().mean() - p) < 0.03
    assert set(kept.unique().tolist()) <= {0.0, torch.tensor(1 / (1 - p)).item() if p < 1 else 0.0}


def test_a_random_operator_without_a_generator_is_refused_not_wrong() -> None:
    values = torch.ones(2, device="sim")
    with pytest.raises(NotImplementedError, match="takes a generator"):
        torch.ops.aten.rand_like.out(values, out=torch.empty(2, device="sim"))
