"""What every part of the walk shares: frames, places, emission, the limits.

The walk is one class put together from several files (`interpreter.Interpreter`). This base
declares the steps that the parts call on each other.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from pinlab.detect.lint.flow.atoms import Array, Func, Obj, Values
from pinlab.detect.lint.flow.buffer import Buffer, Pinned, Place, Where
from pinlab.detect.lint.flow.modules import ClassInfo, ModuleInfo
from pinlab.detect.lint.flow.occurrences import Occurrence, Spot
from pinlab.detect.lint.flow.state import Env, State
from pinlab.detect.lint.project import Project

MAX_DEPTH = 5
# Statements walked for one entry before calls are no longer followed into: while learning what
# the attributes of a class hold, and while looking.
LEARNING_BUDGET = 400
INLINE_BUDGET = 2_500


@dataclass(slots=True)
class Loop:
    """The states that leave a loop by ``break`` and ``continue``."""

    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)


@dataclass(slots=True)
class Frame:
    """One function being walked. `call` is the node in the caller; None for an entry."""

    module: ModuleInfo
    title: str
    node: ast.AST | None = None
    cls: ClassInfo | None = None
    owner: Obj | None = None
    call: ast.AST | None = None
    prefix: str = ""
    number: int = 0
    setup: bool = False
    context_manager: bool = False
    on_yield: Callable[[State], None] | None = None
    returns: list[Values] = field(default_factory=list)
    exits: list[State] = field(default_factory=list)
    yields: list[Values] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    shared_names: frozenset[str] = frozenset()
    called_locals: set[int] = field(default_factory=set)
    local_functions: list[Func] = field(default_factory=list)


class Core:
    """The shared part of the walk over one module."""

    def __init__(
        self, module: ModuleInfo, project: Project, notice: Callable[[Occurrence], None]
    ) -> None:
        self.module = module
        self.project = project
        self.frames: list[Frame] = []
        self.buffers: dict[str, Buffer] = {}
        self.closures: dict[int, Env] = {}
        self.free_names: dict[ast.AST, frozenset[str]] = {}
        self.silent = 0
        self.steps = 0
        self.learning = False
        self.epoch = 0
        self.trusted_suffixes: tuple[str, ...] = ()
        self.written: set[Buffer] = set()
        self.read_buffers: set[Buffer] = set()
        self.waits_seen = 0
        self._notice = notice

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.module.path}>"

    # Steps of other parts ---------------------------------------------------------------

    def evaluate(self, node: ast.expr, state: State) -> Values:
        raise NotImplementedError

    def run_block(self, body: list[ast.stmt], state: State) -> None:
        raise NotImplementedError

    def assign(self, target: ast.expr, values: Values, state: State) -> None:
        raise NotImplementedError

    def call(self, node: ast.Call, state: State) -> Values:
        raise NotImplementedError

    def invoke(
        self,
        func: Func,
        args: list[Values],
        kwargs: dict[str, Values],
        state: State,
        node: ast.AST,
    ) -> Values:
        raise NotImplementedError

    # Places -----------------------------------------------------------------------------

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def place(self, node: ast.AST) -> Place:
        return Place(self.frame.module.path, getattr(node, "lineno", 1))

    def spot(self, node: ast.AST) -> Spot:
        """The line in the checked file: of `node`, or of the call that led out of the file."""
        at: ast.AST | None = node
        for frame in reversed(self.frames):
            if frame.module is self.module or frame.call is None:
                break
            at = frame.call
        line = getattr(at, "lineno", 1)
        return Spot(line, self.frame.title, self.module.path)

    def place_in_file(self, node: ast.AST) -> Place:
        return Place(self.module.path, self.spot(node).line)

    def site(self, node: ast.AST) -> str:
        """A name for what `node` makes. Both ends count: calls in a chain begin together."""
        start = f"{getattr(node, 'lineno', 0)}:{getattr(node, 'col_offset', 0)}"
        end = f"{getattr(node, 'end_lineno', 0)}:{getattr(node, 'end_col_offset', 0)}"
        return f"{self.frame.prefix}{self.frame.module.path}:{start}-{end}"

    # Emission ---------------------------------------------------------------------------

    def notice(self, occurrence: Occurrence) -> None:
        if not self.silent:
            self._notice(occurrence)

    @property
    def abroad(self) -> bool:
        """Inside a function of another file, whose faults are that file's to report."""
        return self.frame.module is not self.module

    # Buffers ----------------------------------------------------------------------------

    def new_array(
        self,
        node: ast.AST,
        state: State,
        *,
        face: str = "tensor",
        where: Where = Where.UNKNOWN,
        pinned: Pinned = Pinned.NO,
        dtype: str | None = None,
        ndim: int | None = None,
        tag: str = "",
    ) -> Array:
        """A fresh block: what was in flight for an earlier one of this site is another's."""
        site = self.site(node) + tag
        buffer = self.buffers.get(site)
        if buffer is None:
            buffer = Buffer(site, self.place(node), face, where, pinned, dtype, ndim)
            self.buffers[site] = buffer
        elif buffer in state.fresh:
            # Made again on the way here: a loop, and the site stands for several blocks.
            buffer.many = True
        if pinned is not Pinned.NO:
            buffer.pinned = max(buffer.pinned, pinned) if buffer.persistent else pinned
            stale = [key for key, p in state.pending.items() if p.buffer is buffer]
            state.drop_pending(stale)
        buffer.stream = state.stream
        state.fresh |= {buffer}
        state.made |= {buffer}
        return Array(buffer, face, ndim=ndim, new=True)
