"""Runs an entry of PyTorch's operator database on the simulated device and on the CPU."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch
from torch.utils._pytree import tree_flatten, tree_map

from pinlab import sim

if TYPE_CHECKING:
    from torch.testing._internal.opinfo.core import OpInfo, SampleInput

SAMPLES = 5
ALL = 1_000_000  # more than any operator has
Inputs = tuple[Any, tuple[Any, ...], dict[str, Any]]
Form = Callable[["OpInfo", "SampleInput", Inputs], Any]

# Their results are whatever the memory held: only shape and dtype can be compared.
UNINITIALISED = frozenset(
    {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
)
_ROUNDED = {"rtol": 1e-4, "atol": 1e-4}
_LOOSER = {
    # One fused kernel on the CPU, several on an accelerator of Python's: another order of sums.
    "nn.functional.scaled_dot_product_attention": _ROUNDED,
    "pca_lowrank": _ROUNDED,  # begins with a random matrix
}
# Arguments that torch wants on the host whatever the device.
_STAYS_ON_HOST = {"tensor_split"}


@dataclass(frozen=True)
class Verdict:
    """How one operator did: "matches", "raises", "wrong", or "not run" (the CPU refuses it)."""

    name: str
    kind: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.kind} {self.why}"


def entries(dtype: torch.dtype = torch.float32) -> list[OpInfo]:
    """What the database has for a dtype."""
    # Imported when it is needed: it takes three seconds, and every worker collects every test.
    from torch.testing._internal.common_methods_invocations import op_db

    return [op for op in op_db if dtype in op.dtypes]


def has_gradients(op: OpInfo) -> bool:
    """Whether it can be differentiated."""
    return bool(op.supports_autograd)


def name_of(op: OpInfo) -> str:
    """``name`` or ``name.variant``, as the database calls it."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


def judge(
    op: OpInfo, form: Form, dtype: torch.dtype = torch.float32, samples: int = SAMPLES
) -> Verdict:
    """Compare up to `samples` samples, more if these have no element; a difference decides."""
    ran = compared = False
    for at, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=form is backward)):
        if at >= samples and (compared or not ran):
            break
        try:
            expected, inputs = _on_cpu(op, form, sample)
        except Exception as refusal:
            if _refused_too(op, form, sample):
                continue
            return Verdict(name_of(op), "wrong", f"the CPU refuses: {_short(refusal)}")
        ran = True
        compared = compared or _has_values(expected)
        try:
            found, moved = _on_sim(op, form, sample)
            difference = _difference((expected, inputs), (found, moved), _LOOSER.get(op.name))
        except Exception as error:
            return Verdict(name_of(op), "raises", _short(error))
        if difference and not _only_shapes_count(op, form, sample, expected, found):
            return Verdict(name_of(op), "wrong", difference)
    return Verdict(name_of(op), "matches" if ran else "not run")


# -- forms: how an operator is called, and what is compared ---------------------------------------


def forward(op: OpInfo, sample: SampleInput, inputs: Inputs) -> Any:
    value, args, kwargs = inputs
    return op(value, *args, **kwargs)


def in_place(op: OpInfo, sample: SampleInput, inputs: Inputs) -> Any:
    value, args, kwargs = inputs
    return op.inplace_variant(value, *args, **kwargs)


def out(op: OpInfo, sample: SampleInput, inputs: Inputs) -> Any:
    """Into tensors of the right size, full of something else."""
    value, args, kwargs = inputs
    outputs = tree_map(lambda result: torch.full_like(result, 1), forward(op, sample, inputs))
    return op(value, *args, **kwargs, out=_as_tuple(outputs)), outputs


def out_resized(op: OpInfo, sample: SampleInput, inputs: Inputs) -> Any:
    """Into empty tensors, which grow."""
    value, args, kwargs = inputs
    outputs = tree_map(lambda result: result.new_empty(0), forward(op, sample, inputs))
    return op(value, *args, **kwargs, out=_as_tuple(outputs)), outputs


def backward(op: OpInfo, sample: SampleInput, inputs: Inputs) -> Any:
    """Gradients of everything that has one, of a weighted sum of all results."""
    result = sample.output_process_fn_grad(forward(op, sample, inputs))
    leaves = [t for t in _tensors(inputs) if t.requires_grad]
    total: Any = 0.0
    for part in _tensors(result):
        if part.requires_grad:
            part = torch.view_as_real(part.resolve_conj()) if part.is_complex() else part
            weights = torch.arange(1, part.numel() + 1, device=part.device).view(part.shape)
            total = total + (part * weights.sin()).sum()
    if not isinstance(total, torch.Tensor):
        return None
    gradients = torch.autograd.grad(total, leaves, allow_unused=True)
    return [None if g is None else g.contiguous() for g in gradients]  # their strides are free


def _as_tuple(outputs: Any) -> Any:
    return tuple(outputs) if isinstance(outputs, (tuple, list)) else outputs


# -- the two devices ------------------------------------------------------------------------------


def _on_cpu(op: OpInfo, form: Form, sample: SampleInput, shift: int = 0) -> tuple[Any, Any]:
    """The result, and the arguments afterwards. `shift` is added to every seed."""
    inputs = tree_map(_copied, (sample.input, sample.args, sample.kwargs))
    with mock.patch("torch.manual_seed", lambda number: _seed(number + shift)):
        torch.manual_seed(1)
        return form(op, sample, inputs), _tensors(inputs)


def _seed(number: int) -> torch.Generator:
    """What `torch.manual_seed` does here, without the stack traces that it takes for CUDA."""
    torch.get_device_module("sim").manual_seed(number)
    return torch.default_generator.manual_seed(number)


