"""A package whose name is also that of the function in it: ``detect.hazards()``.

The import system binds a package to its own name in its parent, after whatever the parent has put
there. So the package itself is made callable, and every order of imports gives the same.
"""

from __future__ import annotations

import types
from typing import Any


class CallableModule(types.ModuleType):
    """Calling the module calls the function of its name."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, self.__name__.rpartition(".")[2])(*args, **kwargs)
