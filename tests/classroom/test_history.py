"""The toy history: the same commits everywhere, and a real bisection over them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pinlab.classroom.history import Commit, GitMissingError, History
from pinlab.classroom.toy_commits import EDITS, versions

ALIAS, PINNED = 4, 8


@pytest.fixture(scope="module")
def history() -> Iterator[History]:
    hostile = pytest.MonkeyPatch()
    hostile.setenv("GIT_DIR", "/nowhere")  # as in a hook
    hostile.setenv("GIT_CONFIG_COUNT", "1")
    hostile.setenv("GIT_CONFIG_KEY_0", "core.bare")
    hostile.setenv("GIT_CONFIG_VALUE_0", "true")
    yield History()
    hostile.undo()


def test_each_edit_changes_one_place_and_twelve_versions_run() -> None:
    texts = [text for _, text in versions()]
    assert len(texts) == len(set(texts)) == len(EDITS) + 1 == 12
    for text in texts:
        assert text.isascii()
        compile(text, "batch.py", "exec")


def test_hashes_are_the_same_on_every_machine(history: History) -> None:
    assert [commit.sha[:7] for commit in history.commits[:2]] == ["29d2cf5", "2a6a9e8"]
    assert History()[12].sha == history[12].sha


@pytest.mark.parametrize("number", range(1, 13))
def test_every_version_keeps_its_rows(history: History, number: int) -> None:
    batch = history[number].load().Batch(max_num_reqs=4)
    for name, tokens in (("a", 2), ("b", 4), ("c", 8)):
        batch.add(name, tokens)
    batch.remove("a")
    assert (batch.names, batch.prompt_lens().tolist()) == (["c", "b"], [8, 4])
    shared = (
        batch.prompt_lens().data_ptr() == batch.num_prompt_tokens.__array_interface__["data"][0]
    )
    assert shared == (number >= ALIAS)
    assert batch.prompt_lens().is_pinned() == (number >= PINNED)


@pytest.mark.parametrize("culprit", [2, 8, 12])
def test_bisection_finds_the_first_red_commit(history: History, culprit: int) -> None:
    def red_from_there_on(commit: Commit) -> None:
        assert commit.number < culprit

    found = history.bisect(red_from_there_on)
    assert found.first_bad.number == culprit
    assert len(found.asked) <= 4
    for commit, green in found.asked:
        assert green == (commit.number < culprit)


def test_another_exception_ends_the_bisection_and_is_raised(history: History) -> None:
    def careless(commit: Commit) -> None:
        raise KeyError(commit.number)

    with pytest.raises(KeyError, match="6"):
        history.bisect(careless)
    assert history.bisect(lambda commit: None).first_bad.number == 12  # and it can go on


def test_changes_are_the_lines_of_the_commit_alone(history: History) -> None:
    assert history[ALIAS].changes().splitlines() == [
        "-        return torch.tensor(self.num_prompt_tokens[: self.num_reqs])",
        "+        return torch.from_numpy(self.num_prompt_tokens[: self.num_reqs])",
    ]
    assert "pin_memory=True" in history[PINNED].changes()


def test_a_number_out_of_range_is_named(history: History) -> None:
    with pytest.raises(IndexError, match="commit 13; there are 1 to 12"):
        history[13]
    with pytest.raises(IndexError, match="commit 0;"):
        history.bisect(lambda commit: None, good=0)


def test_good_and_bad_the_wrong_way_round_is_told(history: History) -> None:
    with pytest.raises(RuntimeError, match="git bisect"):
        history.bisect(lambda commit: None, good=12, bad=1)


def test_the_folder_goes_with_the_object() -> None:
    history = History()
    path = history.path
    assert path.exists()
    history._folder.cleanup()
    assert not path.exists()


def test_without_git_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(GitMissingError, match="git was not found on the PATH"):
        History()


def test_the_surrounding_repository_is_left_alone(history: History, tmp_path: Path) -> None:
    """The repository lies in a folder of its own, with no template and no hooks."""
    top = subprocess.run(
        ["git", "rev-parse", "--show-toplevel"],
        cwd=history.path,
        env=history._environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(top.stdout.strip()).samefile(history.path)
    assert not (history.path / ".git" / "hooks").exists()
