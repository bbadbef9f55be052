"""Twelve commits of a toy batch, as edits of one file: the history that lesson 07 bisects.

Commit 4 makes the alias, commit 8 the race: it moves the lengths to pinned memory, as vLLM's pull
request 37303 did, for a reason that has nothing to do with pooling. The others are harmless.
"""

from __future__ import annotations

from dataclasses import dataclass

FIRST = '''\
"""Rows of a batch: one request each, kept between steps."""

import numpy as np
import torch


class Batch:
    def __init__(self, max_num_reqs):
        self.names = []
        self.num_prompt_tokens = np.zeros(max_num_reqs, dtype=np.int32)

    def add(self, name, num_tokens):
        self.num_prompt_tokens[len(self.names)] = num_tokens
        self.names.append(name)

    def remove(self, name):
        row = self.names.index(name)
        last = len(self.names) - 1
        self.names[row] = self.names[last]
        self.num_prompt_tokens[row] = self.num_prompt_tokens[last]
        self.names.pop()

    def prompt_lens(self):
        return torch.tensor(self.num_prompt_tokens[: len(self.names)])
'''


@dataclass(frozen=True)
class Edit:
    """One commit: its subject, and what it replaces by what; each old text occurs once."""

    subject: str
    old: str
    new: str


ADD = "    def add(self, name, num_tokens):\n"
END = ": self.num_reqs])\n"

EDITS = (
    Edit("Refuse a request when every row is in use", ADD, f"""{ADD}\
        if len(self.names) == len(self.num_prompt_tokens):
            raise ValueError(f"no row is free for {{name!r}}")
"""),
    Edit("Name the number of requests", """\
    def prompt_lens(self):
        return torch.tensor(self.num_prompt_tokens[: len(self.names)])
""", """\
    @property
    def num_reqs(self):
        return len(self.names)

    def prompt_lens(self):
        return torch.tensor(self.num_prompt_tokens[: self.num_reqs])
"""),
    Edit("Spare the pooler a copy of the lengths", "torch.tensor(", "torch.from_numpy("),
    Edit("Refuse an empty prompt", ADD, f"""{ADD}\
        if num_tokens < 1:
            raise ValueError(f"{{name!r}} has no token")
"""),
    Edit("Refuse two requests of one name", ADD, f"""{ADD}\
        if name in self.names:
            raise ValueError(f"{{name!r}} has a row already")
"""),
    Edit("A batch that can be printed", END, END + """
    def __repr__(self):
        rows = zip(self.names, self.num_prompt_tokens)
        return ", ".join(f"{name}: {length}" for name, length in rows)
"""),
    Edit("Tell short extends from decodes", """\
        self.num_prompt_tokens = np.zeros(max_num_reqs, dtype=np.int32)
""", """\
        self.num_prompt_tokens_cpu_tensor = torch.zeros(
            max_num_reqs, dtype=torch.int32, pin_memory=True
        )
        self.num_prompt_tokens = self.num_prompt_tokens_cpu_tensor.numpy()
        self.num_computed_tokens = np.zeros(max_num_reqs, dtype=np.int32)
"""),
    Edit("Swap two rows", END, END + """
    def swap(self, i, j):
        self.names[i], self.names[j] = self.names[j], self.names[i]
        self.num_prompt_tokens[[i, j]] = self.num_prompt_tokens[[j, i]]
"""),
    Edit("Say which request was not found", """\
        row = self.names.index(name)
""", """\
        if name not in self.names:
            raise ValueError(f"{name!r} has no row")
        row = self.names.index(name)
"""),
    Edit("Remove several requests at once", END, END + """
    def remove_all(self, names):
        for name in names:
            self.remove(name)
"""),
    Edit("Say how many rows are free", END, END + """
    def num_free(self):
        return len(self.num_prompt_tokens) - self.num_reqs
"""),
)  # fmt: skip


def versions() -> list[tuple[str, str]]:
    """Subject and whole text of every commit, oldest first."""
    found = [("Rows of a batch, and what the pooler needs to know of them", FIRST)]
    for edit in EDITS:
        text = found[-1][1]
        if text.count(edit.old) != 1:
            raise ValueError(f"{edit.subject!r}: its old text occurs {text.count(edit.old)} times")
        found.append((edit.subject, text.replace(edit.old, edit.new)))
    return found
