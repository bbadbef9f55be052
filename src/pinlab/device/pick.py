"""Which device this process uses: the simulated one, unless ``PINLAB_DEVICE=cuda``."""

from __future__ import annotations

import os

import torch

from pinlab import sim
from pinlab.device.driver import library_name, load_library

CHOICES = ("sim", "cuda")


def pick_device() -> torch.device:
    """The device of this process, from the environment variable ``PINLAB_DEVICE``.

    ``sim``, the default, registers the simulated device. ``cuda`` is the current GPU. A process has
    one device: torch looks for a Python backend before CUDA, and pinning is process-wide.

    Raises:
        ValueError: for another value of the variable.
        RuntimeError: where there is no CUDA device (it says what was looked for), or where this
            process has used the other device already.

    >>> pick_device()
    device(type='sim')
    """
    asked = os.environ.get("PINLAB_DEVICE", "")
    choice = asked.strip().lower() or "sim"
    if choice not in CHOICES:
        raise ValueError(f"PINLAB_DEVICE={asked!r}; it can be 'sim' (the default) or 'cuda'")
    if choice == "cuda":
        return _cuda()
    sim.install()  # refuses after CUDA was initialised
    return torch.device("sim")


def _cuda() -> torch.device:
    if sim.installed():
        raise RuntimeError(
            "PINLAB_DEVICE=cuda, but this process has registered the simulated device already; "
            "set the variable before anything calls pick_device() or pinlab.sim.install()"
        )
    if not torch.cuda.is_available():
        raise RuntimeError("PINLAB_DEVICE=cuda, but torch finds no CUDA device. " + looked_for())
    return torch.device("cuda")


def looked_for() -> str:
    """What a CUDA device needs, and what was found of it: build of torch, driver, devices.

    >>> looked_for().startswith("Looked for: ")
    True
    """
    built = torch.version.cuda
    hip = getattr(torch.version, "hip", None)
    build = f"built for CUDA {built}" if built else "built without CUDA"
    if hip:
        build = f"built for ROCm {hip}"
    driver = "found" if load_library() is not None else "not found"
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    hidden = f"; CUDA_VISIBLE_DEVICES={visible!r}" if visible is not None else ""
    return (
        f"Looked for: a torch with CUDA (torch {torch.__version__} is {build}), "
        f"the driver library {library_name()} ({driver}), "
        f"devices (torch counts {torch.cuda.device_count()}{hidden})"
    )
