"""Predictions of lesson 01, views."""

from __future__ import annotations

from pinlab.classroom.question import Question

EXPRESSIONS = (
    "torch.from_numpy(a)",
    "t.numpy()",
    "a[1:4]",
    "a[[1, 2, 3]]",
    "a.reshape(2, 3)",
    "a.reshape(2, 3).T.reshape(6)",
    "torch.tensor(a)",
    "torch.as_tensor(a)",
    "t.to(torch.int32)",
    "t.to(torch.int64)",
    "t.contiguous()",
    "t.clone()",
    "np.asarray(a)",
    "np.asarray(a, dtype=np.int64)",
)

QUESTIONS = (
    Question(
        id="01.1",
        prompt="What does prompt_lens[0] show after num_prompt_tokens[0] = 7?",
        options=("3", "7"),
        betrays={"3": "M2"},
    ),
    Question(
        id="01.2",
        prompt="b = a, then a = a + 1. Does b change?",
        options=("yes", "no"),
        betrays={"yes": "M1"},
    ),
    Question(
        id="01.3",
        prompt="b = a, then a += 1. Does b change?",
        options=("yes", "no"),
        betrays={"no": "M1"},
    ),
    Question(
        id="01.4",
        prompt="Does the result share memory with its source, a or t (both int32)?",
        options=("shared", "copy"),
        betrays={"copy": "M2"},
        parts=EXPRESSIONS,
        truth=("shared", "copy"),
    ),
    Question(
        id="01.5",
        prompt="rows[0], rows[1] = rows[1], rows[0]. What do the two rows hold?",
        options=("swapped", "both row 1", "both row 0"),
        betrays={"swapped": "M2"},
    ),
    Question(
        id="01.6",
        prompt="window is read-only. Can the numbers that it shows change?",
        options=("yes", "no"),
    ),
)
