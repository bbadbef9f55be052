"""Ways to write a pinned buffer × ways to copy it: every racing pair found, no false alarm."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import pytest

from pinlab.schedules import explore

from .source_text import compiled

# Each write changes element 0 of the pinned `a` (and may change others).
WRITES = {
    "item": "a[0] = 50",
    "slice": "a[0:2] = 50",
    "fill_": "a.fill_(50)",
    "np.copyto": "np.copyto(face, 50)",
    "numpy item": "face[0] = 50",
    "out=": "torch.add(a, 50, out=a)",
    "numpy out=": "np.add(face, 50, out=face)",
    "memoryview": "memoryview(face)[0] = 50",
    "in-place operator": "a += 50",
    "through a view": "a.view(2, 2)[0, 0] = 50",
    "through an old view": "row[0] = 50",
    "tuple swap": "a[0], a[1] = a[1].item(), a[0].item()",
    "from another tensor": "a.copy_(other)",
    "zero-copy storage": "a.untyped_storage()[0] = 50",
}
# Each reads element 0 of `a` when the stream gets there.
UPLOADS = {
    "to": "x = a.to('sim', non_blocking=True)",
    "copy_": "x.copy_(a, non_blocking=True)",
    "contiguous slice": "x[:2].copy_(a[:2], non_blocking=True)",
    "a row of a matrix": "x[:2].copy_(a.view(2, 2)[0], non_blocking=True)",
    "converting": "x = a.to('sim', torch.float64, non_blocking=True)",
    "converting copy_": "y.copy_(a, non_blocking=True); x = y",
    "side stream": "with gpu.stream(side): x = a.to('sim', non_blocking=True)",
    "kernel after": "x = a.to('sim', non_blocking=True).mul_(3)",
    "from numpy": "x = torch.from_numpy(face).to('sim', non_blocking=True)",
}
# Each writes element 0 of `a` when the stream gets there.
DOWNLOADS = {
    "copy_": "a.copy_(x, non_blocking=True)",
    "contiguous slice": "a[:2].copy_(x[:2], non_blocking=True)",
    "to": "a = x.to('cpu', non_blocking=True); face = a.numpy(); row = a[:]",
    "side stream": "with gpu.stream(side): a.copy_(x, non_blocking=True)",
}
# None of these is affected by a later write to `a`: the bytes are taken, or the call waits.
CONTROLS = {
    "strided, so packed at the call": "x[:2].copy_(a[::2], non_blocking=True)",
    "strided matrix column": "x[:2].copy_(a.view(2, 2)[:, 0], non_blocking=True)",
    "blocking": "x = a.to('sim')",
    "blocking copy_": "x.copy_(a)",
    "a snapshot": "x = a.clone().to('sim', non_blocking=True)",
    "a pinned snapshot": "x = a.clone().pin_memory().to('sim', non_blocking=True)",
    "numpy copy": "x = torch.from_numpy(face.copy()).to('sim', non_blocking=True)",
    "other bytes": "x[2:].copy_(a[2:], non_blocking=True)",
    "blocking download": "a.copy_(x)",
    "host only": "x.add_(1)",
}


def matrix_program(copy: str, then: list[str]) -> Callable[[], Any]:
    """Copy, further lines, wait; the value is everything that could show a race."""
    lines = [
        "a = torch.tensor([1, 2, 3, 4], pin_memory=True)",
        "other = torch.tensor([11, 12, 13, 14])",
        "face, row = a.numpy(), a[:2]",
        "x = torch.tensor([5, 6, 7, 8], device='sim')",
        "y = torch.zeros(4, dtype=torch.float64, device='sim')",
        "side = gpu.Stream()",
        "gpu.synchronize()",
        copy,
        *then,
        "gpu.synchronize()",
        "return x.tolist(), a.tolist()",
    ]
    return compiled("def program():\n" + "".join(f"    {line}\n" for line in lines))


@pytest.mark.parametrize("copy", UPLOADS)
@pytest.mark.parametrize("write", WRITES)
def test_a_write_races_with_a_pending_upload(write: str, copy: str) -> None:
    report = explore(matrix_program(UPLOADS[copy], [WRITES[write]]))
    assert report.complete
    assert len(report.outcomes) == 2
    assert not report.deterministic


@pytest.mark.parametrize("copy", UPLOADS)
@pytest.mark.parametrize("write", WRITES)
def test_after_a_wait_the_write_is_safe(write: str, copy: str) -> None:
    report = explore(matrix_program(UPLOADS[copy], ["gpu.synchronize()", WRITES[write]]))
    assert report.deterministic
    assert report.explored == 1


@pytest.mark.parametrize("copy", DOWNLOADS)
@pytest.mark.parametrize("write", WRITES)
def test_a_write_races_with_a_pending_download(write: str, copy: str) -> None:
    report = explore(matrix_program(DOWNLOADS[copy], [WRITES[write]]))
    assert report.complete
    assert not report.deterministic


@pytest.mark.parametrize("copy", DOWNLOADS)
@pytest.mark.parametrize("write", WRITES)
def test_after_a_wait_the_destination_may_be_written(write: str, copy: str) -> None:
    report = explore(matrix_program(DOWNLOADS[copy], ["gpu.synchronize()", WRITES[write]]))
    assert report.deterministic


@pytest.mark.parametrize("copy", CONTROLS)
@pytest.mark.parametrize("write", ["item", "np.copyto", "memoryview", "through an old view"])
def test_a_copy_that_the_write_cannot_reach_is_clean(write: str, copy: str) -> None:
    then = "face[0] = 50" if copy == "other bytes" else WRITES[write]
    report = explore(matrix_program(CONTROLS[copy], [then]))
    assert report.deterministic


@pytest.mark.parametrize("copy", UPLOADS)
def test_equal_bytes_are_no_conflict(copy: str) -> None:
    report = explore(matrix_program(UPLOADS[copy], ["a[0] = 1", "face[0] = a[0].item()"]))
    assert report.deterministic
    assert report.explored == 1


@pytest.mark.parametrize("copy", DOWNLOADS)
def test_an_early_read_of_a_download_is_found(copy: str) -> None:
    early = ["early = torch.tensor(a.tolist())"]
    assert explore(matrix_program(DOWNLOADS[copy], early)).deterministic  # it goes nowhere
    assert not explore(matrix_program(DOWNLOADS[copy], [*early, "a = early"])).deterministic


def test_the_sources_are_real_lines() -> None:
    program = matrix_program(UPLOADS["to"], [WRITES["item"]])
    name = program.__code__.co_filename
    assert linecache.getline(name, 9).strip() == UPLOADS["to"]
