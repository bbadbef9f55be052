"""Everything that the simulated device refuses to do, each with a name of its own."""

from __future__ import annotations


class SimError(RuntimeError):
    """Base of the errors that the simulated device raises by itself."""


class HeldStreamError(SimError):
    """A wait that nothing can end: the waiting thread itself holds the stream.

    ``place`` is the line of the hold, where there is one.
    """

    def __init__(self, message: str, place: object = None) -> None:
        super().__init__(message)
        self.place = place


class QueuedOperationError(SimError):
    """An operation failed on the device's queue; raised at the next wait, as CUDA does.

    The message names the operation and the source line that queued it; the original exception is
    the cause (``__cause__``).
    """


class ForkedProcessError(SimError):
    """The device was used in a forked child. Use the ``spawn`` start method instead."""


class DeviceMismatchError(SimError):
    """An operation got tensors of two devices."""


class IllegalAddressError(SimError):
    """A kernel or a raw copy was given memory that the device cannot reach.

    CUDA says "an illegal memory access was encountered", and only at some later wait; here the call
    itself says which argument it was.
    """


class CaptureError(SimError):
    """Something that cannot be done while a stream is being captured, or with a captured event."""


def text_of(error: BaseException | None) -> str:
    """What an exception says; also of one whose own ``__str__`` fails, in Python's words.

    >>> text_of(ValueError("row 3"))
    'row 3'
    """
    try:
        return str(error)
    except Exception:
        return "<exception str() failed>"
