"""One test for each thing that nbval 0.11.0 lets through, or fails although it is right.

Small notebooks are run and committed by ``tools.notebooks`` in a temporary folder, damaged, and
handed to one pytest process; each test looks at the cells that stand for its hole.
"""

from __future__ import annotations

import base64
import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tools.canonical import to_text
from tools.lesson_files import ROOT, read
from tools.notebooks import run, write
from tools.nursery import run_script

Damage = Callable[[NotebookNode], None]
CELL_TIMEOUT = 2

PICTURE = """\
import struct, zlib
from IPython.display import Image, display
def png(level):
    rows = (b"\\0" + bytes([level] * 8)) * 8
    parts = b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0), b"IDAT", zlib.compress(rows)
    pairs = [(parts[0], parts[1]), (parts[2], parts[3]), (b"IEND", b"")]
    made = [struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d))
            for t, d in pairs]
    return b"\\x89PNG\\r\\n\\x1a\\n" + b"".join(made)
def show(level):
    display(Image(png(level), metadata={"alt": "A grey square of eight by eight"}))
    print("[figure] a grey square")
show(40)
"""


@dataclass(frozen=True)
class Cell:
    """A cell of a test notebook, and what is done to it after it ran."""

    source: str
    tags: tuple[str, ...] = ()
    damage: Damage | None = None


def strip(cell: NotebookNode) -> None:
    cell.outputs, cell.execution_count = [], None


def resource(source: str) -> Damage:
    """The outputs stay, the source becomes another."""

    def damage(cell: NotebookNode) -> None:
        cell.source = source

    return damage


def retag(*tags: str) -> Damage:
    def damage(cell: NotebookNode) -> None:
        cell.metadata["tags"] = list(tags)

    return damage


def drop_picture(cell: NotebookNode) -> None:
    del cell.outputs[0].data["image/png"]


def other_picture(cell: NotebookNode) -> None:
    names: dict[str, object] = {}
    exec(PICTURE.rsplit("show(40)", 1)[0], names)
    picture = names["png"](200)  # type: ignore[operator]
    cell.outputs[0].data["image/png"] = base64.b64encode(picture).decode()


def other_alt(cell: NotebookNode) -> None:
    cell.outputs[0].metadata["image/png"]["alt"] = "Something that the picture does not show"


def swap_outputs(cell: NotebookNode) -> None:
    cell.outputs.reverse()


def move_stdout_value(cell: NotebookNode) -> None:
    cell.outputs[0].text = "another rate\n"


def invent_output(cell: NotebookNode) -> None:
    cell.outputs = [new_output("stream", name="stdout", text="done\n")]


# Right notebooks that nbval fails, or whose outputs it does not follow.
RIGHT = {
    "closing semicolon": Cell("6 * 7;"),
    "history": Cell("4 + 4"),
    "history used": Cell("Out[2] + 1"),
    "output widget": Cell(
        "from ipywidgets import Output\nwith Output():\n    print('inside')\nprint('outside')"
    ),
    "interact": Cell("from ipywidgets import interact\n@interact(x=3)\ndef f(x):\n    print(x)"),
    "clear output": Cell(
        "from IPython.display import HTML, clear_output, display\n"
        "print('gone')\nclear_output()\nprint('left')"
    ),
    "display update": Cell("h = display(HTML('one'), display_id=True)\nh.update(HTML('two'))"),
    "streams in pieces": Cell(
        "import sys, time\nfor i in range(3):\n"
        "    print(i, flush=True)\n    print(i, file=sys.stderr, flush=True)"
    ),
    "address": Cell("object()"),
    "device name": Cell(
        "print('on sim:0')",
        damage=lambda cell: cell.outputs[0].update(text="on cuda:0\n"),
    ),
    "measured": Cell("print(time.time())\nassert time.time() > 0", tags=("measured",)),
    "measured, edited": Cell(
        "print('a rate')\nassert 1 < 2", tags=("measured",), damage=move_stdout_value
    ),
    "raises": Cell("1 / 0", tags=("raises-exception",)),
    "figure": Cell(PICTURE),
}