def _on_sim(op: OpInfo, form: Form, sample: SampleInput) -> tuple[Any, Any]:
    given = (sample.input, sample.args, sample.kwargs)
    inputs = tree_map(_to_sim, given)
    if op.name in _STAYS_ON_HOST:
        inputs = (inputs[0], *given[1:])
    torch.manual_seed(1)
    found = form(op, sample, inputs)
    torch.get_device_module("sim").synchronize()
    return found, _tensors(inputs)


def _copied(value: Any) -> Any:
    """The same view of a copy of the same storage."""
    if not isinstance(value, torch.Tensor):
        return value
    if value.layout is not torch.strided:
        return value.detach().clone()
    return _viewed(value, _whole(value).clone())


def _to_sim(value: Any) -> Any:
    """The same view of a copy of the same storage on the device."""
    if isinstance(value, (str, torch.device)) and str(value) == "cpu":
        return "sim"
    if not isinstance(value, torch.Tensor):
        return value
    if value.layout is not torch.strided:
        return value.to("sim")
    return _viewed(value, _whole(value).to("sim"))


def _whole(value: torch.Tensor) -> torch.Tensor:
    plain = value.detach().conj() if value.is_conj() else value.detach()
    return torch.empty(0, dtype=value.dtype).set_(plain.untyped_storage())


def _viewed(value: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
    view = whole.as_strided(value.shape, value.stride(), value.storage_offset())
    view = view.conj() if value.is_conj() else view
    return view.detach().requires_grad_(value.requires_grad)


def _has_values(result: Any) -> bool:
    leaves = [leaf for leaf in tree_flatten(result)[0] if leaf is not None]
    return any(leaf.numel() if isinstance(leaf, torch.Tensor) else True for leaf in leaves)


def _tensors(inputs: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_flatten(inputs)[0] if isinstance(leaf, torch.Tensor)]


# -- comparing ------------------------------------------------------------------------------------


def _difference(
    expected: Any, found: Any, close: dict[str, float] | None = None, values: bool = True
) -> str:
    """Empty if equal: structure, dtype, shape, strides, values, which may be off by `close`."""
    left, right = tree_flatten(expected)[0], tree_flatten(found)[0]
    if len(left) != len(right):
        return f"{len(right)} results instead of {len(left)}"
    for a, b in zip(left, right, strict=True):
        problem = _tensors_differ(a, b, close, values) if isinstance(a, torch.Tensor) else ""
        if not isinstance(a, torch.Tensor) and values and not _plain_equal(a, b):
            problem = f"{b!r} instead of {a!r}"
        if problem:
            return problem
    return ""


def _tensors_differ(
    expected: torch.Tensor, found: Any, close: dict[str, float] | None, values: bool
) -> str:
    if not isinstance(found, torch.Tensor):
        return f"a {type(found).__name__} instead of a tensor"
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return f"{found.shape} {found.dtype} instead of {expected.shape} {expected.dtype}"
    if _steps(found) != _steps(expected):
        return f"strides {found.stride()} instead of {expected.stride()} of {found.shape}"
    if values:
        try:
            torch.testing.assert_close(
                found.detach().cpu(), expected.detach(), equal_nan=True, **close or {}
            )
        except AssertionError as error:
            return " ".join(str(error).split())[:200]
    return ""


def _steps(tensor: torch.Tensor) -> list[int]:
    """Strides of the dimensions that are stepped along."""
    steps = zip(tensor.shape, tensor.stride(), strict=True) if tensor.numel() else ()
    return [step for length, step in steps if length > 1]


def _plain_equal(expected: Any, found: Any) -> bool:
    if isinstance(expected, (str, torch.device)) and str(found).startswith("sim"):
        return True
    return type(expected) is type(found) and (expected == found or expected != expected)


def _only_shapes_count(
    op: OpInfo, form: Form, sample: SampleInput, expected: Any, found: Any
) -> bool:
    """Uninitialised memory, and whatever gives other numbers on the CPU under another seed.

    Several seeds: of some results (`pca_lowrank`) only the signs depend on it.
    """
    is_random = op.name in UNINITIALISED or any(
        _difference(expected, _on_cpu(op, form, sample, shift)[0]) for shift in range(1, 9)
    )
    return is_random and not _difference(expected, found, values=False)


def _refused_too(op: OpInfo, form: Form, sample: SampleInput) -> bool:
    try:
        _on_sim(op, form, sample)
    except Exception:
        return True
    return False


def _short(error: BaseException) -> str:
    return f"{type(error).__name__}: " + " ".join(str(error).split())[:160]


@contextmanager
def _light() -> Iterator[None]:
    """Without warnings, and without the database's walks through pytest's deep stack."""
    internal = "torch.testing._internal"
    with (
        warnings.catch_warnings(),
        mock.patch("torch.manual_seed", _seed),
        mock.patch(f"{internal}.common_utils.extract_test_fn", return_value=None),
        mock.patch(f"{internal}.opinfo.core.extract_test_fn", return_value=None),
    ):
        warnings.simplefilter("ignore")
        yield


def run_all(
    form: Form,
    wanted: Callable[[OpInfo], bool],
    mode: str,
    dtype: torch.dtype = torch.float32,
    samples: int = SAMPLES,
) -> list[Verdict]:
    """Judge every entry that `wanted` picks, in one mode of the device."""
    with _light(), sim.mode(mode):
        return [judge(op, form, dtype, samples) for op in entries(dtype) if wanted(op)]
