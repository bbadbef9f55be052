"""A device tensor as a Python object: printing, conversions, copies, pickles, identity."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch

from pinlab import sim
from pinlab.sim import SimTensor
from tools.nursery import run_script

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))

VALUES = [
    torch.tensor([1.0, 2.5]),
    torch.tensor(3),
    torch.tensor(float("nan")),
    torch.tensor([]),
    torch.zeros(0, 3),
    torch.zeros(2, 0, dtype=torch.int32),
    torch.tensor([1, 2], dtype=torch.int32),
    torch.tensor([True, False]),
    torch.tensor([1 + 2j, -0.5j]),
    torch.tensor([1e-9, 1e9], dtype=torch.float64),
    torch.tensor([1.0], dtype=torch.bfloat16),
    torch.arange(2000.0),
    torch.arange(60.0).view(3, 4, 5),
    torch.arange(30).view(1, 30) * 10**9,
]


def as_cuda_would(value: torch.Tensor) -> str:
    """Torch's own text for a CPU tensor where the CPU is not the default device."""
    with mock.patch("torch._C._get_default_device", return_value="another"):
        return repr(value).replace("device='cpu'", "device='sim:0'")


@pytest.mark.parametrize("value", VALUES, ids=lambda v: f"{tuple(v.shape)}-{v.dtype}")
def test_repr_is_torchs_with_the_device_added(value: torch.Tensor) -> None:
    assert repr(value.to("sim")) == as_cuda_would(value)


def test_repr_of_gradients_and_parameters() -> None:
    leaf = torch.ones(2, device="sim", requires_grad=True)
    assert repr(leaf) == "tensor([1., 1.], device='sim:0', requires_grad=True)"
    assert repr(leaf * 2) == "tensor([2., 2.], device='sim:0', grad_fn=<MulBackward0>)"
    parameter = torch.nn.Parameter(torch.ones(2, device="sim"))
    assert repr(parameter) == (
        "Parameter containing:\ntensor([1., 1.], device='sim:0', requires_grad=True)"
    )


def test_repr_of_a_function_written_in_python() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad * 2

    leaf = torch.ones(1, device="sim", requires_grad=True)
    assert repr(Double.apply(leaf)) == "tensor([2.], device='sim:0', grad_fn=<DoubleBackward>)"


def test_repr_follows_print_options_and_the_default_dtype() -> None:
    value = torch.tensor([1.23456789], device="sim")
    with torch._tensor_str.printoptions(precision=2):
        assert repr(value) == "tensor([1.23], device='sim:0')"
    torch.set_default_dtype(torch.float64)
    try:
        assert "dtype=torch.float32" in repr(value)
        assert "dtype" not in repr(value.double())
    finally:
        torch.set_default_dtype(torch.float32)


def test_printing_waits_for_the_stream(capsys: pytest.CaptureFixture[str]) -> None:
    with sim.mode("lazy"):
        there = torch.zeros(2, device="sim") + 4
        print(there)
    assert capsys.readouterr().out == "tensor([4., 4.], device='sim:0')\n"


def test_formatting_takes_the_value_of_a_scalar_only() -> None:
    scalar = torch.tensor(2.5, device="sim")
    assert f"{scalar:.2f}" == f"{scalar.cpu():.2f}" == "2.50"
    assert f"{torch.ones(1, device='sim')}" == "tensor([1.], device='sim:0')"
    with pytest.raises(TypeError):
        format(torch.ones(2, device="sim"), ".2f")


def test_conversions_to_python() -> None:
    assert bool(torch.tensor(1, device="sim")) is True
    assert int(torch.tensor(7.9, device="sim")) == 7
    assert float(torch.tensor(2, device="sim")) == 2.0
    assert complex(torch.tensor(1 + 2j, device="sim")) == 1 + 2j
    assert torch.tensor([[1, 2], [3, 4]], device="sim").tolist() == [[1, 2], [3, 4]]
    assert torch.tensor(5, device="sim").tolist() == 5
    assert [10, 11, 12][torch.tensor(1, device="sim")] == 11
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(torch.ones(2, device="sim"))


def test_container_protocol() -> None:
    rows = torch.arange(6, device="sim").view(3, 2)
    assert len(rows) == 3
    assert [row.tolist() for row in rows] == [[0, 1], [2, 3], [4, 5]]
    assert 4 in rows
    assert 9 not in rows
    first, *_ = rows
    assert first.device == torch.device("sim", 0)
    with pytest.raises(TypeError, match="0-d"):
        len(torch.tensor(1, device="sim"))


def test_numpy_is_torchs_type_error() -> None:
    there = torch.ones(2, device="sim")
    message = r"can't convert sim:0 device type tensor to numpy\. Use Tensor\.cpu\(\)"
    with pytest.raises(TypeError, match=message):
        there.numpy()
    with pytest.raises(TypeError, match=message):
        np.asarray(there)
    with pytest.raises(TypeError, match=message):
        np.add(np.ones(2), there)
    assert there.numpy(force=True).tolist() == [1.0, 1.0]
    conjugate = torch.tensor([1 + 2j], device="sim").conj()
    assert conjugate.numpy(force=True).tolist() == [1 - 2j]


