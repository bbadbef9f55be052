"""Views that leave a function: returned, stored, yielded, captured."""

from __future__ import annotations

import ast

from pinlab.detect.lint.flow.atoms import Array, Event, Func, Obj, Values
from pinlab.detect.lint.flow.buffer import Buffer, Where
from pinlab.detect.lint.flow.library import Library
from pinlab.detect.lint.flow.occurrences import Escape
from pinlab.detect.lint.flow.state import State

# `x.grad = view` and `x.data = view` give a tensor its memory: sharing is what they are for.
MEMORY_OF_A_TENSOR = (".grad`", ".data`")
# A container's own protocol: handing out parts is what it is for.
PROTOCOL = frozenset("__getitem__ __iter__ __array__ __dlpack__ __next__ __enter__".split())


class Escapes(Library):
    """Notices each persistent buffer inside a value that leaves."""

    def escape(
        self, values: Values, state: State, node: ast.AST, how: str, *, own: bool = False
    ) -> None:
        """`values` outlive the function: `how` completes "it leaves …"."""
        if self.silent:
            self._keep(values, state)
            return
        atoms = list(self.flatten(values, state))
        for func in [atom for atom in atoms if isinstance(atom, Func) and atom.closure]:
            atoms.extend(self.flatten(self.result_of(func, state, node), state))
        guarded = any(isinstance(atom, Event) for atom in atoms)
        lent = self.frame.context_manager or self.frame.title.rpartition(".")[2] in PROTOCOL
        self._keep(values, state)
        found = list(dict.fromkeys(atom for atom in atoms if isinstance(atom, Array)))
        direct = [atom for atom in values if isinstance(atom, Array)]
        on_device = any(array.buffer.where is Where.DEVICE for array in direct)
        for array in found:
            if not self._matters(array, state) or (own and not _is_part(array)):
                continue
            landing = bool(state.in_flight(array, up=False))
            self.notice(
                Escape(
                    self.spot(array.cut.node if array.cut and not self._far(array) else node),
                    array,
                    how,
                    guarded=guarded,
                    lent=lent or landing,
                    own=own,
                    doubtful=not array.sure
                    or (on_device and array in direct)
                    or how.endswith(MEMORY_OF_A_TENSOR),
                )
            )

    def _keep(self, values: Values, state: State) -> None:
        state.kept |= {
            atom.buffer for atom in self.flatten(values, state) if isinstance(atom, Array)
        }

    def _matters(self, array: Array, state: State) -> bool:
        buffer: Buffer = array.buffer
        fresh = buffer in state.fresh or (array.new and buffer in state.made)
        return buffer.persistent and not fresh and array.face != "address"

    def _far(self, array: Array) -> bool:
        """True if the view was made in another file: the call is the line to show."""
        return array.cut is not None and array.cut.place.path != self.module.path

    def result_of(self, func: Func, state: State, node: ast.AST) -> Values:
        """What a local function gives its later caller, found without noticing anything."""
        self.silent += 1
        try:
            return self.invoke(func, [], {}, state.copy(), node)
        finally:
            self.silent -= 1

    def store_escape(
        self, values: Values, state: State, node: ast.AST, target: str, *, own: bool
    ) -> None:
        """`values` are stored in something that outlives the call."""
        if own and self.frame.setup:
            return
        self.escape(values, state, node, f"stored in `{target}`", own=own)
        if not own:
            self.hand_on(values, state, node, f"stored in `{target}`")

    def name_buffers(self, values: Values, name: str, state: State) -> None:
        """Let messages call an unnamed buffer by what holds it; attributes beat locals."""
        for atom in values:
            if isinstance(atom, Array):
                buffer = atom.buffer
                plain = atom.cut is None
                if plain and (not buffer.name or ("." in name and "." not in buffer.name)):
                    buffer.name = name
            elif isinstance(atom, Obj) and not atom.outside and "." in name:
                self._name_inside(atom, name, state)

    def _name_inside(self, obj: Obj, name: str, state: State) -> None:
        for key, inner in state.contents(obj.site):
            for atom in inner:
                if isinstance(atom, Array) and atom.cut is None and key not in ("*",):
                    mine = atom.buffer.name.startswith("self.") or "." not in atom.buffer.name
                    made_at = obj.site.rpartition(":")[0] + ">"
                    inside = atom.buffer.site.startswith(made_at)
                    if mine and (inside or not atom.buffer.name):
                        dot = "" if key.startswith("[") else "."
                        atom.buffer.name = f"{name}{dot}{key}"

    def escape_return(self, values: Values, state: State, node: ast.AST) -> None:
        """A ``return`` of an entry."""
        how = "returned"
        inside = next((a for a in values if isinstance(a, Obj) and a.title and not a.outside), None)
        if inside is not None and inside.kind == "object":
            how = f"returned inside `{inside.title}(…)`"
        self.escape(values, state, node, how)
        self.hand_on(values, state, node, "returned")


def _is_part(array: Array) -> bool:
    """Kept in an attribute of its own holder, a whole face or a ring's row is the idiom."""
    return array.cut is not None and array.cut.step != "row" and bool(array.region)
