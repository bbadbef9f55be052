"""The form on disk: what is taken out, what stays, and what only a run can repair."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests.notebooks.samples import good_lesson, write_lesson
from tools.canonical import canonical, clean_text, merge_streams, problems, to_text
from tools.lesson_files import ROOT
from tools.notebooks import main


def ran(*sources: str) -> NotebookNode:
    """A canonical notebook of code cells, each run in order, without outputs."""
    cells = [new_code_cell(source, execution_count=n) for n, source in enumerate(sources, 1)]
    return canonical(new_notebook(cells=cells), just_run=True)


def said(nb: NotebookNode, text: str | None = None) -> str:
    return "\n".join(problems(nb, to_text(nb) if text is None else text))


def stream(name: str, text: str) -> NotebookNode:
    return new_output("stream", name=name, text=text)


def test_canonical_of_canonical_is_the_same_bytes() -> None:
    once = good_lesson()
    assert to_text(canonical(once)) == to_text(once)
    assert problems(once, to_text(once)) == []


def test_ids_follow_from_the_source_and_are_unique() -> None:
    nb = ran("a = 1", "b = 2", "a = 1")
    ids = [cell.id for cell in nb.cells]
    assert ids[2] == ids[0] + "-2"
    assert ids == [cell.id for cell in ran("a = 1", "b = 2", "a = 1").cells]


def test_a_new_cell_leaves_other_ids_alone() -> None:
    assert ran("new", "a = 1").cells[1].id == ran("a = 1").cells[0].id


def test_what_an_editor_leaves_behind_is_taken_out() -> None:
    nb = ran("a = 1")
    nb.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": {}}}
    nb.metadata["language_info"] = {"name": "python", "version": "3.11.7"}
    nb.cells[0].metadata = {"execution": {"t": 1}, "collapsed": True, "tags": ["solution"]}
    tidy = canonical(nb)
    assert tidy.metadata.language_info == {"name": "python"}
    assert "widgets" not in tidy.metadata
    assert tidy.cells[0].metadata == {"tags": ["solution"]}
    assert "not in canonical form" in said(nb)


def test_hidden_input_is_folded_in_jupyterlab() -> None:
    nb = ran("a = 1")
    nb.cells[0].metadata = {"tags": ["hide-input"]}
    assert canonical(nb).cells[0].metadata["jupyter"] == {"source_hidden": True}


def test_keys_are_sorted_and_the_file_ends_in_one_newline() -> None:
    text = to_text(ran("a = 1"))
    assert text == json.dumps(json.loads(text), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def test_counts_of_a_longer_session_are_renumbered() -> None:
    nb = ran("a = 1", "b = 2")
    nb.cells[0].execution_count, nb.cells[1].execution_count = 4, 9
    assert [cell.execution_count for cell in canonical(nb).cells] == [1, 2]


def test_cells_run_out_of_order_are_not_renumbered() -> None:
    nb = ran("a = 1", "b = 2")
    nb.cells[0].execution_count, nb.cells[1].execution_count = 2, 1
    assert [cell.execution_count for cell in canonical(nb).cells] == [2, 1]
    assert "not run in order" in said(nb)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"execution_count": None}, "has not been run"),
        ({"source": " "}, "is empty"),
        (
            {"outputs": [new_output("error", ename="E", evalue="", traceback=[])]},
            "ends in an error",
        ),
        ({"metadata": {"tags": ["raises-exception"]}}, "raised nothing"),
        ({"source": "open('/home/someone/data')"}, "a path of one machine: /home/someone/data"),
        ({"outputs": [stream("stdout", "in /tmp/x\n")]}, "a path of one machine: /tmp/x"),
    ],
)
def test_what_only_a_person_can_repair_is_named(change: dict, words: str) -> None:
    nb = ran("a = 1")
    nb.cells[0].update(copy.deepcopy(change))
    assert words in said(nb)


def test_streams_are_merged_between_figures_and_not_across_them() -> None:
    figure = new_output("display_data", data={"text/plain": "x"})
    merged = merge_streams(
        [
            stream("stderr", "e"),
            stream("stdout", "a"),
            stream("stderr", "f"),
            stream("stdout", "b"),
            figure,
            stream("stdout", "c"),
        ]
    )
    assert [(out.get("name"), out.get("text")) for out in merged] == [
        ("stdout", "ab"),
        ("stderr", "ef"),
        (None, None),
        ("stdout", "c"),
    ]


def test_merging_leaves_its_input_alone() -> None:
    pieces = [stream("stdout", "a"), stream("stdout", "b")]
    merge_streams(pieces)
    assert [piece.text for piece in pieces] == ["a", "b"]


def test_a_progress_bar_leaves_its_last_state() -> None:
    (merged,) = merge_streams([stream("stderr", "10 %\r50 %"), stream("stderr", "\r100 %\n")])
    assert merged.text == "100 %\n"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("<f at 0x7f0012ab34cd>", "<f at 0x...>"),
        ("/var/x/ipykernel_12/345.py:3: UserWarning", "<cell>:3: UserWarning"),
        (
            "File /opt/v/lib/python3.11/site-packages/torch/a.py:1",
            "File site-packages/torch/a.py:1",
        ),
        (f"File {ROOT}/src/pinlab/sim/queue.py:1", "File src/pinlab/sim/queue.py:1"),
        ("/usr/lib/python3.11/threading.py", "lib/python/threading.py"),
        ("0x10 stays", "0x10 stays"),
    ],
)
def test_what_differs_between_machines_is_neutral(text: str, clean: str) -> None:
    assert clean_text(text) == clean


def test_a_measured_cell_that_was_edited_loses_its_output() -> None:
    nb = ran("rate = 1")
    nb.cells[0].metadata["tags"] = ["measured"]
    nb.cells[0].outputs = [stream("stdout", "41 %\n")]
    assert canonical(nb).cells[0].outputs
    nb.cells[0].source = "rate = 2"
    tidy = canonical(nb)
    assert tidy.cells[0].outputs == []
    assert "changed since it was measured" in said(tidy)


def test_prose_keeps_its_words() -> None:
    nb = new_notebook(cells=[new_markdown_cell("# É ‘x’ – y\n")])
    assert canonical(nb).cells[0].source == "# É ‘x’ – y"
    assert "É ‘x’ – y" in to_text(canonical(nb))


def test_fix_repairs_the_form_and_check_reports_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_lesson(tmp_path, good_lesson())
    tidy = path.read_bytes()
    path.write_text(json.dumps(json.loads(tidy)))
    assert main([str(path)]) == 1
    assert "not in canonical form" in capsys.readouterr().out
    assert main(["--fix", str(path)]) == 0
    assert path.read_bytes() == tidy
    assert main([str(path)]) == 0


def test_checking_changes_nothing(tmp_path: Path) -> None:
    nb = good_lesson()
    nb.cells[6].execution_count = None
    path = write_lesson(tmp_path, nb)
    before = path.read_bytes()
    assert main([str(path)]) == 1
    assert path.read_bytes() == before


def test_a_file_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["no_such.ipynb"])
    assert "no_such.ipynb" in capsys.readouterr().err
