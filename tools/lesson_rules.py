"""What every lesson keeps to, as far as a program can see it.

Each rule takes a notebook's path and content and returns what is wrong, in words an author can act
on. Solutions are held to fewer rules: they repeat a lesson's exercises, not its prose.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from pathlib import Path

from nbformat import NotebookNode

from tools.lesson_files import (
    ALLOWED_SKIPS,
    KNOWN_TAGS,
    MEASURED,
    SKIPS,
    code_cells,
    is_solution,
    markdown_cells,
    tags,
)

Rule = Callable[[Path, NotebookNode], list[str]]

CELLS = (25, 45)
WORDS = (1_000, 2_000)
BYTES = 300_000
MEDIAN_LINES = (3, 5)
MAX_LINES = 20
OPENING = ("What you'll do", "What you'll learn", "What you'll need")
CLOSING = ("key points", "leaves out", "next")
TWIN = "[figure] "
MIN_ALT = 20

FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
MARKUP = re.compile(r"<[^>]+>|\]\([^)]*\)|https?://\S+|[#*_`|>\[\]]")
MARKDOWN_IMAGE = re.compile(r"!\[([^\]]*)\]\(")
HTML_IMAGE = re.compile(r"<img\b(?![^>]*\balt=[\"'][^\"']+)", re.IGNORECASE)
MARKER = re.compile(r"^\s*#.*nbval", re.IGNORECASE | re.MULTILINE)
MARKERS = ("NBVAL_IGNORE_OUTPUT", "NBVAL_CHECK_OUTPUT", "NBVAL_RAISES_EXCEPTION", "NBVAL_SKIP")
SHOWS_FIGURE = re.compile(r"^(?:figures\.)?show\(", re.MULTILINE)
VENDOR_MODULE = re.compile(r"\btorch\.(?:cuda|sim)\b")
MINUTES = re.compile(r"\b\d+(?:\s*[-–]\s*\d+)?\s*min", re.IGNORECASE)
DIFFICULTY = re.compile(r"difficulty\W*[123]\b", re.IGNORECASE)


def words(nb: NotebookNode) -> int:
    """Words a reader reads: markdown without code blocks, addresses and markup."""
    text = "\n".join(cell.source for cell in markdown_cells(nb))
    text = MARKUP.sub(" ", FENCE.sub(" ", text))
    return len([word for word in text.split() if any(c.isalnum() for c in word)])


def lines(cell: NotebookNode) -> int:
    return sum(bool(line.strip()) for line in cell.source.splitlines())


def headings(nb: NotebookNode) -> list[tuple[int, str]]:
    """(level, text) of every heading, in order."""
    found = []
    for cell in markdown_cells(nb):
        for match in re.finditer(r"^(#+)\s+(.*?)\s*$", FENCE.sub("", cell.source), re.MULTILINE):
            found.append((len(match[1]), match[2].replace("’", "'")))
    return found


def _outside(name: str, value: float, limits: tuple[int, int]) -> list[str]:
    low, high = limits
    return [] if low <= value <= high else [f"{name}: {value:g}, should be {low:,} to {high:,}"]


def cell_count(path: Path, nb: NotebookNode) -> list[str]:
    return [] if is_solution(path) else _outside("cells", len(nb.cells), CELLS)


def word_count(path: Path, nb: NotebookNode) -> list[str]:
    return [] if is_solution(path) else _outside("words of markdown", words(nb), WORDS)


def file_size(path: Path, nb: NotebookNode) -> list[str]:
    size = path.stat().st_size
    return [f"{size:,} bytes, should be under {BYTES:,}"] if size >= BYTES else []


def cell_length(path: Path, nb: NotebookNode) -> list[str]:
    counts = [lines(cell) for cell in code_cells(nb)]
    found = [
        f"code cell {number} has {count} lines, should be at most {MAX_LINES}"
        for number, count in enumerate(counts, 1)
        if count > MAX_LINES
    ]
    if counts and not is_solution(path):
        found += _outside("median lines of a code cell", statistics.median(counts), MEDIAN_LINES)
    return found


def opening(path: Path, nb: NotebookNode) -> list[str]:
    if is_solution(path):
        return []
    seen = headings(nb)
    if not seen or seen[0][0] != 1 or not nb.cells[0].source.lstrip().startswith("# "):
        return ["the first cell does not start with a title, `# …`"]
    titles = [text for level, text in seen[1:] if level == 2][:3]
    found = []
    if titles != list(OPENING):
        found.append(f"the first headings are {titles}, should be {list(OPENING)}")
    need = "\n".join(cell.source for cell in nb.cells[:6] if cell.cell_type == "markdown")
    if not MINUTES.search(need) or "GPU" not in need:
        found.append("the opening does not say how many minutes, and that no GPU is needed")
    return found


def closing(path: Path, nb: NotebookNode) -> list[str]:
    if is_solution(path):
        return []
    seen = [text.lower() for _, text in headings(nb)]
    return [
        f"no heading near the end contains {wanted!r}"
        for wanted in CLOSING
        if not any(wanted in text for text in seen[3:])
    ]


def first_code_cell(path: Path, nb: NotebookNode) -> list[str]:
    cells = code_cells(nb)
    if cells and "torch.set_num_threads(1)" not in cells[0].source:
        return ["the first code cell does not call torch.set_num_threads(1)"]
    return []


def device_neutral(path: Path, nb: NotebookNode) -> list[str]:
    return [
        f"code cell {number} names {match[0]}; use torch.get_device_module(device)"
        for number, cell in enumerate(code_cells(nb), 1)
        if (match := VENDOR_MODULE.search(cell.source))
    ]


def tags_and_markers(path: Path, nb: NotebookNode) -> list[str]:
    return [
        f"cell {number}: {problem}"
        for number, cell in enumerate(nb.cells, 1)
        for problem in misspelt(cell)
    ]


def misspelt(cell: NotebookNode) -> list[str]:
    """Tags nobody honours, and nbval comments that are not exactly one of its markers."""
    found = [f"unknown tag {tag!r}" for tag in tags(cell) if tag not in KNOWN_TAGS]
    if cell.cell_type == "code":
        for match in MARKER.finditer(cell.source):
            line = cell.source[match.start() :].lstrip().splitlines()[0].strip()
            if line.lstrip("#").strip() not in MARKERS:
                found.append(f"unknown marker {line!r} (a marker stands alone on its line)")
    return found


def is_skipped(cell: NotebookNode) -> bool:
    comments = {
        line.strip().lstrip("#").strip()
        for line in cell.source.splitlines()
        if line.strip().startswith("#")
    }
    return bool(set(tags(cell)) & set(SKIPS)) or "NBVAL_SKIP" in comments


def skipped_cells(path: Path, nb: NotebookNode) -> list[str]:
    return [
        f"code cell {number} ({cell.id}) is skipped and not in ALLOWED_SKIPS"
        for number, cell in enumerate(code_cells(nb), 1)
        if is_skipped(cell) and (path.name, cell.id) not in ALLOWED_SKIPS
    ]


def measured_cells_assert(path: Path, nb: NotebookNode) -> list[str]:
    return [
        f"code cell {number} is tagged {MEASURED} and asserts nothing"
        for number, cell in enumerate(code_cells(nb), 1)
        if MEASURED in tags(cell) and not re.search(r"^\s*assert\b", cell.source, re.MULTILINE)
    ]


def _image_problems(outputs: list[NotebookNode], at: int) -> list[str]:
    output = outputs[at]
    found = []
    for mime in (name for name in output.get("data", {}) if name.startswith("image/")):
        alt = output.metadata.get(mime, {}).get("alt", "")
        if len(alt) < MIN_ALT:
            found.append(f"{mime} has no alt text of {MIN_ALT} characters or more")
        elif output.data.get("text/plain") != f"<Figure: {alt}>":
            found.append(f"{mime}: its plain text is not '<Figure: ' + alt text + '>'")
        below = outputs[at + 1] if at + 1 < len(outputs) else None
        if below is None or below.get("name") != "stdout" or not below.text.startswith(TWIN):
            found.append(f"{mime} has no text twin under it (a line starting {TWIN!r})")
    return found


def figures(path: Path, nb: NotebookNode) -> list[str]:
    """Every image has alt text and its twin under it, and every shown figure is an image."""
    found = []
    for number, cell in enumerate(code_cells(nb), 1):
        outputs = list(cell.outputs)
        images = [
            i
            for i, out in enumerate(outputs)
            if any(mime.startswith("image/") for mime in out.get("data", {}))
        ]
        twins = sum(
            line.startswith(TWIN)
            for out in outputs
            if out.get("name") == "stdout"
            for line in out.text.splitlines()
        )
        label = f"code cell {number}"
        for i in images:
            found += [f"{label}: {problem}" for problem in _image_problems(outputs, i)]
        if twins != len(images):
            found.append(f"{label}: {len(images)} images and {twins} text twins")
        if SHOWS_FIGURE.search(cell.source) and not images:
            found.append(f"{label} shows a figure and its output has no image")
    return found


def markdown_images(path: Path, nb: NotebookNode) -> list[str]:
    found = []
    for number, cell in enumerate(nb.cells, 1):
        if cell.cell_type != "markdown":
            continue
        empty = any(not match[1].strip() for match in MARKDOWN_IMAGE.finditer(cell.source))
        if empty or HTML_IMAGE.search(cell.source):
            found.append(f"cell {number}: a picture without alt text")
        if cell.get("attachments"):
            found.append(f"cell {number}: an attachment; put the file beside the lessons")
    return found


def exercises(path: Path, nb: NotebookNode) -> list[str]:
    """The prose before a stub names its minutes and difficulty; two folded hints follow it."""
    if is_solution(path):
        return []
    found = []
    for position, cell in enumerate(nb.cells):
        if "exercise" not in tags(cell):
            continue
        before = "\n".join(c.source for c in nb.cells[max(0, position - 2) : position])
        around = "\n".join(c.source for c in nb.cells[max(0, position - 2) : position + 4])
        label = f"the exercise in cell {position + 1}"
        if not MINUTES.search(before) or not DIFFICULTY.search(before):
            found.append(f"{label} does not say '… min, difficulty 1–3' before its stub")
        if around.count("<details>") < 2:
            found.append(f"{label} has fewer than two folded hints (<details>) near it")
    return found


RULES: tuple[Rule, ...] = (
    cell_count,
    word_count,
    file_size,
    cell_length,
    opening,
    closing,
    first_code_cell,
    device_neutral,
    tags_and_markers,
    skipped_cells,
    measured_cells_assert,
    figures,
    markdown_images,
    exercises,
)


def broken_rules(path: Path, nb: NotebookNode) -> list[str]:
    """Everything that every rule finds."""
    return [problem for rule in RULES for problem in rule(path, nb)]
