"""Operators on the device: queued or not, aliasing, devices, modes of the host, errors."""

from __future__ import annotations

import itertools
import threading
import time
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from pinlab import sim
from pinlab.sim import dispatch
from tests.sim import alias_programs

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))


def queued() -> list[str]:
    return [operation.name for operation in sim.pending()]


# -- what is queued and what is not ----------------------------------------------------------------


def test_ten_operators_on_a_held_stream_return_in_under_5_ms_and_none_has_run() -> None:
    h = torch.ones(8, device="sim")
    h + 1
    gpu.synchronize()
    took = []
    for _ in range(5):  # other programs may take the processor in one of them
        with sim.hold():
            began = time.perf_counter()
            for _ in range(10):
                h = h + 1
            took.append(time.perf_counter() - began)
            assert len(sim.pending()) == 10
        gpu.synchronize()
    assert min(took) < 5e-3
    assert h.tolist() == [51.0] * 8


@pytest.mark.parametrize(
    "make",
    [
        lambda x, i: x + 1,
        lambda x, i: x.sum(),
        lambda x, i: x @ x.T,
        lambda x, i: x.add_(1),
        lambda x, i: x[i],
        lambda x, i: x.sort(),
        lambda x, i: torch.add(x, 1, out=torch.empty(0, device="sim")),
        lambda x, i: torch._foreach_add([x, x], 1),
        lambda x, i: x.to(torch.float64),
        lambda x, i: torch.rand_like(x),
        lambda x, i: torch.nn.functional.dropout(x),
        lambda x, i: x.unfold(0, 2, 1).clone(),
        lambda x, i: torch.nn.functional.batch_norm(x, None, None, training=True),
    ],
)
def test_kernels_do_not_wait(make: Callable[..., Any]) -> None:
    x, index = torch.ones(3, 3, device="sim"), torch.tensor([0, 2], device="sim")
    gpu.synchronize()
    with sim.hold():
        make(x, index)
        assert queued()


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.item(),
        lambda x: x.nonzero(),
        lambda x: x[x > 0],
        lambda x: torch.unique(x),
        lambda x: torch.equal(x, x),
        lambda x: bool(x),
        lambda x: x.masked_select(x > 0),
        lambda x: torch.linalg.cholesky(x.view(1, 1)),
    ],
)
def test_what_depends_on_data_waits(make: Callable[..., Any]) -> None:
    x = torch.ones(1, device="sim")
    gpu.synchronize()
    with sim.hold(), pytest.raises(sim.HeldStreamError):
        make(x)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x[1],
        lambda x: x.T,
        lambda x: x.view(-1),
        lambda x: x.expand(2, 3, 3),
        lambda x: x.detach(),
        lambda x: x.split(1),
        lambda x: x.unsafe_split(1),
        lambda x: x.reshape(9),
        lambda x: x.conj(),
        lambda x: x.view(torch.int32),
        lambda x: x.t_(),
        lambda x: x.unsqueeze_(0),
        lambda x: x.contiguous(),
        lambda x: x.to("sim"),
    ],
)
def test_views_queue_nothing_and_share_the_memory(make: Callable[..., Any]) -> None:
    x = torch.zeros(3, 3, device="sim")
    gpu.synchronize()
    with sim.hold():
        made = make(x)
        assert queued() == []
    parts = made if isinstance(made, (list, tuple)) else [made]
    for part in parts:
        part.fill_(1)
    assert x.sum().item() > 0


def test_operations_carry_their_name_and_line() -> None:
    with sim.mode("lazy"):
        x = torch.zeros(2, device="sim")
        gpu.synchronize()
        x.mul_(2)
        (operation,) = sim.pending()
    assert operation.name == "aten.mul_.Tensor"
    assert operation.queued_at.file == "test_dispatch.py"
    assert "x.mul_(2)" in operation.queued_at.source


