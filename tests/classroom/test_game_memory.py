"""What the game shows of memory: names, owners, bytes, values, and who is still to use them."""

# The programs here are run for the names of their variables, up to a last line that does nothing.
# ruff: noqa: F841, PIE790

from __future__ import annotations

import numpy as np
import torch

from pinlab.classroom import Goal, SchedulerGame
from pinlab.classroom.game_memory import Buffer, short_name
from pinlab.serving import AliasingBatch, CachedRequestState


def memory(program, keys: str) -> dict[str, Buffer]:
    look = SchedulerGame(program, Goal.right(expect=0)).play(keys).state.look
    return {row.name: row for row in look.memory}


def aliases() -> None:
    rows = torch.arange(4, dtype=torch.int32, pin_memory=True)
    face = rows.numpy()
    lens = rows[1:3]
    there = lens.to("sim", non_blocking=True)
    pass


def test_names_of_the_same_bytes_name_their_owner_and_their_range() -> None:
    rows = memory(aliases, "hhhh")
    assert (rows["rows"].where, rows["rows"].owner, rows["rows"].span) == (
        "pinned",
        "",
        "bytes [0:16]",
    )
    assert (rows["lens"].owner, rows["lens"].span) == ("rows", "bytes [4:12]")
    assert rows["face"].owner == "rows"
    assert rows["lens"].values == ("1", "2")


def test_a_queued_copy_stands_beside_every_name_that_shares_its_bytes() -> None:
    rows = memory(aliases, "hhhh")
    assert {name for name, row in rows.items() if "upload will read it" in row.uses} == {
        "rows",
        "face",
        "lens",
    }
    assert rows["there"].uses == ("upload will write it",)
    assert not any(row.uses for row in memory(aliases, "hhhhd").values())


def test_the_label_of_a_copy_names_the_view_that_fits_it_best() -> None:
    look = SchedulerGame(aliases, Goal.right(expect=0)).play("hhhh").state.look
    assert look.queues[0][0].label == "upload lens → there"


def test_device_memory_is_shown_without_waiting_for_it() -> None:
    assert memory(aliases, "hhhh")["there"].values == ("·", "·")
    assert memory(aliases, "hhhhd")["there"].values == ("1", "2")


def writes() -> None:
    row = torch.tensor([5, 7], pin_memory=True)
    row[1] = 40
    row[1] = 40
    pass


def test_what_the_last_step_changed_is_marked() -> None:
    marked = [memory(writes, "h" * n)["row"].marked for n in (1, 2, 3)]
    assert marked == [["5", "7"], ["5", "40*"], ["5", "40"]]


def kinds() -> None:
    ordinary = torch.tensor([1.5, 2.0])
    flags = torch.tensor([True, False], pin_memory=True)
    half = torch.zeros(2, dtype=torch.bfloat16, device="sim")
    many = torch.zeros(17, pin_memory=True)
    empty = torch.zeros(0, pin_memory=True)
    array = np.arange(3)
    number = 3
    pass


def test_each_kind_of_memory_is_shown_as_far_as_it_can_be() -> None:
    rows = memory(kinds, "h" * 7)
    assert "number" not in rows
    assert "empty" not in rows
    assert {name: row.where for name, row in rows.items()} == {
        "ordinary": "pageable",
        "flags": "pinned",
        "half": "device",
        "many": "pinned",
        "array": "pageable",
    }
    assert rows["ordinary"].values == ("1.5", "2")
    assert rows["flags"].values == ("True", "False")
    assert rows["many"].values == rows["half"].values == ()


def real_batch() -> list[int]:
    batch = AliasingBatch(2, "sim", max_model_len=4)
    batch.add_request(CachedRequestState("a", (7, 7, 7)))
    metadata = batch.get_pooling_metadata()
    lens = metadata.upload_prompt_lens("sim")
    batch.remove_request("a")
    batch.add_request(CachedRequestState("b", (7,)))
    return lens.tolist()


def test_buffers_that_are_attributes_of_objects_are_found() -> None:
    rows = memory(real_batch, "oooo")
    assert rows["metadata.prompt_lens"].owner == "batch.num_prompt_tokens_cpu_tensor"
    assert rows["metadata.prompt_lens"].values == ("3",)
    assert "upload will read it" in rows["batch.num_prompt_tokens"].uses
    assert "batch.token_ids" not in rows  # pageable, and the program has no name of its own for it


def test_the_batch_of_the_story_is_won_in_the_game() -> None:
    game = SchedulerGame(real_batch, Goal.wrong(expect=[3]))
    assert game.play("ooooooo").reached
    assert game.play("oooodooo").outcome == [3]


def test_operators_go_by_their_short_name() -> None:
    assert short_name("aten.index_select.default") == "index_select"
    assert short_name("upload") == "upload"
