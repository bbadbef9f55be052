"""Buffers in turn: the host fills one while the device reads another.

By hand this takes an index, an event for each buffer, and the rule that the index moves before the
first row is written. Here the turn is part of `writing()`, and each buffer brings its own gate.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from pinlab.serving.in_flight import InFlightBuffer, Rows


class DoubleBuffer:
    """`depth` buffers with one name, written in turn. Rows that are not rewritten stay as they are.

    Args:
        depth: how many, 2 or more. A block waits for the upload of `depth` blocks ago, not for the
            last one. The others as for `InFlightBuffer`.

    Raises `ValueError` for a depth below 2, and as `InFlightBuffer` does.

    >>> from pinlab import sim
    >>> sim.install()
    >>> lens = DoubleBuffer("lens", 3, device="sim")
    >>> with lens.writing() as rows:
    ...     rows[:] = [2, 4, 8]
    >>> first = lens.upload()
    >>> with lens.writing() as rows:
    ...     rows[1] = 40
    >>> first.tolist(), lens.upload().tolist(), lens.waits
    ([2, 4, 8], [2, 40, 8], 0)
    """

    def __init__(
        self,
        name: str,
        size: int | tuple[int, ...],
        dtype: torch.dtype = torch.int32,
        *,
        device: torch.device | str,
        depth: int = 2,
        when_pending: str = "wait",
        direct: bool = False,
    ) -> None:
        if depth < 2:
            raise ValueError(f"buffer {name!r}: depth={depth}; 2 or more take turns")
        self.name = name
        self._buffers = [
            InFlightBuffer(
                f"{name}[{number}]",
                size,
                dtype,
                device=device,
                when_pending=when_pending,
                direct=direct,
            )
            for number in range(depth)
        ]
        self._turn = 0

    @property
    def depth(self) -> int:
        """How many buffers take turns."""
        return len(self._buffers)

    @property
    def np(self) -> Rows:
        """As `InFlightBuffer.np`, of the buffer that was written last or is being written."""
        return self._now.np

    @property
    def cpu(self) -> torch.Tensor:
        """As `InFlightBuffer.cpu`: within a writing block only."""
        return self._now.cpu

    @property
    def gpu(self) -> torch.Tensor:
        """The device rows that belong to the current turn; other memory after the next block."""
        return self._now.gpu

    @contextmanager
    def writing(self) -> Iterator[Rows]:
        """Take the next turn: waits for that buffer's own pending uploads, or refuses.

        Yields its rows, which begin as those written last. After an exception in the block the
        turn stays where it was.
        """
        before = self._turn
        following = self._buffers[(before + 1) % self.depth]
        self._now._must_be_closed("writing()")
        with following._writing_from(self._now._pinned) as rows:
            self._turn = (before + 1) % self.depth
            try:
                yield rows
            except BaseException:
                self._turn = before
                raise

    def upload(self, rows: int | None = None) -> torch.Tensor:
        """As `InFlightBuffer.upload`, of the rows that were written last."""
        return self._now.upload(rows)

    def wait(self) -> None:
        """Return when all uploads of all turns have read their rows."""
        for buffer in self._buffers:
            buffer.wait()

    def ready(self) -> bool:
        """Whether all uploads of all turns have read their rows; does not wait."""
        return all(buffer.ready() for buffer in self._buffers)

    @property
    def pending(self) -> int:
        """Turns with an upload that no buffer has seen the end of."""
        return sum(buffer.pending for buffer in self._buffers)

    @property
    def waits(self) -> int:
        """Uploads that these buffers made the host wait for."""
        return sum(buffer.waits for buffer in self._buffers)

    @property
    def last_wait(self) -> str:
        """The last wait of the current turn's buffer, in words."""
        return self._now.last_wait

    @property
    def _now(self) -> InFlightBuffer:
        return self._buffers[self._turn]

    def __repr__(self) -> str:
        return f"<DoubleBuffer {self.name!r}: turn {self._turn} of {self.depth}, {self._now!r}>"
