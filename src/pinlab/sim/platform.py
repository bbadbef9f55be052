"""What differs between vendors, as switches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Platform:
    """The rules of one accelerator platform. The defaults are CUDA's, as far as they are known.

    Attributes:
        stage_pageable_uploads: a `non_blocking` upload from pageable memory takes the bytes before
            the call returns. False: it reads them when the stream gets there.
        pageable_upload_waits: such an upload first waits for its stream ("may synchronise", says
            CUDA's page on API synchronisation).
        pageable_downloads_block: a `non_blocking` download into pageable memory is complete on
            return (observed on CUDA, though the page only says "might").
        host_allocator_tracks: a dropped pinned block is not handed out again while a queued copy
            uses it.
        track_by: how a block is recognised: ``"storage"`` (the tensor's storage or the block's base
            address) or ``"data_ptr"`` (the tensor's own address, so a slice at an offset is missed;
            PyTorch before its issue 68749 was mended).
        pinning: False: `pin_memory` silently gives ordinary memory (confidential computing).
    """

    stage_pageable_uploads: bool = True
    pageable_upload_waits: bool = False
    pageable_downloads_block: bool = True
    host_allocator_tracks: bool = True
    track_by: str = "storage"
    pinning: bool = True

    def __post_init__(self) -> None:
        if self.track_by not in ("storage", "data_ptr"):
            raise ValueError(f"track_by={self.track_by!r}; known are 'storage' and 'data_ptr'")
        for switch in fields(self):
            value = getattr(self, switch.name)
            if switch.name != "track_by" and not isinstance(value, bool):
                raise TypeError(f"{switch.name}={value!r}; it must be True or False")


CUDA = Platform()
_current: list[Platform] = [CUDA]


def current_platform() -> Platform:
    """The rules in force."""
    return _current[-1]


@contextmanager
def platform(rules: Platform) -> Iterator[Platform]:
    """Put `rules` in force for a block, on all threads.

    >>> with platform(Platform(pinning=False)):
    ...     current_platform().pinning
    False
    """
    if not isinstance(rules, Platform):
        raise TypeError(f"platform() takes a Platform, not {type(rules).__name__}")
    _current.append(rules)
    try:
        yield rules
    finally:
        # By identity: the rules below may be equal ones.
        del _current[max(at for at, one in enumerate(_current) if one is rules)]
