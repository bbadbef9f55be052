"""The program of both queues, in the shape of the incident."""

from __future__ import annotations

from typing import Any, Protocol

FIRST = (2, 4, 8)  # prompt lengths of the batch that is uploaded, tokens
SECOND = (3, 5, 9)  # prompt lengths of the next one, written over them
MOMENTS = len(SECOND) + 1  # before each row is rewritten, and after all of them
REPAIRS = ("alias", "wait", "snapshot")  # "alias" repairs nothing


class Upload(Protocol):
    """A copy that has been asked for and may not have happened."""

    def wait(self) -> None:
        """Return when the source has been read."""


class Queue(Protocol):
    """An asynchronous queue with a buffer on its device."""

    def rows(self, lengths: tuple[int, ...]) -> Any:
        """Host memory with these `lengths`: a numpy array, int32, of shape (rows,)."""

    def upload(self, source: Any) -> Upload:
        """Ask for a copy of `source` into the device's buffer; return without waiting for it."""

    def at(self, moment: int) -> None:
        """The host is here: `moment` rows are rewritten. A queue that is played acts now."""

    def download(self) -> list[int]:
        """Wait for the queue and return what the device received."""


def next_batch(queue: Queue, repair: str = "alias") -> list[int]:
    """Upload one batch's lengths, write the next batch's over them, return what was received.

    Args:
        queue: where the upload goes.
        repair: ``"alias"`` uploads the rows and goes on; ``"wait"`` waits for the upload before the
            rows are rewritten; ``"snapshot"`` uploads a copy of the rows.

    Raises:
        ValueError: for another `repair`.

    >>> from pinlab.witness import SimQueue
    >>> next_batch(SimQueue(), "snapshot")
    [2, 4, 8]
    """
    if repair not in REPAIRS:
        raise ValueError(f"repair={repair!r}; it must be one of {', '.join(REPAIRS)}")
    lengths = queue.rows(FIRST)
    source = lengths.copy() if repair == "snapshot" else lengths
    upload = queue.upload(source)
    if repair == "wait":
        upload.wait()
    for row, length in enumerate(SECOND):
        queue.at(row)
        lengths[row] = length
    queue.at(len(SECOND))
    return queue.download()
