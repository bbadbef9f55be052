"""The experiment of lesson 00: a rerank whose orders differ, without a word about why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from pinlab.serving import AliasingBatch, RerankResult, run_rerank


def rerank_as_it_was(
    device: torch.device, seeds: Sequence[int] | None = None, runs: int = 5
) -> RerankResult:
    """Rank all questions with the engine of the incident, once for each seed, or `runs` times.

    A seed chooses the schedule of the simulated device. On a GPU nobody can choose it: there the
    seeds only say how many runs there are.

    >>> from pinlab.device import pick_device
    >>> rerank_as_it_was(pick_device(), seeds=[3])
    <rerank with the engine as it was: 1 runs, 1 different order, nDCG@10 0.9130>
    """
    if seeds is not None and device.type != "sim":
        runs, seeds = len(seeds), None
    result = run_rerank(AliasingBatch, device, runs, seeds=seeds)
    return replace(result, batch="the engine as it was")