def test_what_kind_of_object_it_is() -> None:
    there = torch.ones(2, 3, device="sim")
    assert isinstance(there, torch.Tensor)
    assert torch.is_tensor(there)
    assert there.device == torch.device("sim:0") == torch.device("sim", 0)
    assert there.is_sim
    assert not there.is_cuda
    assert not there.is_pinned()
    assert not there.is_shared()
    assert not there.is_meta
    assert there.get_device() == 0
    assert there.type() == "torch.sim.FloatTensor"
    assert (there.itemsize, there.nbytes, there.element_size()) == (4, 24, 4)
    assert hash(there) == id(there)
    assert torch.accelerator.current_accelerator() == torch.device("sim")
    assert torch.accelerator.device_count() == 1


def test_addresses_show_which_tensors_share_memory() -> None:
    base = torch.zeros(4, 4, device="sim")
    assert base[1].data_ptr() == base.data_ptr() + 16
    assert base[1].storage_offset() == 4
    assert base.T.data_ptr() == base.data_ptr()
    assert base.clone().data_ptr() != base.data_ptr()
    assert base.untyped_storage().nbytes() == 64


def test_equality_of_whole_tensors() -> None:
    left = torch.arange(3.0, device="sim")
    assert torch.equal(left, left.clone())
    assert not torch.equal(left, left + 1)
    assert torch.allclose(left, left + 1e-9)
    with pytest.raises(sim.DeviceMismatchError, match="sim:0 and cpu"):
        torch.equal(left, left.cpu())


def test_as_tensor_and_friends() -> None:
    there = torch.ones(2, device="sim")
    assert torch.as_tensor(there) is there
    assert torch.as_tensor([1, 2], device="sim").device.type == "sim"
    assert torch.asarray(there) is there
    assert torch.tensor([torch.tensor(1.0, device="sim"), 2.0]).tolist() == [1.0, 2.0]
    assert torch.tensor([1, 2], device="sim").tolist() == [1, 2]
    assert there.to("sim") is there
    assert there.sim() is there
    assert there.cpu().device.type == "cpu"


@pytest.mark.parametrize("device", ["sim", "cpu"])
def test_new_and_like_go_where_they_are_told(device: str) -> None:
    there = torch.ones(2, 3, dtype=torch.float64, device="sim")
    made = [
        there.new_zeros(3, device=device),
        there.new_ones(3, device=device),
        there.new_full((3,), 7, device=device),
        there.new_empty(3, device=device),
        there.new_tensor([1, 2], device=device),
        torch.zeros_like(there, device=device),
        torch.ones_like(there, device=device),
        torch.full_like(there, 7, device=device),
        torch.empty_like(there, device=device),
        torch.rand_like(there, device=device),
        torch.randn_like(there, device=device),
    ]
    assert {tensor.device.type for tensor in made} == {device}
    assert {tensor.dtype for tensor in made} == {torch.float64}
    assert made[2].tolist() == [7.0] * 3
    assert made[7].tolist() == [[7.0] * 3] * 2


def test_like_of_a_host_tensor_on_the_device() -> None:
    here = torch.ones(2, 3, dtype=torch.int16)
    for make in (torch.zeros_like, torch.empty_like, torch.ones_like):
        there = make(here, device="sim")
        assert isinstance(there, SimTensor)
        assert (there.shape, there.dtype) == (here.shape, here.dtype)


@pytest.mark.parametrize("index", [1, 7])
def test_there_is_one_device_only(index: int) -> None:
    for make in (
        lambda: torch.zeros(2, device=f"sim:{index}"),
        lambda: torch.zeros(2).to(f"sim:{index}"),
        lambda: torch.zeros(2, device="sim").to(f"sim:{index}"),
    ):
        with pytest.raises(ValueError, match="index 0"):
            make()


# -- copies and pickles ----------------------------------------------------------------------------


def test_deepcopy_is_independent_and_keeps_what_the_tensor_is() -> None:
    parameter = torch.nn.Parameter(torch.arange(3.0, device="sim"))
    (parameter * 2).sum().backward()
    twin = copy.deepcopy(parameter)
    with torch.no_grad():
        parameter.zero_()
    assert isinstance(twin, torch.nn.Parameter)
    assert twin.requires_grad
    assert twin.tolist() == [0.0, 1.0, 2.0]
    assert twin.grad is not None
    assert twin.grad.tolist() == [2.0] * 3
    assert twin.grad is not parameter.grad


def test_deepcopy_keeps_strides_and_shared_memory() -> None:
    base = torch.arange(6.0, device="sim").view(2, 3)
    twins = copy.deepcopy({"base": base, "column": base[:, 1], "again": base, "t": base.T})
    assert twins["again"] is twins["base"]
    assert twins["t"].stride() == base.T.stride()
    twins["column"].fill_(-1)
    assert twins["base"].tolist() == [[0, -1, 2], [3, -1, 5]]
    assert twins["t"].tolist() == [[0, 3], [-1, -1], [2, 5]]
    assert base.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_deepcopy_keeps_conjugate_and_negative_views() -> None:
    value = torch.tensor([1 + 2j], device="sim")
    assert copy.deepcopy(value.conj()).tolist() == [1 - 2j]
    assert copy.deepcopy(value.conj().imag).tolist() == [-2.0]


