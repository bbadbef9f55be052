"""Draws the README's picture, docs/img/race.png, from a real exploration of the story's program.

Usage: python -m tools.readme_picture
"""

from __future__ import annotations

from pathlib import Path

import torch

from pinlab.device import pick_device
from pinlab.figures.schedule_heatmap import schedule_heatmap
from pinlab.figures.show import png
from pinlab.schedules import explore

TARGET = Path(__file__).parents[1] / "docs" / "img" / "race.png"
device = pick_device()
gpu = torch.get_device_module(device)


def story() -> list[int]:
    """Prompt lengths in pinned rows, uploaded, and rewritten for the next step."""
    rows = torch.tensor([5, 7, 9, 0], pin_memory=True)
    prompt_lens = torch.from_numpy(rows.numpy()[:3])
    lens = prompt_lens.to(device, non_blocking=True)
    rows[1] = rows[2]
    rows[2] = 40
    gpu.synchronize()
    return lens.tolist()


def main() -> None:
    """Explore the program and write the picture."""
    drawing = schedule_heatmap(explore(story, expect=[5, 7, 9]))
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_bytes(png(drawing))
    print(drawing.alt, *drawing.twin, sep="\n")


if __name__ == "__main__":
    main()
