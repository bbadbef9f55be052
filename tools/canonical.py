"""The one form in which a notebook lies on disk.

What a kernel or an editor puts into a notebook besides its content (random ids, timings, widget
state, paths of this machine) is taken out, so that running a lesson again gives the same bytes.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from tools.lesson_files import MEASURED, RAISES, ROOT, code_cells, tags

METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
KEPT_CELL_METADATA = ("tags", "slideshow")
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"

# What differs from run to run and from machine to machine without meaning anything.
RUN_TO_RUN: list[tuple[re.Pattern[str], str]] = [
    (re.compile(r"\S*[/\\]ipykernel_\d+[/\\]\d+\.py"), "<cell>"),
    (re.compile(r"(?:~|[A-Za-z]:\\|/)[^\s'\"]*[/\\]site-packages[/\\]"), "site-packages/"),
    (re.compile(r"(?:~|/)[^\s'\"]*/lib/python3\.\d+/"), "lib/python/"),
    (re.compile(r"\bat 0x[0-9a-fA-F]{6,}"), "at 0x..."),
    (re.compile(r"<dc:date>[^<]*</dc:date>"), "<dc:date></dc:date>"),
    (re.compile(r"Matplotlib v[\d.]+"), "Matplotlib"),
]
MACHINE_PATH = re.compile(r"/(?:home|root|Users|tmp)/\S*|[A-Z]:\\+Users\\+\S*")
CARRIAGE_RETURN = re.compile(r"^.*\r(?=[^\n])", re.MULTILINE)


def cell_id(cell: NotebookNode, seen: set[str]) -> str:
    """A short hash of what the cell says; a repeated cell gets a number behind it.

    An id that does not fit its source shows that the cell was edited since it was last run.
    """
    digest = hashlib.sha256(f"{cell.cell_type}\0{cell.source}".encode()).hexdigest()[:8]
    name, n = digest, 1
    while name in seen:
        n += 1
        name = f"{digest}-{n}"
    seen.add(name)
    return name


def edited_cells(nb: NotebookNode) -> set[int]:
    """Positions of cells whose id does not fit their source."""
    seen: set[str] = set()
    return {i for i, cell in enumerate(nb.cells) if cell.get("id") != cell_id(cell, seen)}


def clean_text(text: str) -> str:
    for pattern, replacement in RUN_TO_RUN:
        text = pattern.sub(replacement, text)
    root = str(ROOT)
    home = str(Path.home())
    if root.startswith(home):  # IPython writes paths under the home folder with a tilde
        text = text.replace("~" + root[len(home) :] + "/", "")
    return text.replace(root + "/", "")


def clean_value(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [clean_value(item) for item in value]
    return value


def merge_streams(outputs: Iterable[NotebookNode]) -> list[NotebookNode]:
    """Join neighbouring pieces of one stream; stdout stands before stderr in a run of both.

    A kernel sends a stream in pieces whose borders, and whose order between the two streams,
    depend on time. Their place among figures and results does not.
    """
    merged: list[NotebookNode] = []
    run: dict[str, NotebookNode] = {}

    def flush() -> None:
        merged.extend(run[name] for name in sorted(run, key=("stdout", "stderr").index))
        run.clear()

    for output in outputs:
        if output.output_type != "stream":
            flush()
            merged.append(output)
        elif output.name in run:
            run[output.name].text += output.text
        else:
            run[output.name] = nbformat.from_dict(dict(output))
    flush()
    for output in merged:
        if output.output_type == "stream":
            output.text = CARRIAGE_RETURN.sub("", output.text)
    return merged


def canonical_outputs(outputs: Iterable[NotebookNode], count: int | None) -> list[NotebookNode]:
    kept: list[NotebookNode] = []
    for original in merge_streams(outputs):
        output = nbformat.from_dict(dict(original))
        if output.output_type == "stream":
            output.text = clean_text(output.text)
        elif output.output_type == "error":
            output.evalue = clean_text(output.evalue)
            output.traceback = clean_value(list(output.traceback))
        else:
            output.data = nbformat.from_dict(
                {
                    mime: value
                    if mime.startswith("image/") and mime != "image/svg+xml"
                    else clean_value(value)
                    for mime, value in output.data.items()
                    if mime != WIDGET_VIEW
                }
            )
            if "execution_count" in output:
                output.execution_count = count
        kept.append(output)
    return kept


def canonical_cell_metadata(cell: NotebookNode) -> dict[str, Any]:
    kept = {key: cell.metadata[key] for key in KEPT_CELL_METADATA if cell.metadata.get(key)}
    if "tags" in kept:
        kept["tags"] = sorted(set(kept["tags"]))
        if "hide-input" in kept["tags"]:
            kept["jupyter"] = {"source_hidden": True}
    return kept


def in_order(nb: NotebookNode) -> bool:
    """Whether every code cell ran, each after the one above it."""
    counts = [cell.execution_count for cell in code_cells(nb)]
    return None not in counts and all(a < b for a, b in itertools.pairwise(counts))


def canonical(nb: NotebookNode, just_run: bool = False) -> NotebookNode:
    """A canonical copy; the content, and the order in which cells ran, stay as they are.

    Unless it was ``just_run``, a measured cell that was edited loses its output: it shows what
    other source measured, and no test would notice.
    """
    seen: set[str] = set()
    renumber = in_order(nb)
    edited = set() if just_run else edited_cells(nb)
    cells, count = [], 0
    for position, old in enumerate(nb.cells):
        cell: dict[str, Any] = {"cell_type": old.cell_type, "source": old.source.rstrip("\n")}
        cell["metadata"] = canonical_cell_metadata(old)
        if old.cell_type == "code":
            count += 1
            stale = MEASURED in tags(old) and position in edited
            number = None if stale else count if renumber else old.execution_count
            cell["execution_count"] = number
            cell["outputs"] = [] if stale else canonical_outputs(old.outputs, number)
        node = nbformat.from_dict(cell)
        node["id"] = cell_id(node, seen)
        cells.append(node)
    return nbformat.from_dict(
        {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    )


def to_text(nb: NotebookNode) -> str:
    """The bytes on disk: one space of indent, sorted keys, a newline at the end."""
    return nbformat.writes(nb, version=4).rstrip("\n") + "\n"


def _cell_problems(label: str, cell: NotebookNode) -> list[str]:
    if not cell.source.strip():
        return [f"{label} is empty"]
    if cell.execution_count is None:
        return [f"{label} has not been run (or was changed since it was measured)"]
    raised = any(output.output_type == "error" for output in cell.outputs)
    if raised and RAISES not in tags(cell):
        return [f"{label} ends in an error and is not tagged {RAISES}"]
    if not raised and RAISES in tags(cell):
        return [f"{label} is tagged {RAISES} and raised nothing"]
    return []


def problems(nb: NotebookNode, text: str) -> list[str]:
    """What keeps a notebook from being canonical: first what only a run can repair."""
    found: list[str] = []
    for number, cell in enumerate(code_cells(nb), 1):
        found += _cell_problems(f"code cell {number}", cell)
    if not found and not in_order(nb):
        found.append("the cells were not run in order, from top to bottom")
    wanted = canonical(nb)
    tidy = to_text(wanted)
    if text != tidy:
        found.append(f"not in canonical form ({_first_difference(text, tidy)}); --fix repairs it")
    for match in MACHINE_PATH.finditer(_readable(wanted)):
        found.append(f"a path of one machine: {match.group(0)[:60]}")
    return found


def _readable(nb: NotebookNode) -> str:
    """Everything but pictures, whose base64 may spell a path by chance."""
    words = []
    for cell in nb.cells:
        words.append(cell.source)
        for output in cell.get("outputs", []):
            data = {k: v for k, v in output.get("data", {}).items() if not k.startswith("image/")}
            words += [str(output.get("text", "")), str(output.get("evalue", "")), str(data)]
            words += output.get("traceback", [])
    return "\n".join(words)


def _first_difference(text: str, tidy: str) -> str:
    old, new = text.splitlines(), tidy.splitlines()
    for number, (a, b) in enumerate(zip(old, new, strict=False), 1):
        if a != b:
            return f"line {number}: {a.strip()[:40]!r} should be {b.strip()[:40]!r}"
    return f"{len(old)} lines, should be {len(new)}"
