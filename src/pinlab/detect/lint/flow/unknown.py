"""Calls whose text is not in sight: what their names, and their arguments, still tell."""

from __future__ import annotations

import ast

from pinlab.detect.lint.flow import vocabulary as words
from pinlab.detect.lint.flow.atoms import (
    UNKNOWN,
    Event,
    Ext,
    Obj,
    Values,
    arrays,
    one,
)
from pinlab.detect.lint.flow.buffer import Where
from pinlab.detect.lint.flow.builtins import Builtins
from pinlab.detect.lint.flow.state import State

# Their events and barriers order host threads, not device work.
HOST_LIBRARIES = frozenset({"threading", "asyncio", "multiprocessing", "trio", "anyio"})


class UnknownCalls(Builtins):
    """Functions and methods that cannot be followed."""

    def unknown_call(
        self,
        name: str,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
        dotted: str = "",
    ) -> Values:
        """A function whose text is not in sight."""
        given = [*args, *kwargs.values()]
        if dotted:
            streamed = self.stream_call(name, args, node, state)
            if streamed is not None and dotted.partition(".")[0] not in HOST_LIBRARIES:
                return streamed
        if words.waits_by_name(name) and not dotted.startswith(("os.", "posixpath.")):
            self.wait_all(state)
        self._raw_copy(name, args, node, state)
        self._forget_events(given, state)
        if name in words.READERS:
            for value in given:
                self.read_inside(value, state, node, f"read by `{name}`")
            return UNKNOWN
        if name in words.WRITE_FUNCTIONS and args:
            self.write(args[0], state, node, f"written by `{name}`")
        if name in words.DEFERRERS or name in ("Thread", "Timer", "Process"):
            for value in given:
                self.escape(value, state, node, f"handed to `{name}(…)`, which runs later")
        if "out" in kwargs:
            self.write(kwargs["out"], state, node, f"written by `{name}(out=…)`")
        if (words.is_class_name(name) or name in words.SHALLOW) and not _copies(name):
            return self._instance(name, given, node, state)
        for value in given:
            self.hand_on(value, state, node, f"passed to `{name}(…)`" if name else "passed on")
        return UNKNOWN

    def unknown_method(
        self,
        base: Values,
        name: str,
        args: list[Values],
        kwargs: dict[str, Values],
        node: ast.Call,
        state: State,
    ) -> Values:
        """A method of something unknown, by its name."""
        if name == "copy_" and args:
            self.copy_into(UNKNOWN, args[0], self.async_flag(args, kwargs, 1), node, state)
            return base
        if name == "to":
            return self.convert(UNKNOWN, args, kwargs, node, state)
        if name in ("cuda", "npu", "xpu", "hpu"):
            flag = self.async_flag(args, kwargs, 1)
            return self.move(UNKNOWN, "device", None, flag, False, node, state)
        if name == "pin_memory":
            return self.pin(UNKNOWN, node, state)
        if name in ("item", "tolist", "cpu", "numpy"):
            self.wait_stream(state, state.stream, certain=False)
            return UNKNOWN
        if name in ("clone", "detach"):
            return UNKNOWN
        if name in words.NEW_METHODS and "pin_memory" in kwargs:
            return self.factory(name, args, kwargs, node, state)
        outside = [atom for atom in base if isinstance(atom, Ext)]
        if name in words.STORERS and outside:
            for value in (*args, *kwargs.values()):
                target = f"{outside[0].path}.{name}(…)"
                self.store_escape(value, state, node, target, own=False)
            return UNKNOWN
        streamed = self._stream_by_name(name, args, node, state)
        if streamed is not None:
            return streamed
        return self.unknown_call(name, args, kwargs, node, state)

    def _stream_by_name(
        self, name: str, args: list[Values], node: ast.Call, state: State
    ) -> Values | None:
        """``platform.current_stream()``, ``get_device_module(d).Event()`` and so on."""
        if name in ("current_stream", "Stream", "stream", "StreamContext", "set_stream"):
            return self.stream_call(name, args, node, state)
        if name == "Event":
            return self.stream_call(name, args, node, state)
        if name in ("wait_stream", "wait_event"):
            for key in list(state.pending):
                self.order_streams(state, state.stream, [key])
            return UNKNOWN
        if name == "record_event":
            event = Event(self.site(node))
            self.record(state, event, "")
            return one(event)
        return None

    def _instance(self, name: str, given: list[Values], node: ast.Call, state: State) -> Values:
        obj = Obj(f"{self.site(node)}:{name}", "object", title=name)
        state.clear(obj.site)
        for position, values in enumerate(given):
            state.store(obj.site, f"*{position}", values)
        return one(obj)

    def _raw_copy(self, name: str, args: list[Values], node: ast.Call, state: State) -> None:
        """``cudaMemcpyAsync(dst, tmp.data_ptr(), …)``: no allocator hears of it."""
        if not words.ASYNC_WORDS.search(name):
            return
        for position, values in enumerate(args):
            for array in arrays(values):
                pinned = array.buffer.maybe_pinned and array.buffer.where is Where.HOST
                if array.face == "address" and pinned and position > 0:
                    self.upload(array, state, node, sure=True, raw=True)

    def _forget_events(self, given: list[Values], state: State) -> None:
        """An event given away may be recorded out of sight: the benefit of the doubt."""
        if not state.events:
            return
        for values in given:
            for atom in self.flatten(values, state):
                if isinstance(atom, Event):
                    state.put_event(atom.site, None)


def _copies(name: str) -> bool:
    return name in words.COPYING_CLASSES or name.endswith(("Error", "Exception", "Warning"))
