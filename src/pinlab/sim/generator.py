"""The device's random state. A queued operation's numbers are fixed when it is submitted."""

from __future__ import annotations

import torch

_state = torch.Generator()


def manual_seed(seed: int) -> None:
    """Seed the device's generator."""
    _state.manual_seed(int(seed))


def initial_seed() -> int:
    """The seed in use."""
    return _state.initial_seed()


def seed() -> int:
    """Seed from the operating system; return the seed."""
    return _state.seed()


def get_rng_state(device: object = None) -> torch.Tensor:
    """The generator's state, a uint8 CPU tensor."""
    return _state.get_state()


def set_rng_state(new_state: torch.Tensor, device: object = None) -> None:
    """Put a state back."""
    _state.set_state(new_state)


def next_seed() -> int:
    """A seed for one operation, drawn now, in submission order."""
    return int(torch.randint(2**63 - 1, (), generator=_state, dtype=torch.int64, device="cpu"))
