"""Check 07.1: a test that holds the metadata to what it said, without any luck."""

from __future__ import annotations

from typing import Any

import torch

from pinlab import sim
from pinlab.classroom.checks.red import is_red
from pinlab.classroom.checks.verdict import NEEDS_SIM, Verdict, not_answered, right, wrong
from pinlab.device import pick_device
from pinlab.serving import InputBatch, PoolingMetadata
from pinlab.serving.variants import AliasingBatch, ClonePinBatch, CopyBatch, NotPinnedBatch

WHOLE = "It must be red on a view of the rows and green on a copy of them."


class Witness:
    """Batches of one class that remember what they handed out."""

    def __init__(self, base: type[InputBatch]) -> None:
        self.made: list[InputBatch] = []
        self.handed: list[tuple[torch.Tensor, PoolingMetadata, list[int]]] = []
        witness = self

        class Watched(base):  # type: ignore[misc, valid-type]
            def __init__(self, *args: Any, **options: Any) -> None:
                super().__init__(*args, **options)
                witness.made.append(self)

            def get_pooling_metadata(self) -> PoolingMetadata:
                metadata: PoolingMetadata = super().get_pooling_metadata()
                rows = self.num_prompt_tokens_cpu_tensor
                witness.handed.append((rows, metadata, rows.tolist()))
                return metadata

        Watched.__name__ = base.__name__
        self.batch = Watched


def grade_regression_test(test: Any) -> Verdict:
    if pick_device().type != "sim":
        return not_answered(NEEDS_SIM)
    seen, late = Witness(AliasingBatch), Witness(AliasingBatch)
    with sim.mode("eager"):
        early = is_red(test, seen.batch)
    with sim.mode("lazy"):
        red = is_red(test, late.batch)
    unused = _unused(seen)
    if unused is not None:
        return unused
    if early != red:
        return wrong(
            "On the alias it is red if the device is late and green if it is early: it waits for "
            "the race to happen. Leave the device out and look at prompt_lens itself.",
            "M8",
        )
    if not red:
        return _blind(seen)
    for base in (InputBatch, CopyBatch, ClonePinBatch):
        if is_red(test, base):
            return wrong(
                f"It is red on {base.__name__} as well, whose metadata is a copy, so it would cry "
                "wolf. Compare prompt_lens with what it showed before the rows changed, and ask "
                "for nothing else."
            )
    if not is_red(test, NotPinnedBatch):
        return wrong(
            "It is green on a view of rows that are not pinned. No upload goes wrong there, on "
            "CUDA's rules, but the metadata does move, and a host reader sees it."
        )
    return right(
        "Red on the view, pinned or not, and green on three kinds of copy, whether the device is "
        "early or late."
    )


def _unused(seen: Witness) -> Verdict | None:
    if not seen.made:
        return wrong("Your test makes no batch of the class it is given: use batch_cls.")
    if not seen.handed:
        return wrong("Your test never asks for metadata: batch.get_pooling_metadata().")
    return None


def _rebound(batch: InputBatch, owner: torch.Tensor) -> bool:
    """Whether one of the two names of the rows was bound to other memory."""
    names = (batch.num_prompt_tokens_cpu_tensor, torch.from_numpy(batch.num_prompt_tokens))
    return any(name.data_ptr() != owner.data_ptr() for name in names)


def _blind(seen: Witness) -> Verdict:
    """Why the test is green on the alias."""
    owner, metadata, rows = seen.handed[0]
    shown, now = len(metadata.prompt_lens), owner.tolist()
    if now == rows:
        said = f"Green on the alias: when your test ended, the rows were as before, {rows}. "
        if not _rebound(seen.made[0], owner):
            return wrong(
                said + "remove_request() only marks a row as free; a row is written when "
                "add_request() or condense() puts another request there."
            )
        return wrong(
            said + "Change them in place, as add_request() does.",
            "M1",
            "batch.num_prompt_tokens_cpu_tensor before and after",
        )
    if now[:shown] == rows[:shown]:
        return wrong(
            f"Green on the alias: the rows went from {rows} to {now}, but the metadata shows the "
            f"first {shown} only. Change one of those."
        )
    return wrong(
        f"Green on the alias, although prompt_lens went from {rows[:shown]} to {now[:shown]}. "
        "Either nothing is asserted, or what it is compared with is one more name of the same "
        f"bytes and moved too. {WHOLE}",
        "M2",
        "before = metadata.prompt_lens, and then print(before) at the end",
    )
