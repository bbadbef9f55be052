"""Does the rest of a line matter? After `c = d.to("cpu")` only a name is bound.

Between the calls of one line the device may run as well. Where no byte of a buffer can be touched
in between, that moment need not be a choice of its own; the bytecode says where.
"""

from __future__ import annotations

import bisect
import dis
from functools import lru_cache
from types import CodeType

# Instructions that bind, load or drop a name; none touches the bytes of a buffer.
_NAMES = frozenset(
    "CACHE COPY COPY_FREE_VARS EXTENDED_ARG LOAD_CONST LOAD_DEREF LOAD_FAST LOAD_GLOBAL LOAD_NAME "
    "LOAD_FAST_BORROW LOAD_SMALL_INT NOP NOT_TAKEN POP_TOP PUSH_NULL RESUME SWAP".split()
)
_AFTER = _NAMES | frozenset(
    "BUILD_LIST BUILD_TUPLE LIST_APPEND RETURN_CONST RETURN_VALUE "
    "STORE_DEREF STORE_FAST STORE_GLOBAL STORE_NAME".split()
)
_BEFORE = _AFTER | frozenset("KW_NAMES LOAD_ATTR LOAD_METHOD PRECALL".split())
_TESTS = frozenset({"UNARY_NOT", "TO_BOOL"})


@lru_cache(maxsize=4096)
def rest_is_harmless(code: CodeType, offset: int, is_bool: bool = False) -> bool:
    """Whether nothing after instruction `offset` on its line could touch a buffer.

    Args:
        is_bool: that instruction leaves a plain bool, so that testing it is harmless too.

    >>> code = compile("c = f()\\ng(f())\\nif f(): pass\\n", "example", "exec")
    >>> calls = [i.offset for i in dis.get_instructions(code) if i.opname == "CALL"]
    >>> [rest_is_harmless(code, offset) for offset in calls]
    [True, False, True, False]
    >>> rest_is_harmless(code, calls[3], is_bool=True)
    True
    """
    instructions, offsets = _read(code)
    to_see = [_index(offsets, offset) + 1]
    seen: set[int] = set()
    while to_see:
        at = to_see.pop()
        if at in seen or at >= len(instructions) or instructions[at].starts_line:
            continue
        seen.add(at)
        name = instructions[at].opname
        if name.startswith("RETURN") or "JUMP_BACKWARD" in name:
            continue  # the caller's moment, or a line event at the head of the loop
        if "JUMP" in name:
            if "IF" in name and not is_bool:
                return False
            to_see.append(_index(offsets, instructions[at].argval))
            if "IF" not in name:
                continue
        elif name not in _AFTER and not (is_bool and name in _TESTS):
            return False
        to_see.append(at + 1)
    return True


@lru_cache(maxsize=4096)
def start_is_harmless(code: CodeType, offset: int, since: int = -1) -> bool:
    """Whether nothing before instruction `offset` on its line could touch a buffer.

    Args:
        since: look back to this instruction, not to the beginning of the line.

    >>> code = compile("e.query()\\ng(a); e.query()\\n", "example", "exec")
    >>> calls = [i.offset for i in dis.get_instructions(code) if i.opname == "CALL"]
    >>> start_is_harmless(code, calls[0]), start_is_harmless(code, calls[2])
    (True, False)
    >>> start_is_harmless(code, calls[2], since=calls[1])
    True
    """
    instructions, offsets = _read(code)
    at = _index(offsets, offset)
    first = _index(offsets, since) if since >= 0 else -1
    while at > max(first, 0) and (at == first or not instructions[at].starts_line):
        at -= 1
        if at != first and instructions[at].opname not in _BEFORE:
            return False
    return True


@lru_cache(maxsize=1024)
def _read(code: CodeType) -> tuple[list[dis.Instruction], list[int]]:
    """The instructions, and their offsets."""
    instructions = list(dis.get_instructions(code))
    return instructions, [found.offset for found in instructions]


def _index(offsets: list[int], offset: int) -> int:
    """The instruction at `offset`, which may be that of its inline cache."""
    return bisect.bisect(offsets, offset) - 1
