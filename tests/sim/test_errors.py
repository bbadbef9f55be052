"""What the device refuses, and what it says."""

from __future__ import annotations

import sys
import threading

import pytest
import torch

from pinlab import sim
from pinlab.sim.modes import MODES
from pinlab.sim.operation import Operation
from pinlab.sim.state import accelerator

sim.install()
gpu = torch.get_device_module(torch.device("sim"))


def fail(name: str = "bad") -> int:
    """Queue an operation that fails; return its line."""

    def work() -> None:
        raise ArithmeticError(f"{name} divided by nothing")

    accelerator().submit(Operation(name, "kernel", gpu.current_stream().queue, work))
    return sys._getframe().f_lineno - 1


@pytest.mark.parametrize("mode", MODES)
def test_a_failure_is_raised_at_the_next_wait_and_later_work_still_runs(mode: str) -> None:
    with sim.mode(mode):
        there = torch.ones(2, device="sim")
        line = fail()
        there.add_(1)  # not skipped
        with pytest.raises(sim.QueuedOperationError) as caught:
            gpu.synchronize()
        assert "bad failed on the device" in str(caught.value)
        assert f"test_errors.py:{line}" in str(caught.value)
        assert isinstance(caught.value.__cause__, ArithmeticError)
        assert there.tolist() == [2, 2]


@pytest.mark.parametrize("mode", MODES)
def test_each_failure_is_raised_once(mode: str) -> None:
    with sim.mode(mode):
        fail("first")
        fail("second")
        for name in ("first", "second"):
            with pytest.raises(sim.QueuedOperationError, match=name):
                gpu.synchronize()
        gpu.synchronize()


def test_a_failure_can_be_heard_of_on_another_stream_and_thread() -> None:
    side, found = gpu.Stream(), []
    with gpu.stream(side):
        fail()
    while sim.pending():
        pass

    def ask() -> None:
        try:
            gpu.synchronize()
        except sim.QueuedOperationError as error:
            found.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join(10)
    assert len(found) == 1
    gpu.synchronize()


def test_an_operator_that_torch_refuses_late_is_named_with_its_line() -> None:
    """An index out of range is found by the device, long after the call returned."""
    table, wrong = torch.zeros(3, 2, device="sim"), torch.tensor([7]).to("sim")
    line = sys._getframe().f_lineno + 1
    found = torch.nn.functional.embedding(wrong, table)
    with pytest.raises(sim.QueuedOperationError, match=rf"embedding.*test_errors\.py:{line}"):
        found.tolist()


def test_two_devices_in_one_call_are_refused_at_the_call() -> None:
    there, here = torch.ones(2, device="sim"), torch.ones(2)
    for call in (lambda: there + here, lambda: here + there, lambda: torch.cat([there, here])):
        with pytest.raises(sim.DeviceMismatchError, match=r"same device.*sim:0 and cpu"):
            call()
    assert (there + torch.tensor(2.0)).tolist() == [3, 3]  # a number from the host is no mistake


def test_numpy_on_a_device_tensor_is_torchs_type_error() -> None:
    there = torch.ones(2, device="sim")
    with pytest.raises(TypeError, match=r"can't convert sim:0 device type tensor to numpy"):
        there.numpy()
    assert there.cpu().numpy().tolist() == [1, 1]


def test_only_dense_host_tensors_can_be_pinned() -> None:
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        torch.ones(2, device="sim").pin_memory()
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        torch.zeros(2, device="sim", pin_memory=True)


def test_every_error_of_the_device_is_a_sim_error() -> None:
    for kind in (
        sim.HeldStreamError,
        sim.QueuedOperationError,
        sim.ForkedProcessError,
        sim.DeviceMismatchError,
    ):
        assert issubclass(kind, sim.SimError)
        assert issubclass(kind, RuntimeError)  # as torch's own
