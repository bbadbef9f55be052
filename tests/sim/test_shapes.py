"""Layouts known before the work ran: found once, right, and never at the host's expense."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.sim import shapes
from pinlab.sim.schema import TRIED, TRIED_IF_LINEAR
from pinlab.sim.shapes import UNKNOWN, Layout, as_layouts
from pinlab.sim.state import shape_cache
from tools.nursery import run_script

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))
LARGE = (TRIED_IF_LINEAR + 1,)


def counts(line: Callable[[], object]) -> tuple[int, int]:
    """How many hits and runs of the cache `line` causes."""
    hits, runs = shape_cache.hits, shape_cache.runs
    line()
    return shape_cache.hits - hits, shape_cache.runs - runs


@pytest.mark.parametrize("size", [(3, 5), LARGE])
def test_a_second_call_is_a_hit(size: tuple[int, ...]) -> None:
    x = torch.ones(size, device="sim")
    line = lambda: x * 3 + x  # noqa: E731
    line()
    assert counts(line) == (2, 0)


def test_the_value_of_a_number_does_not_matter_only_its_kind() -> None:
    x = torch.ones(3, 5, device="sim")
    x + 1
    assert counts(lambda: [x + n for n in range(2, 9)]) == (7, 0)
    x + 0.5
    assert counts(lambda: x + 2.5) == (1, 0)
    assert (x.int() + 1).dtype == torch.int32
    assert (x.int() + 1.0).dtype == torch.float32
    assert (x.bool() + True).dtype == torch.bool


def test_the_value_of_a_size_or_dimension_matters() -> None:
    x = torch.ones(3, 5, device="sim")
    assert [x.sum(dim).shape for dim in (0, 1, -1)] == [(5,), (3,), (3,)]
    assert [x.repeat(n, 1).shape for n in (1, 2)] == [(3, 5), (6, 5)]
    assert [torch.arange(n, device="sim").shape for n in (2, 4)] == [(2,), (4,)]
    assert [torch.arange(0, 1, step, device="sim").numel() for step in (0.5, 0.25)] == [2, 4]


def test_scalars_of_foreach_operators_do_not_matter() -> None:
    xs = [torch.ones(3, device="sim"), torch.ones(2, device="sim")]
    torch._foreach_mul(xs, [1.0, 2.0])
    assert counts(lambda: torch._foreach_mul(xs, [3.0, 4.0])) == (1, 0)


def test_strides_matter() -> None:
    x = torch.ones(3, 5, device="sim")
    assert (x.T + 1).stride() == (torch.ones(3, 5).T + 1).stride()
    assert (x + 1).stride() == (5, 1)


@pytest.mark.parametrize(
    "line",
    [
        lambda x: x.T + 1,
        lambda x: x[:, ::2] * 2,
        lambda x: x.expand(4, 3, 5) + 1,
        lambda x: x.permute(1, 0).clone(),
        lambda x: x.T.contiguous(),
        lambda x: torch.nn.functional.conv2d(
            x[None, None].to(memory_format=torch.channels_last), torch.ones_like(x[None, None])
        ),
        lambda x: x.sort(descending=True)[1],
        lambda x: torch.linalg.qr(x)[0],
        lambda x: x.cumsum(0),
        lambda x: torch.fft.fft(x.T),
    ],
)
def test_shape_stride_and_dtype_are_the_cpus(line: Callable[..., torch.Tensor]) -> None:
    here, there = line(torch.rand(3, 5)), line(torch.rand(3, 5).to("sim"))
    assert (there.shape, there.stride(), there.dtype) == (here.shape, here.stride(), here.dtype)


@pytest.mark.parametrize(
    "line",
    [
        lambda x: x // x,  # integer division: zeros are no example
        lambda x: torch.linalg.cholesky_ex(x.double() @ x.double().T)[0],
        lambda x: torch.linalg.solve_ex(torch.eye(3, device=x.device), x.float())[0],
        lambda x: x.float().multinomial(2),
    ],
)
def test_operators_that_refuse_zeros_are_queued_all_the_same(line: Callable[..., Any]) -> None:
    x = torch.arange(1, 10, device="sim").view(3, 3)
    gpu.synchronize()
    with sim.hold():
        assert line(x).device.type == "sim"
        assert sim.pending()


@pytest.mark.parametrize(
    ("line", "size"),
    [
        (lambda x: x + 1, TRIED_IF_LINEAR + 1),
        (lambda x: x @ x, TRIED + 2),
        (lambda x: x.view(-1, 2).sort(0)[1], TRIED + 2),
        (lambda x: x.cumsum(0).add_(1), TRIED + 2),
        (lambda x: torch.mul(x, x, out=torch.empty(0, device=x.device)), TRIED + 2),
    ],
)
def test_large_calls_are_inferred_without_bytes(line: Callable[..., Any], size: int) -> None:
    here, there = torch.ones(size), torch.ones(size, device="sim")
    gpu.synchronize()
    with sim.hold():
        found = line(there)
        assert sim.pending()
    expected = line(here)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert torch.equal(found.cpu(), expected)


def test_mistakes_in_large_calls_are_torchs_errors_at_once() -> None:
    x, y = torch.ones(TRIED + 1, device="sim"), torch.ones(3, device="sim")
    gpu.synchronize()
    with sim.hold(), pytest.raises(RuntimeError, match=r"inconsistent tensor size|size"):
        torch.dot(x, y)


def test_batch_norm_has_the_cpus_sizes_not_those_of_a_gpu() -> None:
    for device in ("cpu", "sim"):
        x = torch.rand(4, 3, device=device)
        mean, var = torch.zeros(3, device=device), torch.ones(3, device=device)
        evaluated = torch.native_batch_norm(x, None, None, mean, var, False, 0.1, 1e-5)
        trained = torch.native_batch_norm(x, None, None, mean, var, True, 0.1, 1e-5)
        assert [t.shape for t in evaluated] == [(4, 3), (0,), (0,)]
        assert [t.shape for t in trained] == [(4, 3), (3,), (3,)]


def test_the_cache_is_emptied_when_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes, "MAX_CACHED", 5)
    x = torch.ones(3, device="sim")
    for n in range(20):
        assert x.expand(n + 1, 3).sum(0).tolist() == [n + 1.0] * 3
    assert len(shape_cache.known) <= 7
    assert len(Layout.known) <= 7


def test_mistakes_are_not_remembered() -> None:
    x, y = torch.ones(2, device="sim"), torch.ones(3, device="sim")
    for _ in range(2):
        with pytest.raises(RuntimeError, match="must match"):
            x + y


def test_small_calls_load_no_compiler() -> None:
    """Torch's meta kernels import its compiler, which takes a second; zeros need none."""
    script = (
        "import sys, torch\nfrom pinlab import sim\nsim.install()\n"
        "x = torch.ones(8, device='sim')\n"
        "(x + 1).sum().item()\n"
        "assert 'torch._dynamo' not in sys.modules\n"
    )
    run_script(script, check=True)


