"""What torch itself cannot make for a Python backend: generators, its own streams and events.

Asked for one on ``sim``, torch 2.13 answers with an internal message (generators), or with an
object that does nothing and says that everything is done (streams, events). Both become errors that
name the way that works. For other devices nothing changes: the classes stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from pinlab.sim.errors import SimError

_NO_GENERATOR = (
    "a generator cannot be made for the simulated device (torch has no way for a Python backend); "
    "it has one random state, which torch.manual_seed seeds and torch.sim.get_rng_state returns"
)
_NO_STREAM = (
    "torch's own {} cannot serve the simulated device (torch has no way for a Python backend); "
    "use torch.get_device_module('sim').{}"
)


def refuse_what_torch_cannot_make() -> None:
    """Put checking subclasses in the place of three classes, once."""
    torch.Generator = _checked(torch.Generator, _NO_GENERATOR)  # type: ignore[misc]
    for name in ("Stream", "Event"):
        message = _NO_STREAM.format(f"torch.{name}", name)
        setattr(torch, name, _checked(getattr(torch, name), message))
    for name in ("current_stream", "set_stream"):
        message = _NO_STREAM.format(f"torch.accelerator.{name}", name)
        setattr(torch.accelerator, name, _refusing(message))


def _checked(original: type, message: str) -> Any:
    """A class that is `original` in every respect, but is not made for ``sim``."""

    class Checked(type(original)):  # type: ignore[misc]
        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            asked = kwargs.get("device", args[0] if args else None)
            if isinstance(asked, (str, torch.device)) and torch.device(asked).type == "sim":
                raise SimError(message)
            return original(*args, **kwargs)

        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, original)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, original)

    names = {"__module__": "torch", "__doc__": original.__doc__}  # where pickle finds it
    return Checked(original.__name__, (original,), names)


def _refusing(message: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise SimError(message)

    return refuse
