"""The twelve questions of the pre- and the post-quiz. Every wrong option is one of the beliefs."""

from __future__ import annotations

from dataclasses import dataclass

from pinlab.classroom.beliefs import BELIEFS


@dataclass(frozen=True)
class Item:
    """One question.

    Attributes:
        id: ``"Q1"`` to ``"Q12"``, the same in both quizzes.
        stem: the question. code: the lines it is about, or "".
        right: the right option. why: one sentence.
        wrong: wrong option → id of the belief behind it.
    """

    id: str
    stem: str
    code: str
    right: str
    why: str
    wrong: dict[str, str]

    def __post_init__(self) -> None:
        if self.right in self.wrong or not self.wrong:
            raise ValueError(f"{self.id} needs wrong options that differ from the right one")
        if not set(self.wrong.values()) <= set(BELIEFS):
            raise ValueError(f"{self.id} names a belief that does not exist")

    @property
    def options(self) -> tuple[str, ...]:
        """All options, in the order of their text, so that the right one has no fixed place."""
        return tuple(sorted((self.right, *self.wrong)))


_UPLOAD = """\
h = torch.tensor([1, 2], pin_memory=True)
d = h.to(device, non_blocking=True)
h[0] = 9
gpu.synchronize()"""

ITEMS = (
    Item(
        "Q1",
        "What does t[0] show?",
        "a = np.array([3, 5, 2])\nt = torch.from_numpy(a[:2])\na[0] = 7",
        "7: the slice and the tensor are views of a's bytes.",
        "Basic slices and from_numpy share memory.",
        {
            "3: from_numpy gives the tensor memory of its own.": "M2",
            "3: the slice a[:2] was copied before from_numpy saw it.": "M2",
        },
    ),
    Item(
        "Q2",
        "b did not change. What follows?",
        "b = a[:]\na = a + 1",
        "Nothing: the name a was bound to a new array.",
        "Rebinding a name writes no byte, so it shows nothing about sharing.",
        {
            "a and b never shared memory.": "M1",
            "The slice a[:] made a copy.": "M2",
        },
    ),
    Item(
        "Q3",
        "What can d hold on the device at the end?",
        _UPLOAD,
        "[1, 2] or [9, 2]: it depends on when the stream got to the copy.",
        "A copy from pinned memory reads its source when the stream gets there.",
        {
            "[1, 2]: the call had returned, so the bytes were taken.": "M3",
            "[1, 2]: a copy from host to device is safe whatever the source is.": "M4",
            "[1, 2]: the stream runs the copy before the later line h[0] = 9.": "M7",
        },
    ),
    Item(
        "Q4",
        "The same lines, but h is not pinned. What holds?",
        _UPLOAD.replace(", pin_memory=True", ""),
        "On CUDA d holds [1, 2]: pageable bytes are staged before the call returns.",
        "That is CUDA's rule for pageable memory; another platform may have another.",
        {
            "d may hold [9, 2]: non_blocking=True makes every copy asynchronous.": "M5",
            "d holds [1, 2] on every accelerator: what is safe on one is safe on all.": "M13",
        },
    ),
    Item(
        "Q5",
        "Somebody pins a buffer that is uploaded with non_blocking=True. What can change?",
        "",
        "When its bytes are read, so a line that was right can become wrong.",
        "Pinning moves the read of the source from the call to the stream.",
        {
            "Only the speed of the copies.": "M6",
            "Nothing that matters: uploads are safe, only downloads are not.": "M4",
        },
    ),
    Item(
        "Q6",
        "What does the second line print?",
        'c = d.to("cpu", non_blocking=True)\nprint(c.tolist())',
        "Perhaps what was in that memory before: nobody has waited for the copy.",
        "The result is pinned and filled later; a host read does not wait for it.",
        {
            "d's values: the call has returned, so the copy is complete.": "M3",
            "d's values: the stream runs the copy before a line that comes after it.": "M7",
            "d's values: with one Python thread nothing runs in between.": "M9",
        },
    ),
    Item(
        "Q7",
        "A program has one Python thread. Can there be a race on its host memory?",
        "",
        "Yes: the copy engine reads and writes host memory without Python.",
        "The device is the second actor.",
        {
            "No: the GIL lets only one thing run at a time.": "M9",
            "Only if a test shows it: a thousand clean runs rule it out.": "M8",
        },
    ),
    Item(
        "Q8",
        "A flaky test passed 5 of 5 times after a synchronize() was added somewhere. What follows?",
        "",
        "Little: a failure rate of up to 45 % still fits at 95 % confidence.",
        "The exact bound after n clean runs is 1 − 0.05^(1/n), 45 % for n = 5.",
        {
            "The race is gone: otherwise one of five runs would have failed.": "M8",
            "The race is gone: a synchronize() orders everything, wherever it stands.": "M11",
        },
    ),
    Item(
        "Q9",
        "The next step will write h, which is pinned. Which line repairs the upload?",
        "d = h.to(device, non_blocking=True)",
        "d = h.clone().to(device, non_blocking=True)",
        "A snapshot of the source, taken before the copy is queued, has bytes of its own.",
        {
            "d = h.to(device, non_blocking=True).clone()": "M10",
            "gpu.synchronize(); d = h.to(device, non_blocking=True)": "M11",
            "keep.append(h); d = h.to(device, non_blocking=True)": "M12",
        },
    ),
    Item(
        "Q10",
        "Each step writes h, uploads it, launches kernels. Where must a wait stand?",
        "",
        "Between a step's upload and the next write of h.",
        "The wait must cover the copy before its source is written again.",
        {
            "Anywhere, once in each step.": "M11",
            "Nowhere: the stream keeps write and upload in order.": "M7",
            "Nowhere, as long as h is kept alive.": "M12",
        },
    ),
    Item(
        "Q11",
        "The race hits a buffer of prompt lengths. What will be seen?",
        "",
        "Plausible lengths that belong to the next step, and scores that are a little off.",
        "The bytes are the next step's valid data.",
        {
            "Noise, NaN or a crash.": "M14",
            "Nothing that a long enough run of the tests would not have shown.": "M8",
        },
    ),
    Item(
        "Q12",
        "The pinned temporary is dropped at once. Is that sound?",
        "d = torch.tensor(x).pin_memory().to(device, non_blocking=True)",
        "On CUDA yes: PyTorch's host allocator keeps the block until the copy is done.",
        "It is the allocator's promise, and not every platform's allocator makes it.",
        {
            "Yes, on every accelerator.": "M13",
            "No; with a reference kept, every later use of the buffer is safe too.": "M12",
            "Yes: pinning changes the speed, nothing else.": "M6",
        },
    ),
)
"""The questions, in the order of the pre-quiz."""

POST_ORDER = (7, 2, 10, 5, 12, 1, 9, 4, 11, 6, 3, 8)
"""The post-quiz asks the same questions in this order."""
