"""Which functions are worth a walk: those that can reach memory the rules speak of.

Names are followed through a module without regard to order: what is assigned from an expression
that mentions pinning becomes *hot*, and so does what is assigned from that. A function that
mentions nothing hot cannot give a finding, and is not walked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from pinlab.detect.lint.flow import vocabulary
from pinlab.detect.lint.flow.modules import FunctionNode, ModuleInfo
from pinlab.detect.lint.flow.seeds import allocates_pinned
from pinlab.detect.lint.flow.sketch import CPU, PIN, Flow, Sketch
from pinlab.detect.lint.flow.trees import nodes

DOWNLOAD = frozenset({"non_blocking=", CPU})
# Attributes that every tensor has: hot only where pinned memory is put there in so many words.
COMMON = vocabulary.VIEW_ATTRIBUTES | vocabulary.PLAIN_ATTRIBUTES | {"args", "name", "value"}
RECORD = "record_stream()"


class Relevance:
    """The hot names of one module. `names`: classes of other files that hold pinned memory.

    With `everything` each function counts: notes speak of plain arrays too.
    """

    def __init__(self, module: ModuleInfo, names: Iterable[str], everything: bool = False) -> None:
        self._everything = everything
        self.hot = {PIN} | set(names)
        self._sketches: dict[ast.AST, Sketch] = {}
        self._reaching: set[str] = set()
        self.any = everything
        if not (everything or module.seeds.any or len(self.hot) > 1):
            return
        self._module = _sketch_module(module.tree)
        for node in nodes(module.tree):
            if isinstance(node, FunctionNode):
                self._sketches[node] = Sketch.of_function(node)
        self.any = everything or any(map(self._touches, self._all()))
        if self.any:
            holders = [c for c in module.classes.values() if holds_pinned(c.node)]
            self.hot |= {form for c in holders for form in (c.name, f"{c.name}()")}
            self._heat()
            self._reaching = self._reach()

    def __repr__(self) -> str:
        return f"<Relevance: {len(self.hot)} hot names, {len(self._sketches)} functions>"

    def matters(self, node: ast.AST) -> bool:
        """Whether walking this function can show anything."""
        if self._everything or isinstance(node, ast.Lambda):
            return True
        sketch = self._sketches.get(node)
        if sketch is None or not self.any:
            return sketch is None
        return self._touches(sketch) or not sketch.calls.isdisjoint(self._reaching)

    def uses(self, node: FunctionNode, properties: set[str]) -> set[str]:
        """Methods called as ``anything.name(…)``, and properties read on anything."""
        sketch = self._sketches.get(node)
        if sketch is None:
            sketch = self._sketches[node] = Sketch.of_function(node)
        return sketch.methods | {name for name in properties if f".{name}" in sketch.words}

    def waits(self, node: ast.AST) -> bool:
        """Whether the function mentions something that is named like a wait."""
        sketch = self._sketches.get(node)
        words = sketch.words if sketch is not None else ()
        return any(vocabulary.waits_by_name(word.strip(".()=")) for word in words)

    def _touches(self, sketch: Sketch) -> bool:
        words = sketch.words
        if sketch.swaps or RECORD in words or words >= DOWNLOAD:
            return True
        return not words.isdisjoint(self.hot)

    def _all(self) -> list[Sketch]:
        return [self._module, *self._sketches.values()]

    def _reach(self) -> set[str]:
        """Names of functions that touch something hot, themselves or through what they call."""
        reaching = {s.name for s in self._sketches.values() if self._touches(s)}
        size = -1
        while size != len(reaching):
            size = len(reaching)
            for sketch in self._sketches.values():
                if not sketch.calls.isdisjoint(reaching):
                    reaching.add(sketch.name)
        return reaching

    def _heat(self) -> None:
        size = -1
        while size != len(self.hot):
            size = len(self.hot)
            for sketch in self._all():
                if not sketch.words.isdisjoint(self.hot) or sketch.words >= DOWNLOAD:
                    self._spread(sketch)

    def _spread(self, sketch: Sketch) -> None:
        """Heat what the flows of one sketch carry heat to."""
        mine: set[str] = set()
        size = -1
        while size != len(mine) + len(self.hot):
            size = len(mine) + len(self.hot)
            for flow in sketch.all_flows():
                if _carries(flow, self.hot, mine):
                    mine |= flow.locals
                    self.hot |= _hot_attributes(flow)
        if not sketch.name:
            self.hot |= mine
        elif not (sketch.returns.isdisjoint(self.hot) and sketch.returns.isdisjoint(mine)):
            self.hot.add(f".{sketch.name}" if sketch.is_property else f"{sketch.name}()")


def _carries(flow: Flow, hot: set[str], mine: set[str]) -> bool:
    words = flow.words
    return not (words.isdisjoint(hot) and words.isdisjoint(mine)) or words >= DOWNLOAD


def _hot_attributes(flow: Flow) -> set[str]:
    direct = PIN in flow.words or flow.words >= DOWNLOAD
    return {f".{name}" for name in flow.attributes if direct or name not in COMMON}


def holds_pinned(cls: ast.ClassDef) -> bool:
    """Whether a class stores memory that it pins in an attribute of its own."""
    if not any(map(allocates_pinned, nodes(cls))):
        return False
    hot = {PIN}
    flows = Sketch(cls.name, [cls]).all_flows()
    for _ in range(3):
        for flow in flows:
            if flow.words.isdisjoint(hot):
                continue
            if flow.attributes - COMMON or (flow.attributes and PIN in flow.words):
                return True
            hot |= flow.locals
    fields = [item for item in cls.body if isinstance(item, ast.Assign | ast.AnnAssign)]
    return any(allocates_pinned(part) for item in fields for part in nodes(item))


def _sketch_module(tree: ast.Module) -> Sketch:
    """The module's own code and its class bodies, without the functions in them."""
    roots: list[ast.AST] = []
    in_classes: list[ast.AST] = []
    bases: list[Flow] = []
    bodies: list[tuple[list[ast.stmt], list[ast.AST]]] = [(tree.body, roots)]
    while bodies:
        body, collected = bodies.pop()
        for statement in body:
            if isinstance(statement, ast.ClassDef):
                bodies.append((statement.body, in_classes))
                names = {base.id for base in statement.bases if isinstance(base, ast.Name)}
                bases.append(Flow({statement.name, f"{statement.name}()"}, set(), names))
            elif not isinstance(statement, FunctionNode):
                collected.append(statement)
    sketch = Sketch.of("", [*roots, *in_classes])
    fields = Sketch("", in_classes).all_flows()
    for flow in fields:
        flow.attributes |= flow.locals
    sketch.flows = [*Sketch("", roots).all_flows(), *fields, *bases]
    return sketch
