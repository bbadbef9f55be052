"""Everything that is drawn: one figure a file, each with its text twin and alt text."""

from __future__ import annotations

from pinlab.figures.memory_map import memory_map, memory_map_alt, memory_map_twin
from pinlab.figures.pinning_cost import pinning_cost, pinning_cost_alt, pinning_cost_twin
from pinlab.figures.show import show

__all__ = [
    "memory_map",
    "memory_map_alt",
    "memory_map_twin",
    "pinning_cost",
    "pinning_cost_alt",
    "pinning_cost_twin",
    "show",
]
