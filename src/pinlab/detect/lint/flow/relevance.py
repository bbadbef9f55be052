"""Which functions are worth a walk: those that can reach memory the rules speak of.

Names are followed through a module without regard to order: what is assigned from an expression
that mentions pinning becomes *hot*, and so does what is assigned from that. A function that
mentions nothing hot cannot give a finding, and is not walked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from pinlab.detect.lint.flow import vocabulary
from pinlab.detect.lint.flow.modules import FunctionNode, ModuleInfo

PIN = "@pin"
"""Stands among the words of an expression for a call that allocates pinned memory."""
SEEDS = frozenset({PIN})
FACTORIES = vocabulary.TORCH_FACTORIES | vocabulary.LIKE_FACTORIES | vocabulary.NEW_METHODS
CPU = "'cpu'"
DOWNLOAD = frozenset({"non_blocking=", CPU})
# Attributes that every tensor has: hot only where pinned memory is put there in so many words.
COMMON = vocabulary.VIEW_ATTRIBUTES | vocabulary.PLAIN_ATTRIBUTES | {"args", "name", "value"}
RECORD = "record_stream()"
Node = FunctionNode | ast.Lambda


@dataclass(slots=True)
class Flow:
    """``targets = … words …``: locals by name, attributes by the last word."""

    locals: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Sketch:
    """What one function, or the module's own code, mentions and assigns."""

    name: str = ""
    words: set[str] = field(default_factory=set)
    flows: list[Flow] = field(default_factory=list)
    returns: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    swaps: bool = False
    taken: set[str] = field(default_factory=set)
    moved: set[str] = field(default_factory=set)
    put_back: set[str] = field(default_factory=set)
    is_property: bool = False


class Relevance:
    """The hot names of one module. `names`: classes of other files that hold pinned memory.

    With `everything` each function counts: notes speak of plain arrays too.
    """

    def __init__(self, module: ModuleInfo, names: Iterable[str], everything: bool = False) -> None:
        self._everything = everything
        self.hot = set(SEEDS) | set(names)
        self._sketches: dict[ast.AST, Sketch] = {}
        self._module = _sketch_module(module.tree)
        for node in ast.walk(module.tree):
            if isinstance(node, FunctionNode):
                self._sketches[node] = _sketch(node)
            elif isinstance(node, ast.ClassDef) and holds_pinned(node):
                self.hot |= {node.name, f"{node.name}()"}
        self._heat()
        self._reaching = self._reach()
        self.any = everything or any(map(self._touches, self._all()))

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

    def _all(self) -> list[Sketch]:
        return [self._module, *self._sketches.values()]

    def _heat(self) -> None:
        size = -1
        while size != len(self.hot):
            size = len(self.hot)
            for sketch in self._all():
                if not sketch.words.isdisjoint(self.hot) or sketch.words >= DOWNLOAD:
                    self._spread(sketch)

    def _spread(self, sketch: Sketch) -> None:
        mine: set[str] = set()
        size = -1
        while size != len(mine) + len(self.hot):
            size = len(mine) + len(self.hot)
            for flow in sketch.flows:
                words = flow.words
                reached = not (words.isdisjoint(self.hot) and words.isdisjoint(mine))
                if reached or words >= DOWNLOAD:
                    mine |= flow.locals
                    direct = PIN in words or words >= DOWNLOAD
                    self.hot |= {f".{a}" for a in flow.attributes if direct or a not in COMMON}
        hot = self.hot | mine
        if not sketch.returns.isdisjoint(hot) and sketch.name:
            self.hot |= (
                {f"{sketch.name}()", f".{sketch.name}"}
                if sketch.is_property
                else {f"{sketch.name}()"}
            )
        if not sketch.name:
            self.hot |= mine


def _sketch_module(tree: ast.Module) -> Sketch:
    """The module's own code and its class bodies, without the functions in them."""
    sketch = Sketch()
    bodies: list[tuple[list[ast.stmt], bool]] = [(tree.body, False)]
    while bodies:
        body, in_class = bodies.pop()
        for statement in body:
            if isinstance(statement, FunctionNode):
                continue
            if isinstance(statement, ast.ClassDef):
                bodies.append((statement.body, True))
                for base in statement.bases:
                    sketch.flows.append(Flow({statement.name}, set(), _words(base)))
                continue
            before = len(sketch.flows)
            _collect(statement, sketch)
            for flow in sketch.flows[before:] if in_class else ():
                flow.attributes |= flow.locals
    return sketch


def _sketch(function: FunctionNode) -> Sketch:
    sketch = Sketch(function.name)
    sketch.is_property = any("property" in ast.unparse(d) for d in function.decorator_list)
    _collect(function, sketch)
    return sketch


