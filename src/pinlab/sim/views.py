"""Views and in-place changes of layout: done at once, on metadata; no byte is touched."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.sim.arguments import Arguments
from pinlab.sim.memory import empty_tensor, resize
from pinlab.sim.saving import LoadedStorage
from pinlab.sim.schema import Plan
from pinlab.sim.shapes import MAX_CACHED, Layout
from pinlab.sim.tensor import SimTensor, whole, wrap

# For views that only move: where the result lies, by operator, layout and further arguments.
_places: dict[tuple[Any, ...], tuple[Layout, int]] = {}


def view(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Another tensor, or several, on the same bytes."""
    if not plan.lone or kwargs:
        return _new_view(plan, args, kwargs)
    source, rest = args[0], args[1:]
    if list in map(type, rest):  # sizes, which a key cannot hold as they are
        rest = tuple([tuple(a) if type(a) is list else a for a in rest])
    inner = source._inner
    offset = inner.storage_offset()
    key = (plan, source._layout, rest)
    known = _places.get(key)
    if known is not None:  # a view by strides is torch's quickest
        layout, moved = known
        there = inner.as_strided(layout.shape, layout.stride, offset + moved)
        if there.is_conj() or there.is_neg():
            return _beside(source, wrap(there, layout, source._memory))
        return _beside(source, whole(there, layout, source._memory, offset + moved))
    result = _new_view(plan, args, kwargs)
    if isinstance(result, SimTensor) and _only_moves(inner, result._inner):
        if len(_places) > MAX_CACHED:
            _places.clear()
        _places[key] = result._layout, result._inner.storage_offset() - offset
    return result


def _only_moves(inner: torch.Tensor, result: torch.Tensor) -> bool:
    """Whether a view differs in size, strides and offset alone: not in dtype, not conjugated."""
    same_bits = inner.is_conj() == result.is_conj() and inner.is_neg() == result.is_neg()
    return same_bits and inner.dtype == result.dtype


def _new_view(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    call = Arguments(plan, args, kwargs)
    source = call.tensors[0]
    memory = source._memory
    result = plan.run(*call.args, **call.kwargs)
    if isinstance(result, torch.Tensor):
        return _beside(source, wrap(result, Layout.of(result), memory))
    return [_beside(source, wrap(part, Layout.of(part), memory)) for part in result]


def _beside(source: SimTensor, result: SimTensor) -> SimTensor:
    """Let torch's own code see that both share memory: `matmul` with ``out=`` asks."""
    torch._functionalize_unsafe_set(result, source)
    return result


def as_strided(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The one view that could leave its storage: blocks are larger than what was asked for."""
    result = _new_view(plan, args, kwargs)  # its offset is counted from the storage's start
    _check_bounds(result)
    return result


def move_metadata(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """In-place changes of a layout (`t_`, `squeeze_`, …): same bytes, another layout."""
    call = Arguments(plan, args, kwargs)
    tensor = call.tensors[0]
    inner = tensor._inner.view_as(tensor._inner)  # others may share the header
    plan.run(inner, *call.args[1:], **call.kwargs)
    changed = wrap(inner, Layout.of(inner), tensor._memory)
    _check_bounds(changed)
    tensor.data = changed
    return tensor


def resize_(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`resize_` and `resize_as_`: as far as the storage reaches, else a larger storage."""
    tensor, wanted = args[0], args[1]
    shape = wanted.shape if isinstance(wanted, torch.Tensor) else torch.Size(wanted)
    memory_format = kwargs.get("memory_format") or torch.contiguous_format
    if memory_format is torch.preserve_format:
        if not isinstance(wanted, torch.Tensor):
            raise RuntimeError("Unsupported memory format: Preserve")
        memory_format = torch.contiguous_format
    like = torch.empty(shape, dtype=tensor.dtype, device="meta", memory_format=memory_format)
    if shape != tensor.shape or memory_format is not torch.contiguous_format:
        resize(tensor, like.shape, like.stride())
    return tensor


def set_(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`set_`: look at another tensor's bytes from now on.

    Raises:
        NotImplementedError: for a storage; those of the simulated device hold no bytes.
    """
    tensor, *rest = args
    if not rest:
        layout = Layout.get(torch.Size([0]), (1,), tensor.dtype)
        tensor.data = empty_tensor(layout)  # a new storage: the old one may end here
        return tensor
    source, *where = rest
    if isinstance(source, LoadedStorage):
        source = source.on_device()
    elif not isinstance(source, SimTensor):
        raise NotImplementedError(
            f"{plan.name} got a {type(source).__name__}: the storages of the simulated device "
            "hold no bytes; set_(tensor) and tensor.as_strided(...) work"
        )
    tensor.data = _placed(source, tensor.dtype, *where) if where else source.detach()
    return tensor


def _placed(
    source: SimTensor, dtype: torch.dtype, offset: int, size: list[int], stride: Any = ()
) -> SimTensor:
    stride = tuple(stride) or torch.empty(size, device="meta").stride()
    room = source._memory.block.memory.view(dtype)
    placed = room.as_strided(size, stride, offset)
    result = wrap(placed, Layout.of(placed), source._memory)
    _check_bounds(result)
    return result


def _check_bounds(tensor: SimTensor) -> None:
    """Torch's own check on the CPU sees the block, which is rounded up."""
    layout, memory = tensor._layout, tensor._memory
    end = (tensor._inner.storage_offset() + layout.extent) * layout.dtype.itemsize
    if layout.numel and end > memory.nbytes:
        raise RuntimeError(
            f"sizes {list(layout.shape)}, strides {list(layout.stride)} and storage offset "
            f"{tensor._inner.storage_offset()} need {end} bytes, which are out of bounds for a "
            f"storage of {memory.nbytes} bytes"
        )
