"""Does the rest of a line matter? After `c = d.to("cpu")` only a name is bound."""

from __future__ import annotations

import dis
from functools import lru_cache
from types import CodeType

# Instructions that neither read nor write the bytes of a buffer.
_HARMLESS = frozenset(
    "CACHE COPY COPY_FREE_VARS JUMP_BACKWARD JUMP_FORWARD LOAD_CONST NOP POP_TOP RESUME "
    "RETURN_CONST RETURN_VALUE STORE_DEREF STORE_FAST STORE_GLOBAL STORE_NAME SWAP".split()
)
_ENDS = frozenset({"RETURN_VALUE", "RETURN_CONST", "JUMP_BACKWARD", "JUMP_FORWARD"})


@lru_cache(maxsize=4096)
def rest_is_harmless(code: CodeType, offset: int) -> bool:
    """Whether nothing after instruction `offset` on its line could touch a buffer.

    >>> code = compile("c = f()\\ng(f())\\n", "example", "exec")
    >>> calls = [i.offset for i in dis.get_instructions(code) if i.opname == "CALL"]
    >>> [rest_is_harmless(code, offset) for offset in calls]
    [True, False, True]
    """
    after = False
    for instruction in dis.get_instructions(code):
        if not after:
            after = instruction.offset == offset
            continue
        if instruction.starts_line:
            return True
        if instruction.opname not in _HARMLESS:
            return False
        if instruction.opname in _ENDS:
            return True
    return True