def test_deepcopy_of_a_result_with_gradients_is_torchs_error() -> None:
    result = torch.ones(1, device="sim", requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="leaves"):
        copy.deepcopy(result)


def test_deepcopy_is_queued_after_what_it_copies() -> None:
    with sim.mode("lazy"):
        there = torch.zeros(3, device="sim") + 1
        twin = copy.deepcopy(there)
        there.add_(1)
        assert (twin.tolist(), there.tolist()) == ([1.0] * 3, [2.0] * 3)


def test_shallow_copy_shares_memory_as_torchs_does() -> None:
    there = torch.zeros(2, device="sim", requires_grad=True)
    twin = copy.copy(there)
    assert twin is not there
    assert twin.data_ptr() == there.data_ptr()
    assert twin.requires_grad
    assert twin.is_leaf


def test_pickle_goes_through_the_host() -> None:
    parameter = torch.nn.Parameter(torch.arange(3.0, device="sim"))
    loaded = pickle.loads(pickle.dumps({"p": parameter, "v": parameter.detach()[1:]}))
    assert isinstance(loaded["p"], torch.nn.Parameter)
    assert loaded["p"].device.type == "sim"
    assert loaded["p"].requires_grad
    assert loaded["v"].tolist() == [1.0, 2.0]


def saved(value: Any) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file


@pytest.mark.parametrize(
    ("map_location", "device"),
    [(None, "sim"), ("cpu", "cpu"), ("sim", "sim"), (torch.device("cpu"), "cpu")],
)
def test_saved_tensors_load_where_map_location_says(map_location: Any, device: str) -> None:
    there = torch.arange(6, device="sim").view(2, 3)
    loaded = torch.load(saved({"a": there, "b": there.T}), map_location=map_location)
    assert {tensor.device.type for tensor in loaded.values()} == {device}
    assert loaded["a"].tolist() == there.tolist()
    assert loaded["b"].tolist() == there.T.tolist()


def test_host_tensors_load_onto_the_device_with_what_they_share() -> None:
    base = torch.arange(6.0)
    loaded = torch.load(saved([base, base[2:4], base.view(2, 3).T]), map_location="sim")
    assert all(isinstance(tensor, SimTensor) for tensor in loaded)
    loaded[1].zero_()
    assert loaded[0].tolist() == [0, 1, 0, 0, 4, 5]
    assert loaded[2].tolist() == [[0, 0], [1, 4], [0, 5]]


def test_a_file_can_be_read_without_pinlab(tmp_path: Any) -> None:
    torch.save({"w": torch.arange(3.0, device="sim")}, tmp_path / "w.pt")
    script = (
        f"import torch\nw = torch.load({str(tmp_path / 'w.pt')!r}, map_location='cpu')['w']\n"
        "assert type(w) is torch.Tensor and w.tolist() == [0.0, 1.0, 2.0]\n"
    )
    run_script(script, check=True)


def test_storages_are_refused_not_a_crash() -> None:
    there = torch.ones(3, device="sim")
    for use in (
        lambda: torch.UntypedStorage(8, device="sim"),
        lambda: there.untyped_storage().clone(),
        lambda: there.untyped_storage().data_ptr(),
        lambda: copy.deepcopy(there.untyped_storage()),
        lambda: torch.ones(3).untyped_storage().to(device="sim"),
        lambda: torch.zeros(3, device="sim").set_(there.untyped_storage()),
    ):
        with pytest.raises((RuntimeError, NotImplementedError)):
            use()


def test_torchs_own_streams_and_events_are_refused_not_silent() -> None:
    for use in (
        lambda: torch.Stream(device="sim"),
        lambda: torch.Event("sim"),
        torch.accelerator.current_stream,
    ):
        with pytest.raises(sim.SimError, match="get_device_module"):
            use()
    assert isinstance(torch.Stream(device="cpu"), torch.Stream)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.to_sparse(),
        lambda x: x.to_sparse_csr(),
        lambda x: x.to_mkldnn(),
        lambda x: torch.sparse_coo_tensor(x.long(), x[0], device="sim"),
        lambda x: torch.nested.nested_tensor([x, x], layout=torch.strided),
        lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8).cpu(),
    ],
)
def test_other_kinds_of_tensors_are_refused(make: Any) -> None:
    with pytest.raises((NotImplementedError, RuntimeError)):
        make(torch.ones(2, 2, device="sim"))


def test_pinning_a_device_tensor_is_refused() -> None:
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        torch.ones(2, device="sim").pin_memory()
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        torch.ones(2, device="sim", pin_memory=True)


def test_record_stream_wants_a_stream_of_this_device() -> None:
    there = torch.ones(2, device="sim")
    there.record_stream(gpu.Stream())
    with pytest.raises((TypeError, AttributeError)):
        there.record_stream(torch.Stream(device="cpu"))
