"""The schedule is chosen: the upload waits for a gate that the host opens."""

from __future__ import annotations

from pinlab.witness.on_opencl import OpenCLQueue
from pinlab.witness.program import MOMENTS, next_batch


def gated(repair: str, moment: int) -> list[int]:
    """Run the program on OpenCL with the upload at one moment; what the device received.

    Args:
        repair: as for `next_batch`. With ``"wait"`` the upload runs at the wait at the latest, so
            every moment is the first.
        moment: 0 before the first row is rewritten, 1 after it, … 3 after all.

    Raises:
        OpenCLMissingError: without PyOpenCL or PoCL.
        ValueError: for a moment that is none.

    >>> gated("alias", 4)
    Traceback (most recent call last):
    ValueError: moment=4; it must be from 0 to 3
    """
    if not 0 <= moment < MOMENTS:
        raise ValueError(f"moment={moment}; it must be from 0 to {MOMENTS - 1}")
    with OpenCLQueue(opens_at=moment) as queue:
        return next_batch(queue, repair)
