"""A snapshot as a type: who holds one holds bytes of one moment, because the constructor copies.

`PoolingMetadata` takes any tensor, so it takes a view. `SnapshotMetadata` takes a `Snapshot` and
nothing else, and then the question "is this a view?" has one answer, in one place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from pinlab.serving.metadata import PoolingMetadata


class Snapshot:
    """The values of `source` at this moment, in memory that nobody else has.

    Args:
        source: a host tensor, an array or a list of numbers. If a download is still filling it,
            wait first: a snapshot takes what is there.
        pin_memory: keep them pinned, so that `upload` is asynchronous. Nothing writes to them, so
            that is as safe as pageable memory, on every platform.

    Raises `TypeError` for a device tensor, and for what holds no numbers.

    >>> rows = np.array([2, 4, 8], dtype=np.int32)
    >>> lens = Snapshot(rows[:2])
    >>> rows[:] = 0
    >>> lens
    Snapshot([2, 4], int32)
    """

    __slots__ = ("_rows",)
    _rows: torch.Tensor

    def __init__(
        self, source: torch.Tensor | npt.NDArray[Any] | Sequence[float], pin_memory: bool = False
    ) -> None:
        if isinstance(source, torch.Tensor) and source.device.type != "cpu":
            raise TypeError(f"a snapshot is of host memory, got a tensor on {source.device}")
        try:
            view = (
                source if isinstance(source, torch.Tensor) else torch.from_numpy(np.array(source))
            )
        except (TypeError, ValueError) as error:
            raise TypeError(f"a snapshot is of numbers, got {source!r}") from error
        rows = torch.empty(view.shape, dtype=view.dtype, pin_memory=pin_memory)
        rows.copy_(view.detach())
        object.__setattr__(self, "_rows", rows)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Snapshot does not change; take a new one to set {name!r}")

    @property
    def np(self) -> npt.NDArray[Any]:
        """The values as an array: a copy, so nothing that is done to it arrives here."""
        return self._rows.numpy().copy()

    def tensor(self) -> torch.Tensor:
        """The values as a tensor: a copy, pageable."""
        return self._rows.clone()

    def tolist(self) -> list[Any]:
        """The values as Python numbers."""
        values: list[Any] = self._rows.tolist()
        return values

    def upload(self, device: torch.device | str) -> torch.Tensor:
        """Send the values to the device without waiting; a new tensor there."""
        return self._rows.to(device, non_blocking=True)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        pinned = ", pinned" if self._rows.is_pinned() else ""
        return f"Snapshot({self.tolist()}, {str(self._rows.dtype)[6:]}{pinned})"


class SnapshotMetadata(PoolingMetadata):
    """Metadata that can only be built from a snapshot.

    Raises `TypeError` for anything else, a tensor included: it could be a view.

    >>> SnapshotMetadata(Snapshot([2, 4]), ["a", "b"]).prompt_lens
    tensor([2, 4])
    >>> SnapshotMetadata(torch.tensor([2, 4]), ["a", "b"])
    Traceback (most recent call last):
    TypeError: prompt_lens must be a Snapshot, got a Tensor; a tensor may be a view of the rows
    """

    def __init__(self, prompt_lens: Snapshot, req_ids: list[str]) -> None:
        super().__init__(_checked(prompt_lens).tensor(), list(req_ids))


def _checked(prompt_lens: object) -> Snapshot:
    """The same object; types alone do not stop a caller that nobody checks."""
    if not isinstance(prompt_lens, Snapshot):
        kind = type(prompt_lens).__name__
        raise TypeError(
            f"prompt_lens must be a Snapshot, got a {kind}; a tensor may be a view of the rows"
        )
    return prompt_lens