def test_operations_name_the_memory_that_they_read_and_write() -> None:
    a, b = torch.zeros(2, device="sim"), torch.zeros(2, device="sim")
    with sim.mode("lazy"):
        gpu.synchronize()
        c = torch.maximum(a, b)
        a.add_(b)
        made, changed = sim.pending()

    def addresses(tensors: Any) -> set[int]:
        return {tensor.data_ptr() for tensor in tensors}

    assert addresses(made.device_reads) == addresses([a, b])
    assert addresses(made.device_writes) == addresses([c])
    assert addresses(changed.device_writes) == addresses([a])
    assert addresses([a, b]) <= addresses(changed.device_reads)


def test_batch_norm_writes_its_running_statistics_although_its_schema_is_silent() -> None:
    mean, var = torch.zeros(2, device="sim"), torch.ones(2, device="sim")
    batch = torch.arange(8.0, device="sim").view(4, 2)
    with sim.mode("lazy"):
        gpu.synchronize()
        torch.nn.functional.batch_norm(batch, mean, var, training=True)
        written = {t.data_ptr() for op in sim.pending() for t in op.device_writes}
    assert {mean.data_ptr(), var.data_ptr()} <= written
    assert mean.tolist() == pytest.approx([0.3, 0.4])


# -- aliasing --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["lazy", "random", "threaded"])
def test_random_programs_of_views_and_writes_agree_with_the_cpu(mode: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(60):
            sim.reset()
            options = {"seed": seed} if mode == "random" else {}
            with sim.mode(mode, **options):
                assert alias_programs.run(seed) == []


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mode", ["lazy", "random", "threaded", "eager"])
def test_many_random_programs_agree_with_the_cpu(mode: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(1000, 4000):
            sim.reset()
            with sim.mode(mode):
                assert alias_programs.run(seed) == []


def test_random_programs_notice_a_view_that_is_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    overload = torch.ops.aten.select.int
    rule, plan = dispatch._choose(overload)

    def copying(plan: Any, args: Any, kwargs: Any) -> Any:
        return rule(plan, args, kwargs).clone()

    monkeypatch.setitem(dispatch._rules, id(overload), (copying, plan))
    with warnings.catch_warnings(), sim.mode("lazy"):
        warnings.simplefilter("ignore")
        assert any(alias_programs.run(seed) for seed in range(40))


def test_the_same_tensor_as_input_and_output_is_told_from_an_equal_one() -> None:
    x, y = torch.zeros(3, device="sim"), torch.ones(2, 3, device="sim")
    other = torch.zeros(3, device="sim")
    assert torch.maximum(x, y, out=other).shape == (2, 3)  # an output may grow
    with pytest.raises(RuntimeError, match="broadcast shape"):
        torch.maximum(x, y, out=x)  # but not what is read
    assert x.shape == (3,)


def test_an_operator_that_works_in_place_does_not_change_shapes() -> None:
    tall = torch.ones(1, device="sim")
    with pytest.raises(RuntimeError, match="change the shape"):
        tall.addbmm_(torch.ones(1, 2, 3, device="sim"), torch.ones(1, 3, 2, device="sim"))
    assert tall.tolist() == [1.0]


@pytest.mark.parametrize("size", [0, 2, 9])
def test_outputs_get_the_size_that_they_need(size: int) -> None:
    x, output = torch.arange(4.0, device="sim"), torch.empty(size, device="sim")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        returned = torch.mul(x, 2, out=output)
    assert returned is output
    assert output.tolist() == [0.0, 2.0, 4.0, 6.0]
    positions = torch.empty(size, dtype=torch.int64, device="sim")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.nonzero(x, out=positions)
    assert positions.tolist() == [[1], [2], [3]]


def test_kron_writes_its_output() -> None:  # torch multiplies into an unsafe view of it
    left, output = torch.arange(4.0).view(2, 2), torch.zeros(4, 4, device="sim")
    torch.kron(left.to("sim"), left.to("sim"), out=output)
    assert torch.equal(output.cpu(), torch.kron(left, left))


def test_matmul_into_an_output_that_it_folds() -> None:  # torch asks whether two tensors share
    rows, columns = torch.arange(12.0).reshape(2, 2, 3), torch.arange(6.0).reshape(3, 2)
    expected = rows @ columns
    out = torch.empty(0, device="sim")
    with sim.mode("lazy"):
        torch.matmul(rows.to("sim"), columns.to("sim"), out=out)
        assert torch.equal(out.cpu(), expected)
    part = out[0]
    assert part.untyped_storage()._cdata == out.untyped_storage()._cdata
    assert part.clone().untyped_storage()._cdata != out.untyped_storage()._cdata


def test_indices_of_a_triangle_are_made_on_the_queue() -> None:
    with sim.mode("lazy"):
        lower = torch.tril_indices(3, 4, 1, device="sim")
        upper = torch.triu_indices(4, 3, dtype=torch.int32, device="sim")
        assert queued() == ["aten.tril_indices.default", "aten.triu_indices.default"]
        assert torch.equal(lower.cpu(), torch.tril_indices(3, 4, 1))
        assert torch.equal(upper.cpu(), torch.triu_indices(4, 3, dtype=torch.int32))
    with pytest.raises(RuntimeError, match="pinned"):
        torch.tril_indices(2, 2, device="sim", pin_memory=True)


def test_matrix_rank_writes_its_output() -> None:  # torch forgets to, for tensor subclasses
    output = torch.zeros((), dtype=torch.int64, device="sim")
    assert torch.linalg.matrix_rank(torch.eye(3, device="sim"), out=output) is output
    assert output.item() == 3


def test_index_assignment_of_every_kind() -> None:
    for index, value in itertools.product(
        (1, slice(1, 3), [0, 2], torch.tensor([True, False, True]), torch.tensor([1, 1]), ...),
        (5.0, torch.tensor(6.0)),
    ):
        here, there = torch.zeros(3, 2), torch.zeros(3, 2, device="sim")
        here[index] = value
        there[index] = value
        assert torch.equal(here, there.cpu()), index


# -- what the host changes later -------------------------------------------------------------------


def test_scalars_and_lists_are_taken_at_submission() -> None:
    number, sizes = torch.tensor(2.0), [2, 2]
    with sim.mode("lazy"):
        x = torch.ones(4, device="sim")
        scaled, shaped = x * number, torch.zeros(4, device="sim").view(sizes) + 1
        number.fill_(99)
        sizes[:] = [4, 1]
        assert scaled.tolist() == [2.0] * 4
        assert shaped.shape == (2, 2)


def test_index_tensors_on_the_host_are_uploaded_before_the_call_returns() -> None:
    with sim.mode("lazy"):
        x, index = torch.arange(5, device="sim"), torch.tensor([1, 3])
        picked = x[index]
        index.fill_(0)
        assert picked.tolist() == [1, 3]


@pytest.mark.parametrize("other", [torch.float64, torch.int64, torch.bool, torch.complex64])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int32, torch.bool])
def test_promotion_with_host_scalars_is_torchs(dtype: torch.dtype, other: torch.dtype) -> None:
    here = torch.ones(2, dtype=dtype)
    for scalar in (torch.tensor(1, dtype=other), torch.tensor([1], dtype=other)[0], 1, 1.0, True):
        expected = here * scalar
        found = here.to("sim") * scalar
        assert (found.dtype, found.cpu().tolist()) == (expected.dtype, expected.tolist())
        assert (scalar * here.to("sim")).dtype == expected.dtype