def test_trying_out_does_not_touch_the_hosts_random_state() -> None:
    x = torch.full((7,), 0.5, device="sim")
    torch.manual_seed(0)
    expected = torch.rand(2)
    torch.manual_seed(0)
    shape_cache.known.clear()
    x.bernoulli()
    torch.rand_like(x)
    assert torch.equal(torch.rand(2), expected)


def test_layouts_of_results() -> None:
    layout = Layout.of(torch.zeros(2, 3))
    assert Layout.get(torch.Size([2, 3]), (3, 1), torch.float32) is layout
    assert layout.nbytes == 24
    assert Layout.of(torch.zeros(2, 3)[:, 1]).nbytes == 16  # from its first to its last byte
    assert Layout.of(torch.zeros(0, 3)).nbytes == 0
    assert Layout.of(torch.zeros(1).expand(5)).nbytes == 4
    assert as_layouts((torch.zeros(2, 3), None, [torch.zeros(2, 3)])) == (layout, None, (layout,))
    assert as_layouts(torch.eye(2).to_sparse()) is UNKNOWN
    assert as_layouts((torch.zeros(1), 3)) is UNKNOWN
    assert repr(layout) == "Layout((2, 3), (3, 1), torch.float32)"
    assert repr(UNKNOWN) == "UNKNOWN"