def _collect(root: ast.AST, sketch: Sketch) -> None:
    for node in ast.walk(root):
        word = _word(node)
        if word:
            sketch.words.add(word)
        if isinstance(node, ast.Assign):
            sketch.flows.append(_flow(node.targets, node.value))
            _note_swap(node, sketch)
        elif isinstance(node, ast.AnnAssign):
            words = _words(node.annotation)
            flow = _flow([node.target], node.value)
            flow.words |= words
            sketch.flows.append(flow)
        elif isinstance(node, ast.NamedExpr):
            sketch.flows.append(_flow([node.target], node.value))
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            sketch.flows.append(_flow([node.target], node.iter))
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            sketch.flows.append(_flow([node.optional_vars], node.context_expr))
        elif isinstance(node, ast.arg) and node.annotation is not None:
            sketch.flows.append(Flow({node.arg}, set(), _words(node.annotation)))
        elif isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) and node.value is not None:
            sketch.returns |= _words(node.value)
        elif isinstance(node, ast.Call):
            _collect_call(node, sketch)


def _collect_call(node: ast.Call, sketch: Sketch) -> None:
    """Who is called; and ``self.items.append(x)`` puts what `x` is into ``items``."""
    func = node.func
    if isinstance(func, ast.Name):
        sketch.calls.add(func.id)
    elif isinstance(func, ast.Attribute) and _is_self(func.value):
        sketch.calls.add(func.attr)
    if isinstance(func, ast.Attribute) and func.attr in vocabulary.STORERS:
        words = set().union(*(_words(arg) for arg in node.args)) if node.args else set()
        sketch.flows.append(Flow(*_targets(func.value), words))
    elif isinstance(func, ast.Name) and func.id == "setattr" and len(node.args) == 3:
        name = node.args[1]
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            sketch.flows.append(Flow(set(), {name.value}, _words(node.args[2])))


def _flow(targets: list[ast.expr], value: ast.expr | None) -> Flow:
    flow = Flow(words=_words(value) if value is not None else set())
    for target in targets:
        names, attributes = _targets(target)
        flow.locals |= names
        flow.attributes |= attributes
    return flow


def _targets(target: ast.expr) -> tuple[set[str], set[str]]:
    names: set[str] = set()
    attributes: set[str] = set()
    stack: list[ast.expr] = [target]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            attributes.add(node.attr)
        elif isinstance(node, ast.Tuple | ast.List):
            stack.extend(node.elts)
        elif isinstance(node, ast.Subscript | ast.Starred):
            stack.append(node.value)
    return names, attributes


def allocates_pinned(node: ast.AST) -> bool:
    """``torch.zeros(…, pin_memory=p)`` or ``x.pin_memory()``, unless `p` is literally false."""
    if not isinstance(node, ast.Call):
        return False
    func = node.func
    name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    if name == "pin_memory":
        return isinstance(func, ast.Attribute)
    if name not in FACTORIES and name != "partial":
        return False
    return any(
        keyword.arg == "pin_memory"
        and not (isinstance(keyword.value, ast.Constant) and not keyword.value.value)
        for keyword in node.keywords
    )


def holds_pinned(cls: ast.ClassDef) -> bool:
    """Whether a class stores memory that it pins in an attribute of its own."""
    sketch = Sketch()
    _collect(cls, sketch)
    if PIN not in sketch.words:
        return False
    hot = {PIN}
    for _ in range(3):
        for flow in sketch.flows:
            if not flow.words.isdisjoint(hot):
                if flow.attributes - COMMON or (flow.attributes and PIN in flow.words):
                    return True
                hot |= flow.locals
    fields = [item for item in cls.body if isinstance(item, ast.Assign | ast.AnnAssign)]
    return any(allocates_pinned(part) for field_ in fields for part in ast.walk(field_))


def _word(node: ast.AST) -> str:
    """``x`` for a name, ``.x`` for an attribute, ``x()`` for a call, ``x=`` for a keyword."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f".{node.attr}"
    if isinstance(node, ast.Call):
        if allocates_pinned(node):
            return PIN
        func = node.func
        name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        return f"{name}()" if name else ""
    if isinstance(node, ast.keyword):
        return f"{node.arg}="
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return CPU if node.value.startswith("cpu") else ""
    return ""


def _words(node: ast.AST) -> set[str]:
    found = {_word(part) for part in ast.walk(node)}
    found.discard("")
    return found


def _note_swap(node: ast.Assign, sketch: Sketch) -> None:
    """``m[i], m[j] = …`` is one; ``t = m[i]``, ``m[i] = m[j]`` and ``m[j] = t`` together are."""
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple):
        rows = [_container(item) for item in target.elts if isinstance(item, ast.Subscript)]
        sketch.swaps = sketch.swaps or len(set(rows)) < len(rows)
    elif isinstance(value, ast.Subscript) and isinstance(target, ast.Name):
        sketch.taken.add(_container(value))
    elif isinstance(target, ast.Subscript) and isinstance(value, ast.Name):
        sketch.put_back.add(_container(target))
    elif isinstance(target, ast.Subscript) and isinstance(value, ast.Subscript):
        sketch.moved |= {_container(target)} & {_container(value)}
    sketch.swaps = sketch.swaps or bool(sketch.taken & sketch.moved & sketch.put_back)


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _container(node: ast.Subscript) -> str:
    value = node.value
    if isinstance(value, ast.Attribute):
        return f".{value.attr}"
    return value.id if isinstance(value, ast.Name) else "?"
