"""Code in a file of its own: the explorer does not step through it unless it is told to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def upload_and_rewrite(row: torch.Tensor, value: int) -> torch.Tensor:
    """Submit, then rewrite: both within the caller's line."""
    there = row.to("sim", non_blocking=True)
    row[0] = value
    return there


def rewrite_upload_rewrite(row: torch.Tensor, there: torch.Tensor) -> None:
    """The bytes go away and come back while `there` is pending."""
    row[0] = 40
    there.copy_(torch.zeros(2, dtype=torch.int64).pin_memory(), non_blocking=True)
    row[0] = 5


def call_then_write(function: Callable[[], Any], row: torch.Tensor) -> Any:
    """The caller's own function returns into the middle of this one."""
    result = function()
    row[0] = 60
    return result


def download_and_read(there: torch.Tensor) -> int:
    """Submit a download and read it in the same line of the caller."""
    return int(there.to("cpu", non_blocking=True)[0])
