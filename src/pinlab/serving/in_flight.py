"""A pinned buffer that knows what is in flight, so that its host rows cannot be written too early.

The usual pair of a pinned tensor and its device copy leaves two duties to every user: record an
event behind each upload, and wait for it before the next write. Here both are part of the only two
ways in: `upload()` records, `writing()` waits or refuses. Neither can be had without the other.

What Python cannot enforce: it cannot take a view back that somebody keeps. By default nobody is
given one: a writing block works on a draft, and the pinned rows take its values when the block
ends. With `direct=True` the block is given the pinned rows themselves, for the price of one rule
that is on trust: no view of them outlives the block. One host thread is meant to use a buffer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from pinlab.serving.caller import caller
from pinlab.sim.place import Place

Rows = npt.NDArray[Any]
POLICIES = ("wait", "refuse")


class InFlightError(RuntimeError):
    """A buffer was used in a way that could race; says which buffer, and which two lines."""


@dataclass(frozen=True)
class Upload:
    """The last upload: its event, the line that queued it, how many rows it reads."""

    event: Any
    place: Place
    rows: int


@dataclass(frozen=True)
class Block:
    """An open writing block: the line that opened it, and what it may write to."""

    place: Place
    tensor: torch.Tensor
    rows: Rows


class InFlightBuffer:
    """Rows on the host in pinned memory, their copy on the device, and what lies between.

    Args:
        name: what errors call the buffer.
        size: number of rows, 1 or more; or a shape whose first number is that.
        dtype: of both sides; one that numpy has too.
        device: where `.gpu` lives.
        when_pending: what `writing()` does about an upload that nobody has waited for: ``"wait"``
            for it, or ``"refuse"`` with `InFlightError`. Refusing does not depend on luck: whether
            the copy has in fact run plays no part until `wait()` or `ready()` has been asked.
        direct: give writing blocks the pinned rows themselves, not a draft. Saves 2 × nbytes of
            host copies a block; a view that is kept from the block is then a way round the gate.

    Raises `ValueError` for a size, dtype or policy that it cannot serve.

    >>> from pinlab import sim
    >>> sim.install()
    >>> lens = InFlightBuffer("lens", 3, device="sim")
    >>> with lens.writing() as rows:
    ...     rows[:] = [2, 4, 8]
    >>> lens.upload()
    tensor([2, 4, 8], device='sim:0', dtype=torch.int32)
    >>> lens
    <InFlightBuffer 'lens': 3 × int32, upload of ...:1 pending; writing() waits>
    >>> lens.np[1] = 40
    Traceback (most recent call last):
    ValueError: assignment destination is read-only
    """

    def __init__(
        self,
        name: str,
        size: int | tuple[int, ...],
        dtype: torch.dtype = torch.int32,
        *,
        device: torch.device | str,
        when_pending: str = "wait",
        direct: bool = False,
    ) -> None:
        shape = (size,) if isinstance(size, int) else tuple(size)
        if not shape or min(shape) < 1:
            raise ValueError(f"buffer {name!r}: size={size!r}; every number must be 1 or more")
        if when_pending not in POLICIES:
            raise ValueError(
                f"buffer {name!r}: when_pending={when_pending!r}; it is one of {POLICIES}"
            )
        self.name = name
        self.when_pending = when_pending
        self.direct = direct
        self.waits = 0  # uploads that this buffer made the host wait for
        self.last_wait = ""  # the same in words, for the last of them
        self._pinned = torch.zeros(shape, dtype=dtype, pin_memory=True)
        self._gpu = torch.zeros(shape, dtype=dtype, device=device)
        self._written = torch.get_device_module(self._gpu.device).Event()  # .gpu, last of all
        self._written.record()
        try:
            self._pinned.numpy()
        except TypeError as error:
            raise ValueError(f"buffer {name!r}: dtype={dtype}; numpy has none like it") from error
        self._pending: Upload | None = None  # its event covers those before it
        self._block: Block | None = None

    # -- the three faces ------------------------------------------------------------------------

    @property
    def np(self) -> Rows:
        """The rows as an array: within a writing block that block's rows, else a read-only look.

        Outside a block it is a copy of the moment; with `direct=True` a read-only view, which
        torch does not respect (`torch.from_numpy` warns, and writes through).
        """
        if self._block is not None:
            return self._block.rows
        if not self.direct:
            look: Rows = self._pinned.numpy().copy()
            look.flags.writeable = False
            return look
        # Over a read-only buffer, so that nobody can set `flags.writeable` to True again.
        rows = self._pinned.numpy()
        face: Rows = np.frombuffer(rows.data.toreadonly(), dtype=rows.dtype)
        return face.reshape(self._pinned.shape)

    @property
    def cpu(self) -> torch.Tensor:
        """The rows as a tensor, within a writing block only: torch has no read-only tensors.

        Raises `InFlightError` outside.
        """
        if self._block is None:
            raise InFlightError(
                f"buffer {self.name!r}: .cpu at {caller()} is outside a writing block, and a "
                "tensor cannot be made read-only; use .np to look, writing() to write"
            )
        return self._block.tensor

    @property
    def gpu(self) -> torch.Tensor:
        """The device's rows: the same memory for every upload, as captured graphs need it."""
        return self._gpu

    # -- the two ways in ------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[Rows]:
        """Open the rows for writing: first waits for pending uploads, or refuses.

        Yields the rows, an array. They are locked when the block ends. A block that ends with an
        exception changes nothing, unless the buffer is `direct`.
        """
        with self._writing_from(self._pinned) as rows:
            yield rows

    @contextmanager
    def _writing_from(self, start: torch.Tensor) -> Iterator[Rows]:
        """A writing block that begins with the values of `start`."""
        place = caller()
        self._must_be_closed(f"writing() at {place}")
        self._gate(place)
        tensor = self._pinned if self.direct else start.clone()
        if self.direct and start is not self._pinned:
            tensor.copy_(start)
        block = self._block = Block(place, tensor, tensor.numpy())
        try:
            yield block.rows
            if not self.direct:
                self._pinned.copy_(tensor)
        finally:
            self._block = None
            block.rows.flags.writeable = False

    def upload(self, rows: int | None = None) -> torch.Tensor:
        """Queue the copy of the first `rows` (default: all) on the current stream; do not wait.

        Returns that part of `.gpu`. Work that is queued on this stream before the next upload
        reads these values; keep a `.clone()` for longer. The event is recorded here. An upload on
        another stream runs behind the last one, as it writes to the same place.
        Raises `ValueError` for a number of rows that there is not, `InFlightError` within a block.
        """
        place, size = caller(), len(self._pinned)
        rows = size if rows is None else rows
        if not 1 <= rows <= size:
            raise ValueError(f"buffer {self.name!r}: upload of {rows} rows; it has 1 to {size}")
        self._must_be_closed(f"upload() at {place}")
        gpu = torch.get_device_module(self._gpu.device)
        stream, event = gpu.current_stream(), gpu.Event()
        stream.wait_event(self._written)
        arrived = self._gpu[:rows]
        arrived.copy_(self._pinned[:rows], non_blocking=True)
        event.record(stream)
        self._written, self._pending = event, Upload(event, place, rows)
        return arrived

    # -- what is under way ----------------------------------------------------------------------

    @property
    def pending(self) -> bool:
        """Whether there is an upload that this buffer has not seen the end of."""
        return self._pending is not None

    def wait(self) -> None:
        """Return when all uploads so far have read their rows."""
        if self._pending is not None:
            self._pending.event.synchronize()
            self.waits += 1
            self.last_wait = f"waited at {caller()} for the upload queued at {self._pending.place}"
            self._pending = None

    def ready(self) -> bool:
        """Whether all uploads so far have read their rows; does not wait."""
        if self._pending is not None and self._pending.event.query():
            self._pending = None
        return self._pending is None

    def _gate(self, place: Place) -> None:
        if self._pending is not None and self.when_pending == "refuse":
            raise InFlightError(
                f"buffer {self.name!r}: written at {place}, but nobody has waited for the upload "
                f"queued at {self._pending.place}, which reads its first {self._pending.rows} "
                "rows; call wait() before, or make the buffer with when_pending='wait'"
            )
        self.wait()

    def _must_be_closed(self, what: str) -> None:
        if self._block is not None:
            raise InFlightError(
                f"buffer {self.name!r}: {what} while the writing block opened at "
                f"{self._block.place} is not over"
            )

    def __repr__(self) -> str:
        kind = f"{' × '.join(map(str, self._pinned.shape))} × {str(self._pinned.dtype)[6:]}"
        open_at = f", open at {self._block.place}" if self._block else ""
        under_way = f"upload of {self._pending.place} pending" if self._pending else "idle"
        return (
            f"<{type(self).__name__} {self.name!r}: {kind}, {under_way}{open_at}; "
            f"writing() {self.when_pending}s>"
        )
