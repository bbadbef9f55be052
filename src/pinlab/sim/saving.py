"""``torch.load(…, map_location="sim")``, and storages, which a Python backend does not have.

`torch.save` stores a device tensor as a CPU tensor and the name of the device (`SimTensor`), so a
file can be read anywhere. Loading *to* the device, torch first moves a file's storages there. Here
they stay host memory under a name tag, and the tensors that look at them are made on the device.
"""

from __future__ import annotations

from typing import Any

import torch

from pinlab.sim.errors import SimError
from pinlab.sim.tensor import SimTensor

_FIRST = 5  # before torch's own packages, which begin at 10


class LoadedStorage(torch.UntypedStorage):
    """A file's storage on its way to the device; `whole` is its copy there, once made."""

    whole: SimTensor | None = None

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return torch.device("sim", 0)

    def on_device(self) -> SimTensor:
        """All its bytes, as one device tensor; the same for every tensor that looks at them."""
        if self.whole is None:
            host = torch.empty(0, dtype=torch.uint8, device="cpu").set_(self)
            self.whole = host.to("sim")  # type: ignore[assignment]
        assert self.whole is not None
        return self.whole


def _restore(storage: Any, location: str) -> Any:
    if location.partition(":")[0] != "sim":
        return None
    loaded: Any = LoadedStorage(storage.nbytes())  # type: ignore[no-untyped-call]
    loaded.copy_(storage, False)
    return loaded


def register_loading() -> None:
    """Teach `torch.load` the location ``"sim"``, and let storages be refused with an error."""
    torch.serialization.register_package(_FIRST, lambda storage: None, _restore)
    original = torch.UntypedStorage.__new__

    def new(cls: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        if device is not None and torch.device(device).type == "sim":
            raise SimError("the simulated device has no storages, only tensors")
        return original(cls, *args, **({} if device is None else {"device": device}), **kwargs)

    torch.UntypedStorage.__new__ = new  # type: ignore[method-assign]