def test_the_default_dtype_counts_and_a_change_while_work_is_queued_is_noticed() -> None:
    x = torch.arange(3, device="sim")
    with sim.mode("lazy"):
        assert (x / 2).dtype == torch.float32
        gpu.synchronize()
        early = x / 2
        torch.set_default_dtype(torch.float64)
        try:
            with pytest.raises(sim.QueuedOperationError, match=r"got \(3,\) torch\.float64"):
                early.cpu()
            assert (x / 2).tolist() == [0.0, 0.5, 1.0]
            assert (x / 2).dtype == torch.float64
            gpu.synchronize()
        finally:
            torch.set_default_dtype(torch.float32)
        assert (x / 2).dtype == torch.float32


# -- devices ---------------------------------------------------------------------------------------

HERE = torch.ones(2)


@pytest.mark.parametrize(
    "mix",
    [
        lambda there: there + HERE,
        lambda there: HERE + there,
        lambda there: HERE.clone().add_(there),
        lambda there: torch.tensor(1.0).add_(there.sum()),
        lambda there: there.add_(HERE),
        lambda there: torch.add(there, 1, out=HERE.clone()),
        lambda there: torch.add(HERE, 1, out=there),
        lambda there: torch.cat([there, HERE]),
        lambda there: HERE[there.long() - 1],
        lambda there: torch.where(HERE > 0, there, 0.0),
        lambda there: torch.nn.functional.linear(there, HERE[None]),
        lambda there: there.to("meta"),
    ],
)
def test_mixing_devices_is_an_error_that_names_both(mix: Callable[..., Any]) -> None:
    with pytest.raises(sim.DeviceMismatchError, match=r"sim:0 and (cpu|meta)") as caught:
        mix(torch.ones(2, device="sim"))
    assert "expected all tensors to be on the same device" in str(caught.value)
    assert "(in aten." in str(caught.value)


