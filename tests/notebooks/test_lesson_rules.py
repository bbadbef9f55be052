"""Each rule of a lesson passes a good lesson and names what is wrong with a bad one."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from tests.notebooks.samples import ALT, PNG, figure_cell, good_lesson, write_lesson
from tools import lesson_rules
from tools.lesson_files import code_cells
from tools.lesson_rules import broken_rules

Change = Callable[[NotebookNode], None]


def cell_with(nb: NotebookNode, text: str) -> NotebookNode:
    return next(cell for cell in nb.cells if text in cell.source)


def figure(nb: NotebookNode) -> NotebookNode:
    return cell_with(nb, "show(figure)")


def drop_cells(nb: NotebookNode) -> None:
    del nb.cells[7:27]


def add_cells(nb: NotebookNode) -> None:
    nb.cells += [new_markdown_cell("more") for _ in range(20)]


def long_prose(nb: NotebookNode) -> None:
    nb.cells[5].source = "word " * 2_000


def short_prose(nb: NotebookNode) -> None:
    for cell in nb.cells[5:30]:
        if cell.cell_type == "markdown":
            cell.source = "Look."


def prose_in_a_code_block(nb: NotebookNode) -> None:
    for cell in nb.cells[5:30]:
        if cell.cell_type == "markdown":
            cell.source = f"```\n{cell.source}\n```"


def big_file(nb: NotebookNode) -> None:
    figure(nb).outputs[0].data["image/png"] = PNG * 30_000


def long_cell(nb: NotebookNode) -> None:
    nb.cells[6].source = "\n".join(f"x{i} = {i}" for i in range(21))


def terse_cells(nb: NotebookNode) -> None:
    for cell in code_cells(nb)[1:]:
        cell.source = "show(figure)" if "show" in cell.source else "a = 1"


def no_title(nb: NotebookNode) -> None:
    nb.cells[0].source = "Share memory by accident"


def headings_in_other_order(nb: NotebookNode) -> None:
    nb.cells[1], nb.cells[2] = nb.cells[2], nb.cells[1]


def no_minutes(nb: NotebookNode) -> None:
    nb.cells[3].source = "## What you'll need\n\nA GPU is not needed."


def no_key_points(nb: NotebookNode) -> None:
    cell_with(nb, "Key points").source = "In short, one, two, three."


def threads_unset(nb: NotebookNode) -> None:
    nb.cells[4].source = "import torch\nx = 1\ny = 2"


def names_cuda(nb: NotebookNode) -> None:
    nb.cells[6].source = "a = 1\ntorch.cuda.synchronize()\nb = 2"


def unknown_tag(nb: NotebookNode) -> None:
    nb.cells[6].metadata["tags"] = ["mesured"]


def unknown_tag_on_prose(nb: NotebookNode) -> None:
    nb.cells[5].metadata["tags"] = ["slide_only"]


def misspelt_marker(nb: NotebookNode) -> None:
    nb.cells[6].source = "# nbval_skip\na = 1\nb = 2"


def skipped(nb: NotebookNode) -> None:
    nb.cells[6].metadata["tags"] = ["nbval-skip"]


def measured_without_assert(nb: NotebookNode) -> None:
    nb.cells[6].source = "a = 1\nb = 2\nprint('assert')"
    nb.cells[6].metadata["tags"] = ["measured"]


def no_alt(nb: NotebookNode) -> None:
    figure(nb).outputs[0].metadata = {}


def short_alt(nb: NotebookNode) -> None:
    figure(nb).outputs[0].metadata["image/png"]["alt"] = "a plot"


def plain_text_differs(nb: NotebookNode) -> None:
    figure(nb).outputs[0].data["text/plain"] = "<Figure size 640x480 with 1 Axes>"


def no_twin(nb: NotebookNode) -> None:
    del figure(nb).outputs[1]


def twin_elsewhere(nb: NotebookNode) -> None:
    figure(nb).outputs.reverse()


def picture_deleted(nb: NotebookNode) -> None:
    del figure(nb).outputs[0]


def twin_and_picture_deleted(nb: NotebookNode) -> None:
    figure(nb).outputs = []


def bare_plot(nb: NotebookNode) -> None:
    nb.cells.insert(8, figure_cell(alt=ALT, twin="something else\n"))


def picture_in_prose(nb: NotebookNode) -> None:
    nb.cells[5].source += "\n![](race.png)"


def html_picture_in_prose(nb: NotebookNode) -> None:
    nb.cells[5].source += '\n<img src="race.png">'


def attachment(nb: NotebookNode) -> None:
    nb.cells[5]["attachments"] = {"a.png": {"image/png": PNG}}


def exercise_without_minutes(nb: NotebookNode) -> None:
    cell_with(nb, "difficulty 2").source = "## Exercise\n\nRepair `f`."


def exercise_with_one_hint(nb: NotebookNode) -> None:
    cell_with(nb, "Hint 1").source = "<details><summary>Hint</summary>a</details>"


BROKEN: dict[Change, str] = {
    drop_cells: "cells: 20, should be 25 to 45",
    add_cells: "cells: ",
    long_prose: "words of markdown: ",
    short_prose: "words of markdown: ",
    prose_in_a_code_block: "words of markdown: ",
    big_file: "bytes, should be under 300,000",
    long_cell: "has 21 lines, should be at most 20",
    terse_cells: "median lines of a code cell: 1",
    no_title: "does not start with a title",
    headings_in_other_order: "the first headings are",
    no_minutes: "how many minutes",
    no_key_points: "'key points'",
    threads_unset: "torch.set_num_threads(1)",
    names_cuda: "names torch.cuda",
    unknown_tag: "unknown tag 'mesured'",
    unknown_tag_on_prose: "unknown tag 'slide_only'",
    misspelt_marker: "unknown marker '# nbval_skip'",
    skipped: "not in ALLOWED_SKIPS",
    measured_without_assert: "asserts nothing",
    no_alt: "no alt text",
    short_alt: "no alt text of 20 characters",
    plain_text_differs: "its plain text is not",
    no_twin: "no text twin under it",
    twin_elsewhere: "no text twin under it",
    picture_deleted: "0 images and 1 text twins",
    twin_and_picture_deleted: "shows a figure and its output has no image",
    bare_plot: "1 images and 0 text twins",
    picture_in_prose: "a picture without alt text",
    html_picture_in_prose: "a picture without alt text",
    attachment: "an attachment",
    exercise_without_minutes: "does not say '… min, difficulty 1–3'",
    exercise_with_one_hint: "fewer than two folded hints",
}


def test_a_good_lesson_breaks_no_rule(tmp_path: Path) -> None:
    nb = good_lesson()
    assert broken_rules(write_lesson(tmp_path, nb), nb) == []


@pytest.mark.parametrize("change", BROKEN, ids=lambda change: change.__name__)
def test_a_broken_rule_is_named(tmp_path: Path, change: Change) -> None:
    nb = copy.deepcopy(good_lesson())
    change(nb)
    found = broken_rules(write_lesson(tmp_path, nb), nb)
    assert any(BROKEN[change] in problem for problem in found), found


def test_every_rule_is_broken_by_one_of_these(tmp_path: Path) -> None:
    silent = set(lesson_rules.RULES)
    for change in BROKEN:
        nb = copy.deepcopy(good_lesson())
        change(nb)
        path = write_lesson(tmp_path, nb)
        silent -= {rule for rule in silent if rule(path, nb)}
    assert not silent


def test_a_solution_needs_no_opening_and_no_prose(tmp_path: Path) -> None:
    (tmp_path / "solutions").mkdir()
    nb = good_lesson()
    nb.cells = [cell for cell in nb.cells if cell.cell_type == "code"][:6]
    assert broken_rules(write_lesson(tmp_path / "solutions", nb), nb) == []


def test_words_in_links_and_markup_do_not_count() -> None:
    nb = good_lesson()
    nb.cells = [new_markdown_cell("Two [words](https://a.b/c-d) **—** `x`"), new_code_cell("a b")]
    assert lesson_rules.words(nb) == 3