# Wrong notebooks that nbval passes: each cell is damaged after it ran.
WRONG = {
    "stripped": (Cell("print('hello')", damage=strip), "without having been run"),
    "raised nothing": (
        Cell("1 / 0", tags=("raises-exception",), damage=resource("1 / 1")),
        "raised nothing",
    ),
    "measured raises": (
        Cell("assert True", tags=("measured",), damage=resource("assert False, 'too slow'")),
        "too slow",
    ),
    "other exception": (
        Cell("1 / 0", tags=("raises-exception",), damage=resource("[][1]")),
        "IndexError",
    ),
    "misspelt marker": (
        Cell("print(1)", damage=resource("# NBVAL_IGNORE_OUTPUTS\nprint(1)")),
        "unknown marker",
    ),
    "marker with a remark": (
        Cell("print(1)", damage=resource("# NBVAL_IGNORE_OUTPUT varies\nprint(1)")),
        "unknown marker",
    ),
    "unknown tag": (Cell("print(2)", damage=retag("nbval-ignore-outputs")), "unknown tag"),
    "skipped by tag": (Cell("print(3)", damage=retag("nbval-skip")), "ALLOWED_SKIPS"),
    "skipped by marker": (
        Cell("print(4)", damage=resource("# NBVAL_SKIP\nprint(4)")),
        "ALLOWED_SKIPS",
    ),
    "picture gone": (Cell(PICTURE, damage=drop_picture), "image/png"),
    "other picture": (Cell(PICTURE, damage=other_picture), "picture 1 differs"),
    "other alt text": (Cell(PICTURE, damage=other_alt), "alt text"),
    "other order": (Cell(PICTURE, damage=swap_outputs), "order"),
    "other text": (Cell("print('a rate')", damage=move_stdout_value), "outputs differ"),
    "invented output": (Cell("x = 1", damage=invent_output), "outputs differ"),
    "interrupted by time": (
        Cell("time = 1", damage=resource("while True: pass")),
        "no end after 2 s",
    ),
    "after the time-out": (Cell("print('never')"), "the kernel is gone"),
}

EXITS = {
    "exit": (Cell("x = 1", damage=resource("exit()")), "the cell called exit()"),
    "after exit": (Cell("print('never')"), "the kernel is gone"),
}

DIES = {
    "dies": (Cell("import os", damage=resource("import os; os._exit(3)")), "ended the kernel"),
    "after death": (Cell("print('never')"), "the kernel is gone"),
}


def commit(path: Path, cells: list[Cell]) -> None:
    """Write a notebook as an author would, then damage it."""
    nb = new_notebook(cells=[new_code_cell(c.source, metadata={"tags": [*c.tags]}) for c in cells])
    done = run(nb, path.parent)
    for cell, plan in zip(done.cells, cells, strict=True):
        if plan.damage is not None:
            plan.damage(cell)
    nbformat.validate(done)
    write(path, to_text(done))


def run_pytest(folder: Path) -> dict[tuple[str, int], str]:
    """(notebook, code cell) -> what its test said, empty where it passed."""
    report = folder / "report.xml"
    plugins = ["no:cacheprovider", "nbval.plugin", "tools.nbval_strict"]
    options = ["-q", "-c", os.devnull, f"--rootdir={folder}", f"--junitxml={report}", "--color=no"]
    options += [word for plugin in plugins for word in ("-p", plugin)]
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        'sys.modules["rfc3987_syntax"] = None  # see conftest.py\n'
        "import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    )
    done = run_script(
        code,
        *options,
        *("--nbval", f"--nbval-cell-timeout={CELL_TIMEOUT}", str(folder)),
        cwd=folder,
        env={
            **os.environ,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PINLAB_NURSERY": "0",  # these cells need no torch
        },
    )
    assert report.exists(), done.stdout + done.stderr
    outcomes = {}
    for case in ElementTree.parse(report).iter("testcase"):
        notebook = re.search(r"(\w+)\.?(ipynb)?$", case.get("classname") or "")
        assert notebook is not None
        said = "".join((child.get("message") or "") + (child.text or "") for child in case)
        outcomes[notebook[1], int((case.get("name") or "").rsplit(" ", 1)[1])] = said
    return outcomes


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], str]:
    folder = tmp_path_factory.mktemp("lessons")
    (folder / "notebooks").mkdir()
    sanitize = ROOT / "notebooks" / "sanitize.cfg"
    (folder / "notebooks" / "sanitize.cfg").write_bytes(sanitize.read_bytes())
    commit(folder / "right.ipynb", list(RIGHT.values()))
    for name, table in (("wrong", WRONG), ("exits", EXITS), ("dies", DIES)):
        commit(folder / f"{name}.ipynb", [cell for cell, _ in table.values()])
    return run_pytest(folder)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_cell_passes(outcomes: dict[tuple[str, int], str], name: str) -> None:
    assert outcomes["right", list(RIGHT).index(name)] == ""


@pytest.mark.parametrize(
    ("notebook", "name", "words"),
    [
        (notebook, name, words)
        for notebook, table in (("wrong", WRONG), ("exits", EXITS), ("dies", DIES))
        for name, (_, words) in table.items()
    ],
)
def test_a_wrong_cell_fails_and_says_why(
    outcomes: dict[tuple[str, int], str], notebook: str, name: str, words: str
) -> None:
    table = {"wrong": WRONG, "exits": EXITS, "dies": DIES}[notebook]
    said = outcomes[notebook, list(table).index(name)]
    assert words in said, f"said only: {said!r}"


def test_every_cell_was_a_test(outcomes: dict[tuple[str, int], str]) -> None:
    assert len(outcomes) == len(RIGHT) + len(WRONG) + len(EXITS) + len(DIES)


def test_outputs_are_committed_as_a_reader_sees_them(tmp_path: Path) -> None:
    commit(tmp_path / "seen.ipynb", [RIGHT["output widget"], RIGHT["clear output"]])
    texts = [cell.outputs[0].text for cell in read(tmp_path / "seen.ipynb").cells]
    assert texts == ["outside\n", "left\n"]
