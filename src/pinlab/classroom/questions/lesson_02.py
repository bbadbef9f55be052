"""Predictions of lesson 02, pinned memory."""

from __future__ import annotations

from pinlab.classroom.question import Question

TENSORS = (
    "row[2:5]",
    "row.clone()",
    "torch.from_numpy(row.numpy())",
    "torch.from_numpy(row.numpy().copy())",
    "row.to(torch.float64)",
    "torch.empty_like(row)",
    "row + 0",
    "row.pin_memory()",
)
WAYS = ("pageable, new", "pinned, new", "pinned, from the cache", "pinned, reused")

QUESTIONS = (
    Question(
        id="02.1",
        prompt="1 MiB is pinned, then sliced with [:] and cloned. How much is pinned in all?",
        options=("1 MiB", "2 MiB", "3 MiB"),
        betrays={"3 MiB": "M2"},
    ),
    Question(
        id="02.2",
        prompt="row is a pinned int32 tensor. Is the result pinned?",
        options=("pinned", "pageable"),
        parts=TENSORS,
        betrays_part={TENSORS[0]: {"pageable": "M2"}, TENSORS[2]: {"pageable": "M2"}},
        truth=("pinned", "pageable"),
    ),
    Question(
        id="02.3",
        prompt="After the upload was queued, row[1] changes from 5 to 40. What arrives there?",
        options=("5", "40"),
        parts=("pageable row", "pinned row"),
        betrays_part={"pageable row": {"40": "M5"}, "pinned row": {"5": "M6"}},
    ),
    Question(
        id="02.4",
        prompt="The same, but row.pin_memory() is what is uploaded. What arrives there?",
        options=("5", "40"),
        parts=("pageable.pin_memory()", "pinned.pin_memory()"),
        betrays_part={"pinned.pin_memory()": {"5": "M2"}},
    ),
    Question(
        id="02.5",
        prompt="Getting 1 MiB and writing it: how many page faults?",
        options=("none", "one a page"),
        parts=WAYS,
    ),
    Question(
        id="02.6",
        prompt="A pinned row is dropped, another of its size is made. Is it in the same place?",
        options=("yes", "no"),
        parts=("nothing queued", "while its upload is queued", "after the upload"),
    ),
)