def test_host_scalars_may_stand_beside_device_tensors() -> None:
    there = torch.ones(2, device="sim")
    assert (torch.tensor(2.0) * there).tolist() == [2.0, 2.0]
    assert torch.where(there > 0, torch.tensor(3.0), there).tolist() == [3.0, 3.0]
    assert there.masked_fill(there > 0, torch.tensor(4.0)).tolist() == [4.0, 4.0]


# -- modes of the host's torch ---------------------------------------------------------------------


class Listener(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.heard.append(str(func))
        return func(*args, **(kwargs or {}))


class FunctionListener(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.heard.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_a_dispatch_mode_hears_the_hosts_operators_not_the_queues() -> None:
    with sim.mode("lazy"):
        x = torch.ones(2, device="sim") + 1
        with Listener() as outer, Listener() as inner:
            gpu.synchronize()
            (x * 2).cpu()
    assert inner.heard == outer.heard == ["aten.mul.Tensor", "aten._to_copy.default"]


def test_a_function_mode_and_a_default_device_leave_the_queue_alone() -> None:
    with sim.mode("lazy"):
        x = torch.ones(2, device="sim") + 1
        with torch.device("meta"), FunctionListener() as listener:
            gpu.synchronize()
            y = x * 2
            gpu.synchronize()
    assert listener.heard == ["mul"]
    assert y.tolist() == [4.0, 4.0]


def test_a_flop_counter_counts_once() -> None:
    left, right = torch.ones(2, 3, device="sim"), torch.ones(3, 4, device="sim")
    with sim.mode("lazy"), FlopCounterMode(display=False) as counter:
        (left @ right).cpu()
    assert counter.get_total_flops() == 2 * 2 * 3 * 4


def test_autocast_of_the_host_does_not_reach_the_queue() -> None:
    with sim.mode("lazy"):
        x = torch.ones(2, 2, device="sim")
        before = x @ x
        with torch.autocast("cpu", dtype=torch.bfloat16):
            gpu.synchronize()
            within = x @ x
            gpu.synchronize()
    assert (before.dtype, within.dtype) == (torch.float32, torch.float32)
    assert before.tolist() == within.tolist() == [[2.0, 2.0]] * 2


def test_autocast_on_the_device_is_refused_where_it_would_change_something() -> None:
    x = torch.ones(2, 2, device="sim")
    with (
        torch.autocast("sim", dtype=torch.bfloat16),
        pytest.raises(NotImplementedError, match="no autocast"),
    ):
        x @ x
    with torch.autocast("sim", enabled=False):
        assert (x @ x).dtype == torch.float32


def test_inference_mode_makes_ordinary_device_tensors() -> None:
    with torch.inference_mode():
        made = torch.ones(3, device="sim") * 2
        made.add_(1)
        view = made[1:]
        view.mul_(2)
    weight = torch.ones(3, device="sim", requires_grad=True)
    (weight * made).sum().backward()
    assert made.tolist() == [3.0, 6.0, 6.0]
    assert weight.grad is not None
    assert weight.grad.tolist() == made.tolist()


def test_work_queued_before_inference_mode_may_run_in_it() -> None:
    with sim.mode("lazy"):
        x = torch.ones(3, device="sim") * 2
        with torch.inference_mode():
            gpu.synchronize()
        x.add_(1)
        assert x.tolist() == [3.0] * 3


def test_vmap_and_work_that_runs_within_it() -> None:
    with sim.mode("lazy"):
        total = (torch.ones(2, device="sim") + 1).sum()

        def row(values: torch.Tensor) -> torch.Tensor:
            gpu.synchronize()
            return values * 2 + total

        result = torch.func.vmap(row)(torch.arange(6.0, device="sim").view(3, 2))
    assert result.tolist() == [[4.0, 6.0], [8.0, 10.0], [12.0, 14.0]]


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mistake", "kind", "text"),
    [
        (lambda x: x @ x, RuntimeError, "cannot be multiplied"),
        (lambda x: x + torch.ones(7, device="sim"), RuntimeError, "must match the size"),
        (lambda x: x.view(5), RuntimeError, "invalid for input of size"),
        (lambda x: x.sum(7), IndexError, "Dimension out of range"),
        (lambda x: (x + 1j) > 0, NotImplementedError, "not implemented for 'ComplexFloat'"),
        (lambda x: torch.cat([x, x[0]]), RuntimeError, "same number of dimensions"),
        (lambda x: x.index_add_(0, x.int()[0], x.double()), RuntimeError, "dtype|scalar type"),
    ],
)
def test_mistakes_are_torchs_errors_at_the_call_even_if_the_stream_is_held(
    mistake: Callable[..., Any], kind: type[Exception], text: str
) -> None:
    x = torch.ones(2, 3, device="sim")
    gpu.synchronize()
    with sim.hold(release_after=2.0), pytest.raises(kind, match=text) as caught:
        mistake(x)
    assert not isinstance(caught.value, sim.QueuedOperationError)


def test_bad_data_is_an_error_at_the_next_wait_with_name_and_line() -> None:
    with sim.mode("lazy"):
        x = torch.arange(3, device="sim")
        x[torch.tensor([7], device="sim")]  # the mistake
        with pytest.raises(
            sim.QueuedOperationError, match=r"aten\.index\.Tensor.*out of bounds"
        ) as e:
            gpu.synchronize()
        assert "test_dispatch.py" in str(e.value)


def test_a_singular_matrix_is_an_error_at_once() -> None:
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        torch.linalg.inv(torch.zeros(2, 2, device="sim"))


def test_a_view_cannot_leave_its_storage_although_the_block_is_larger() -> None:
    x = torch.zeros(4, device="sim")
    assert x[1:].as_strided((2, 2), (1, 1), 0).shape == (2, 2)
    for use in (
        lambda: x.as_strided((8,), (1,)),
        lambda: x[2:].as_strided((4,), (1,)),
        lambda: torch.zeros(4, device="sim").as_strided_((8,), (1,)),
    ):
        with pytest.raises(RuntimeError, match="out of bounds"):
            use()


# -- many of them ----------------------------------------------------------------------------------


def queue_many(count: int) -> int:
    """Bytes that stay allocated after `count` more operations."""
    h = torch.ones(8, device="sim")

    def some() -> None:
        for _ in range(count):
            h + 1
        gpu.synchronize()

    some()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        reserved = gpu.memory_reserved()
        some()
        assert gpu.memory_reserved() == reserved
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("mode", ["threaded", "eager"])
def test_thousands_of_operators_leave_memory_flat(mode: str) -> None:
    with sim.mode(mode):
        assert queue_many(3000) < 200_000  # a leak of one object an operation would be more


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_hundred_thousand_operators_leave_memory_flat() -> None:
    import resource

    assert queue_many(50_000) < 100_000
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    queue_many(50_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 20_000  # KiB


def test_two_threads_may_launch_at_once() -> None:
    results: dict[int, list[float]] = {}

    def work(which: int) -> None:
        h = torch.full((4,), float(which), device="sim")
        for _ in range(150):
            h = (h + 1) * 1
            h[:2].add_(1)
        results[which] = h.tolist()

    threads = [threading.Thread(target=work, args=(which,)) for which in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert results == {k: [k + 300.0] * 2 + [k + 150.0] * 2 for k in (0, 1)}
