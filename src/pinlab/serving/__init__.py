"""A scaled-down serving engine for pooling models, with the names of vLLM.

Reading order: ``request``, ``input_batch`` (the rows), ``metadata`` and ``pooling`` (what reads
them), ``scheduler``, ``output`` and ``engine`` (when), ``variants`` (the bug and its repairs),
``scenarios`` (small programs for the explorer), ``rerank`` (real text); ``snapshot``, ``in_flight``
and ``double_buffer`` (types that leave no room for the bug).

>>> from pinlab import sim
>>> sim.install()
>>> batch = InputBatch(max_num_reqs=4, device="sim")
>>> batch.add_request(CachedRequestState("a", [7, 8, 9]))
0
>>> batch.get_pooling_metadata().prompt_lens
tensor([3], dtype=torch.int32)
"""

from __future__ import annotations

from pinlab.serving.double_buffer import DoubleBuffer
from pinlab.serving.engine import Engine
from pinlab.serving.in_flight import InFlightBuffer, InFlightError
from pinlab.serving.input_batch import InputBatch
from pinlab.serving.metadata import PoolingCursor, PoolingMetadata
from pinlab.serving.model import LookupModel, reflection
from pinlab.serving.output import AsyncPoolingOutput
from pinlab.serving.pooling import CLSPool, LastPool, MeanPool
from pinlab.serving.ranking import ndcg_at_k, rank_order
from pinlab.serving.rate import Rate
from pinlab.serving.request import CachedRequestState
from pinlab.serving.rerank import RerankResult, RerankRun, run_rerank
from pinlab.serving.rerank_data import RerankData, load_rerank_data, offline_scores
from pinlab.serving.scenarios import SCENARIOS, Scenario
from pinlab.serving.scheduler import Scheduler, SchedulerOutput
from pinlab.serving.snapshot import Snapshot, SnapshotMetadata
from pinlab.serving.variants import VARIANTS, AliasingBatch, Variant, difference

__all__ = [
    "SCENARIOS",
    "VARIANTS",
    "AliasingBatch",
    "AsyncPoolingOutput",
    "CLSPool",
    "CachedRequestState",
    "DoubleBuffer",
    "Engine",
    "InFlightBuffer",
    "InFlightError",
    "InputBatch",
    "LastPool",
    "LookupModel",
    "MeanPool",
    "PoolingCursor",
    "PoolingMetadata",
    "Rate",
    "RerankData",
    "RerankResult",
    "RerankRun",
    "Scenario",
    "Scheduler",
    "SchedulerOutput",
    "Snapshot",
    "SnapshotMetadata",
    "Variant",
    "difference",
    "load_rerank_data",
    "ndcg_at_k",
    "offline_scores",
    "rank_order",
    "reflection",
    "run_rerank",
]
