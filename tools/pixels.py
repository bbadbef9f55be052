"""Whether two PNG pictures look the same.

A picture's bytes are stable on one machine and one matplotlib only, so this is an extra: text twins
guard what a figure says. It notices a committed picture that was replaced or left behind.
"""

from __future__ import annotations

import base64
import io
import os
import re
import warnings

from nbformat import NotebookNode

SWITCH = "PINLAB_COMPARE_PIXELS"
STEP = 0.25  # a channel (0 to 1) that moved this far is seen as another colour
SHARE = 0.001  # of all pixels; antialiasing on another processor stays below
VERSION = re.compile(rb"Matplotlib version([\d.]+\d)")


def pngs(outputs: list[NotebookNode]) -> list[bytes]:
    found = [
        output.data["image/png"] for output in outputs if "image/png" in output.get("data", {})
    ]
    return [base64.b64decode(text) for text in found]


def share_of_changed_pixels(old: bytes, new: bytes) -> float:
    """From 0 (the same) to 1; pictures of different size have nothing in common."""
    import numpy as np
    from PIL import Image

    pictures = [Image.open(io.BytesIO(data)).convert("RGBA") for data in (old, new)]
    if pictures[0].size != pictures[1].size:
        return 1.0
    a, b = (np.asarray(picture, dtype=float) / 255 for picture in pictures)
    changed = np.abs(a - b) > STEP
    return float(changed.any(axis=-1).mean())


def differing_pictures(old: list[NotebookNode], new: list[NotebookNode]) -> list[str]:
    """What a reader would see differ; nothing where the comparison is off or makes no sense."""
    if os.environ.get(SWITCH, "1") == "0":
        return []
    found = []
    for number, (a, b) in enumerate(zip(pngs(old), pngs(new), strict=True), 1):
        if a == b:
            continue
        if VERSION.findall(a) != VERSION.findall(b):
            warnings.warn("pictures of another matplotlib version are not compared", stacklevel=2)
            continue
        share = share_of_changed_pixels(a, b)
        if share > SHARE:
            found.append(f"picture {number} differs from the committed one in {share:.1%} of it")
    return found
