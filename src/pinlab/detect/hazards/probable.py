"""Hazards on a real GPU, from snapshots: "probable", because only changed bytes can be seen.

The source of each `non_blocking` upload from pinned memory is copied when it is queued, and
compared when an event says that the upload is over. A difference means that the host wrote in
between, or very shortly after. Reads, equal bytes, and writes that were undone leave no trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from pinlab.detect.hazards.hazard import Between, Buffer, Findings, Hazard, Kind
from pinlab.detect.hazards.line import host_line
from pinlab.detect.hazards.names import name_of
from pinlab.sim import Place
from pinlab.sim.extent import changed, read, runs_of


@dataclass
class _Upload:
    tensor: torch.Tensor
    event: Any
    place: Place
    bytes: list[bytes]
    name: str


class Snapshots(TorchDispatchMode):
    """Keeps snapshots of pinned upload sources; `findings` grows as uploads complete.

    Args:
        gpu: the device module, ``torch.cuda``.
    """

    def __init__(self, gpu: Any) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.gpu = gpu
        self.findings = Findings()
        self.uploads: list[_Upload] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        self.compare()
        source = _late_source(func, args, kwargs)
        if source is None:
            return func(*args, **kwargs)
        runs = runs_of(source)
        before = read(runs)  # before the call: afterwards the host may be late already
        result = func(*args, **kwargs)
        event = self.gpu.current_stream().record_event()
        self.uploads.append(_Upload(source, event, host_line(), before, name_of(runs)))
        return result

    def compare(self, wait: bool = False) -> None:
        """Look at the uploads that are over; all of them if `wait`."""
        going = []
        for upload in self.uploads:
            if wait:
                upload.event.synchronize()
            if upload.event.query():
                self._compare(upload)
            else:
                going.append(upload)
        self.uploads = going

    def _compare(self, upload: _Upload) -> None:
        runs = runs_of(upload.tensor)
        now = read(runs)
        if not changed(runs, upload.bytes, now):
            return
        tensor = upload.tensor
        size = tensor.numel() * tensor.element_size()
        dtype = str(tensor.dtype).removeprefix("torch.")
        self.findings.append(
            Hazard(
                Kind.SOURCE_WRITTEN,
                Buffer(upload.name, tuple(tensor.shape), dtype, size, pinned=True),
                "upload",
                None,
                upload.place,
                Between(upload.place, host_line()),
                b"".join(upload.bytes),
                b"".join(now),
                certain=False,
            )
        )


def _late_source(func: Any, args: Any, kwargs: Any) -> torch.Tensor | None:
    """The pinned CPU tensor that this call uploads asynchronously, if it does."""
    name = func.name()
    if name == "aten::copy_" and len(args) >= 2:
        target, source = args[0], args[1]
        late = args[2] if len(args) > 2 else kwargs.get("non_blocking", False)
        leaves = target.device.type != "cpu"
    elif name == "aten::_to_copy":
        source, late = args[0], kwargs.get("non_blocking", False)
        device = kwargs.get("device")
        leaves = device is not None and torch.device(device).type != "cpu"
    else:
        return None
    is_host = isinstance(source, torch.Tensor) and source.device.type == "cpu"
    return source if late and leaves and is_host and source.is_pinned() else None
