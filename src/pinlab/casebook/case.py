"""One public bug, or one report that is none, as two small programs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from difflib import unified_diff
from typing import Any

from pinlab import sim
from pinlab.casebook.guards import Guard
from pinlab.casebook.kinds import Kind
from pinlab.casebook.program import CaseProgram, Program
from pinlab.device import pick_device
from pinlab.schedules import Report, explore, replay
from pinlab.schedules.schedule import Schedule
from pinlab.sim.platform import CUDA

# What an int64 reads as where nothing was written: the simulated device's fill byte, eight times.
NEVER_WRITTEN = int.from_bytes(b"\xcd" * 8, "little", signed=True)

_ID = re.compile(r"[ZC]\d\d")
_PUBLIC_ID = re.compile(r"[\w.-]+/[\w.-]+#\d+")


@dataclass(frozen=True, repr=False)
class Case:
    """A report, retold.

    Attributes:
        id: ``"Z…"`` for a bug, ``"C…"`` for a control.
        title: one line.
        public_id: the report, ``"owner/repository#number"``.
        kind: what kind of fault it is; of a control: of which it was suspected.
        symptom: what its users saw.
        mechanism: how it came about. repair: what the maintainers chose.
        broken: a program for a device that returns (observed, expected). Of a control: the form
            that was suspected, which is right.
        fixed: the program with the lines that repair it; None for a control.
        culprit: the statement of `broken` that does the damage; "" for a control.
        wrong: what `broken` observes when it goes wrong; None for a control.
        platform: the rules that the programs need.
        guard: where the guard was missing; None where nobody has said, and for a control.
        unseen: why a tool cannot see this case although it sees others of its kind, by tool.

    Raises:
        ValueError: naming the field that is wrong.

    >>> from pinlab.casebook import case
    >>> z11 = case("Z11")
    >>> z11.explore("broken").counterexample is None, z11.explore("fixed").correct
    (False, True)
    """

    id: str
    title: str
    public_id: str
    kind: Kind
    symptom: str
    mechanism: str
    repair: str
    broken: Program
    fixed: Program | None = None
    culprit: str = ""
    wrong: Any = None
    platform: sim.Platform = CUDA
    guard: Guard | None = None
    unseen: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise ValueError(f"id {self.id!r}; it must be Z or C and two digits")
        if not _PUBLIC_ID.fullmatch(self.public_id):
            raise ValueError(f"public_id {self.public_id!r}; it must be owner/repository#number")
        if not isinstance(self.kind, Kind):
            raise ValueError(f"kind {self.kind!r}; it must be one of pinlab.casebook.kinds")
        if not isinstance(self.guard, Guard | None):
            raise ValueError(f"guard {self.guard!r}; it must be one of pinlab.casebook.guards")
        for name in ("title", "symptom", "mechanism", "repair"):
            if not getattr(self, name).strip():
                raise ValueError(f"{name} is empty")
        self._check_forms()

    def _check_forms(self) -> None:
        if not callable(self.broken):
            raise ValueError(f"broken is {self.broken!r}; it must be a function of a device")
        if self.control != (self.fixed is None):
            raise ValueError("a bug needs a fixed form, a control has none")
        if self.control != (not self.culprit) or self.control != (self.wrong is None):
            raise ValueError("a bug needs its culprit and its wrong value, a control has neither")
        if self.control and self.guard is not None:
            raise ValueError("a control lacks no guard")
        if self.culprit not in inspect.getsource(self.broken):
            raise ValueError(f"culprit {self.culprit!r} is no statement of the broken form")

    @property
    def control(self) -> bool:
        """Whether it is a report that is not a bug."""
        return self.id.startswith("C")

    @property
    def url(self) -> str:
        """Where the report is."""
        repository, number = self.public_id.split("#")
        return f"https://github.com/{repository}/issues/{number}"

    @property
    def forms(self) -> dict[str, Program]:
        """Its programs by name: ``"broken"`` and, unless it is a control, ``"fixed"``."""
        forms = {"broken": self.broken}
        return forms if self.fixed is None else {**forms, "fixed": self.fixed}

    def form(self, name: str | Program) -> Program:
        """A form by name; a function is its own form.

        Raises:
            ValueError: naming the forms there are.
        """
        if callable(name):
            return name
        if name not in self.forms:
            raise ValueError(f"{self.id} has no form {name!r}, only {', '.join(self.forms)}")
        return self.forms[name]

    def run(self, form: str | Program = "broken") -> tuple[Any, Any]:
        """Run a form once, under the case's platform, as the device is now: (observed, expected).

        Args:
            form: ``"broken"``, ``"fixed"``, or a function of your own.
        """
        with sim.platform(self.platform):
            return self.form(form)(pick_device())

    @property
    def expected(self) -> Any:
        """The right value."""
        pick_device()
        with sim.mode("eager") if sim.installed() else nullcontext():
            return self.run()[1]

    def program(self, form: str | Program = "broken") -> Callable[[], Any]:
        """A form as a program that takes nothing and returns what was observed."""
        function = self.form(form)
        shown = repr(form) if isinstance(form, str) else getattr(form, "__name__", repr(form))
        name = f'case("{self.id}").program({shown})'.replace("'", '"')
        return CaseProgram(function, self.platform, name)

    def explore(self, form: str | Program = "broken", **options: Any) -> Report:
        """Every schedule of a form, held against the right value; `options` as for `explore`."""
        return explore(self.program(form), expect=self.expected, **options)

    def replay(self, token: str | Schedule, form: str | Program = "broken", **options: Any) -> Any:
        """What a form observes under one schedule; `options` as for `replay`."""
        return replay(self.program(form), token, **options)

    def source(self, form: str | Program = "broken") -> str:
        """The lines of a form."""
        return inspect.getsource(self.form(form))

    def difference(self) -> str:
        """The lines in which the fixed form differs: with ``-`` as broken, with ``+`` as fixed.

        >>> from pinlab.casebook import case
        >>> print(case("Z02").difference())
        -    allowed[0], allowed[1] = allowed[1], allowed[0]
        +    allowed[[0, 1]] = allowed[[1, 0]]
        """
        if self.fixed is None:
            return ""
        broken, fixed = (self.source(form).splitlines()[1:] for form in self.forms)
        lines = unified_diff(broken, fixed, n=0, lineterm="")
        return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))

    def __repr__(self) -> str:
        what = "control, suspected of" if self.control else "kind"
        return f"<{self.id} {self.public_id}, {what} {self.kind}: {self.title}>"
