"""The device's random state: a seed and how many operations have drawn from it, as on CUDA.

A queued operation's numbers are fixed when it is submitted.
"""

from __future__ import annotations

import secrets
import struct
import threading

import torch

_MASK = (1 << 64) - 1
_STATE = struct.Struct("=QQ")


class Counter:
    """The seed, and the number of draws since."""

    def __init__(self, seed: int = 0, draws: int = 0) -> None:
        self.seed = seed
        self.draws = draws
        self.lock = threading.Lock()

    def next_seed(self) -> int:
        """A seed for one operation, drawn now, in submission order."""
        with self.lock:
            self.draws += 1
            return mix(mix(self.seed & _MASK) + self.draws)

    def __repr__(self) -> str:
        return f"<seed {self.seed}, {self.draws} draws>"


def mix(number: int) -> int:
    """64 bits that look unrelated to the 64 bits given (the finalizer of SplitMix64).

    >>> mix(1) != mix(2)
    True
    """
    number = (number + 0x9E3779B97F4A7C15) & _MASK
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _MASK
    return number ^ (number >> 31)


_counter = Counter()


def manual_seed(seed: int) -> None:
    """Seed the device's generator."""
    with _counter.lock:
        _counter.seed, _counter.draws = int(seed), 0


def initial_seed() -> int:
    """The seed in use."""
    return _counter.seed


def seed() -> int:
    """Seed from the operating system; return the seed."""
    manual_seed(secrets.randbits(63))
    return _counter.seed


def get_rng_state(device: object = None) -> torch.Tensor:
    """The generator's state: 16 bytes, seed and draws, in a uint8 CPU tensor."""
    with _counter.lock:
        state = _STATE.pack(_counter.seed & _MASK, _counter.draws)
    return torch.tensor(list(state), dtype=torch.uint8, device="cpu")


def set_rng_state(new_state: torch.Tensor, device: object = None) -> None:
    """Put a state back.

    Raises:
        TypeError: if it is not what `get_rng_state` returns.
    """
    if new_state.dtype != torch.uint8 or new_state.numel() != _STATE.size:
        raise TypeError(
            f"new_state is {tuple(new_state.shape)} {new_state.dtype}; the simulated device's "
            f"state has {_STATE.size} bytes of torch.uint8"
        )
    seed, draws = _STATE.unpack(bytes(new_state.tolist()))
    with _counter.lock:
        _counter.seed, _counter.draws = seed, draws


def next_seed() -> int:
    """A seed for one operation, drawn now, in submission order."""
    return _counter.next_seed()
