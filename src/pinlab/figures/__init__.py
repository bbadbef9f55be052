"""Everything that is drawn: one figure a file, each with its text twin and alt text."""

from __future__ import annotations

from pinlab.figures.batch_rows import Shot, batch_rows, batch_rows_alt, batch_rows_twin
from pinlab.figures.memory_map import memory_map, memory_map_alt, memory_map_twin
from pinlab.figures.pinning_cost import pinning_cost, pinning_cost_alt, pinning_cost_twin
from pinlab.figures.rank_flip import rank_flip, rank_flip_alt, rank_flip_twin
from pinlab.figures.schedule_heatmap import (
    schedule_heatmap,
    schedule_heatmap_alt,
    schedule_heatmap_twin,
)
from pinlab.figures.schedule_lanes import schedule_lanes, schedule_lanes_alt, schedule_lanes_twin
from pinlab.figures.show import show
from pinlab.figures.timeline import timeline, timeline_alt, timeline_twin

__all__ = [
    "Shot",
    "batch_rows",
    "batch_rows_alt",
    "batch_rows_twin",
    "memory_map",
    "memory_map_alt",
    "memory_map_twin",
    "pinning_cost",
    "pinning_cost_alt",
    "pinning_cost_twin",
    "rank_flip",
    "rank_flip_alt",
    "rank_flip_twin",
    "schedule_heatmap",
    "schedule_heatmap_alt",
    "schedule_heatmap_twin",
    "schedule_lanes",
    "schedule_lanes_alt",
    "schedule_lanes_twin",
    "show",
    "timeline",
    "timeline_alt",
    "timeline_twin",
]
