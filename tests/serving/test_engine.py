"""The engine: right results in every mode, asynchronous as it says, clear about bad requests."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pinlab import sim
from pinlab.serving.engine import Engine
from pinlab.serving.input_batch import InputBatch
from pinlab.serving.model import LookupModel, reflection
from pinlab.serving.variants import VARIANTS, AliasingBatch

HIDDEN = 4
TABLE = np.random.default_rng(0).normal(size=(16, HIDDEN))
MODES = {
    "threaded": {"name": "threaded"},
    "eager": {"name": "eager"},
    "lazy": {"name": "lazy"},
    "lazy, reversed": {"name": "lazy", "order": "reversed"},
    "random": {"name": "random", "seed": 3},
}
prompt_lists = st.lists(st.lists(st.integers(0, 15), min_size=1, max_size=20), max_size=10)


def make_engine(batch_cls: type[InputBatch] = InputBatch, **options: object) -> Engine:
    table = torch.tensor(TABLE, dtype=torch.float32, device="sim")
    model = LookupModel(table, reflection(HIDDEN).to("sim"))
    batch = batch_cls(3, "sim", max_model_len=20)
    return Engine(model, batch, **{"max_num_batched_tokens": 24, **options})


def serve(engine: Engine, prompts: list[list[int]]) -> list[np.ndarray]:
    for number, prompt in enumerate(prompts):
        engine.add_request(str(number), prompt)
    outputs = engine.run()
    assert sorted(outputs) == sorted(str(number) for number in range(len(prompts)))
    return [outputs[str(number)].numpy() for number in range(len(prompts))]


def expected(pooling: str, prompts: list[list[int]]) -> list[np.ndarray]:
    """One prompt after the other, in float64."""
    hidden = TABLE @ (np.eye(HIDDEN) - 2 / HIDDEN)
    pick = {"MEAN": lambda x: x.mean(0), "LAST": lambda x: x[-1], "CLS": lambda x: x[0]}[pooling]
    return [pick(hidden[prompt]) for prompt in prompts]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("pooling", ["MEAN", "LAST", "CLS"])
@settings(max_examples=8, deadline=None)
@given(prompts=prompt_lists)
def test_every_request_gets_its_own_vector(pooling: str, mode: str, prompts) -> None:
    with sim.mode(**MODES[mode]):
        found = serve(make_engine(pooling=pooling), prompts)
    for vector, right in zip(found, expected(pooling, prompts), strict=True):
        np.testing.assert_allclose(vector, right, atol=1e-5)


@pytest.mark.parametrize("name", VARIANTS)
def test_all_variants_give_the_same_bits_if_work_runs_at_submission(name: str) -> None:
    prompts = [[n % 16] * (1 + 3 * n % 19) for n in range(9)]
    with sim.mode("eager"):
        right = np.array(serve(make_engine(), prompts))
        found = np.array(serve(make_engine(VARIANTS[name].batch), prompts))
    assert found.tobytes() == right.tobytes()


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_is_right_at_the_latest_schedule_exactly_if_it_claims_to_be(name: str) -> None:
    prompts = [[n % 16] * (1 + 3 * n % 19) for n in range(9)]
    with sim.mode("lazy"):
        found = np.array(serve(make_engine(VARIANTS[name].batch), prompts))
    wrong = np.abs(found - expected("MEAN", prompts)).max() > 1e-5
    assert bool(wrong) != VARIANTS[name].device_reader


def test_a_double_buffer_is_wrong_with_three_steps_in_flight() -> None:
    prompts = [[n % 16] * (1 + 3 * n % 19) for n in range(9)]
    double_buffer = VARIANTS["double buffer"].batch
    with sim.mode("lazy"):
        found = np.array(serve(make_engine(double_buffer, max_in_flight=3), prompts))
    assert np.abs(found - expected("MEAN", prompts)).max() > 1e-2


@pytest.mark.parametrize("pooling", ["LAST", "CLS"])
def test_the_aliasing_batch_does_not_show_where_no_length_is_read(pooling: str) -> None:
    prompts = [[n % 16] * (1 + 3 * n % 19) for n in range(9)]
    with sim.mode("lazy"):
        found = serve(make_engine(AliasingBatch, pooling=pooling), prompts)
    np.testing.assert_allclose(found, expected(pooling, prompts), atol=1e-5)


def test_a_step_waits_for_an_older_one_only() -> None:
    engine = make_engine()
    for number in range(9):
        engine.add_request(str(number), [number] * 5)
    with sim.mode("lazy"):
        for in_flight in (1, 2):
            assert engine.step()
            assert len(engine.in_flight) == in_flight
            assert not engine.outputs
        assert len({operation.seq for operation in sim.pending()}) > 20  # nothing has run so far
        assert engine.step()
        assert sorted(engine.outputs) == ["0", "1", "2"]
        assert len(engine.in_flight) == 2
        engine.run()


def test_rows_are_rewritten_while_the_last_steps_upload_is_pending() -> None:
    engine = make_engine(AliasingBatch)
    for number, length in enumerate([1, 2, 3, 4, 5, 6]):
        engine.add_request(str(number), [number] * length)
    with sim.mode("lazy"):
        engine.step()
        uploads = [op for op in sim.pending() if op.kind == "upload" and op.nbytes == 3 * 4]
        rows = engine.batch.num_prompt_tokens
        assert [read.tolist() for read in uploads[-1].host_reads] == [[1, 2, 3]]
        engine.step()
        assert not uploads[-1].done
        assert rows[:3].tolist() == [4, 5, 6]
        assert [read.tolist() for read in uploads[-1].host_reads] == [[4, 5, 6]]
        engine.run()


def test_the_forward_pass_is_queued_before_the_lengths_upload() -> None:
    engine = make_engine()
    engine.add_request("a", [1, 2, 3])
    with sim.mode("lazy"), sim.record() as run:
        engine.run()
    names = [operation.name for operation in run.operations]
    assert names.index("aten.mm.default") < names.index("aten.cumsum.default")
    uploads = [n for n, operation in enumerate(run.operations) if operation.kind == "upload"]
    assert uploads[0] < names.index("aten.mm.default") < uploads[1]


def test_results_travel_on_a_stream_of_their_own_into_pinned_memory() -> None:
    engine = make_engine()
    engine.add_request("a", [1, 2, 3])
    with sim.mode("lazy"), sim.record() as run:
        engine.run()
    (download,) = (operation for operation in run.operations if operation.kind == "download")
    assert download.stream.index != 0
    assert all(target.is_pinned() for target in download.host_writes)


def test_results_are_handed_out_in_ordinary_memory() -> None:
    assert not any(torch.from_numpy(vector).is_pinned() for vector in serve(make_engine(), [[1]]))


def test_the_tokens_are_sent_from_pinned_memory_that_no_later_step_writes_to() -> None:
    engine = make_engine()
    for number in range(6):
        engine.add_request(str(number), [number] * 5)
    with sim.mode("lazy"):
        engine.step()
        tokens = sim.pending()[0]
        assert [read.tolist() for read in tokens.host_reads] == [[0] * 5 + [1] * 5 + [2] * 5]
        engine.step()
        assert [read.tolist() for read in tokens.host_reads] == [[0] * 5 + [1] * 5 + [2] * 5]
        engine.run()


@pytest.mark.parametrize("mode", MODES)
def test_steps_are_the_same_in_every_mode(mode: str) -> None:
    def groups() -> list[list[str]]:
        engine, found = make_engine(), []
        for number in range(12):
            engine.add_request(str(number), [1] * (1 + 7 * number % 20))
        while engine.step():
            found.append(list(engine.in_flight[-1].req_ids))
        engine.run()
        return found

    with sim.mode("eager"):
        right = groups()
    with sim.mode(**MODES[mode]):
        assert groups() == right


def test_a_long_prompt_is_served_in_chunks_and_answered_once() -> None:
    engine = make_engine(pooling="LAST", max_num_batched_tokens=6)
    prompts = [list(range(15)), [3, 4], list(range(8))]
    for number, prompt in enumerate(prompts):
        engine.add_request(str(number), prompt)
    masks = []
    with sim.mode("lazy"):
        while engine.step():
            output = engine.in_flight[-1]
            masks.append(dict(zip(output.req_ids, output.finished_mask, strict=True)))
        outputs = engine.run()
    assert masks == [
        {"0": False},
        {"0": False},
        {"0": True, "1": True, "2": False},
        {"2": False},
        {"2": True},
    ]
    right = expected("LAST", prompts)
    for number in range(3):
        np.testing.assert_allclose(outputs[str(number)].numpy(), right[number], atol=1e-5)


def test_a_request_that_lost_its_row_comes_back_where_it_was() -> None:
    engine = make_engine(pooling="LAST", max_num_batched_tokens=6)
    engine.add_request("long", list(range(15)))
    engine.add_request("b", [1] * 9)
    engine.step()
    engine.step()
    engine.step()  # the end of `long`, three tokens of `b`
    state = engine.scheduler.running[0]
    assert (state.req_id, state.num_computed_tokens) == ("b", 3)
    engine.batch.remove_request("b")  # taken out of the batch, as vLLM may do
    engine.batch.remove_request("long")
    engine.batch.condense()
    outputs = engine.run()
    np.testing.assert_allclose(outputs["b"].numpy(), expected("LAST", [[1]])[0], atol=1e-5)


def test_a_long_prompt_moves_down_when_the_rows_before_it_become_empty() -> None:
    engine = make_engine(pooling="LAST", max_num_batched_tokens=6)
    for name, prompt in (("a", [1]), ("b", [2]), ("long", list(range(13)))):
        engine.add_request(name, prompt)
    rows = []
    while engine.step():
        rows.append(list(engine.batch.req_ids))
    assert rows == [["a", "b", "long"], ["long"], ["long"]]
    assert engine.batch.num_computed_tokens[0] == 10
    np.testing.assert_allclose(engine.run()["long"].numpy(), expected("LAST", [[12]])[0], atol=1e-5)


def test_an_engine_can_be_used_again() -> None:
    engine = make_engine()
    engine.add_request("a", [1, 2])
    assert sorted(engine.run()) == ["a"]
    engine.add_request("b", [3])
    assert sorted(engine.run()) == ["b"]
    assert engine.run() == {}
    assert not engine.step()


@pytest.mark.parametrize(
    ("req_id", "prompt", "message"),
    [
        ("a", [1], "request 'a' exists already"),
        ("x", [], "request 'x': the prompt is empty"),
        ("x", [1] * 21, "request 'x': 21 tokens do not fit a row of 20"),
        ("x", [1] * 20, "request 'x': 20 tokens must be in one step, and a step takes 10"),
        ("x", [3, 16], "request 'x': token 16; the model knows 0 … 15"),
        ("x", [-1], "request 'x': token -1"),
        ("x", [1.5], "request 'x': .* integers"),
    ],
)
def test_a_bad_request_is_refused_and_the_others_are_served(req_id, prompt, message) -> None:
    engine = make_engine(max_num_batched_tokens=10)
    engine.add_request("a", [1, 2])
    with pytest.raises(ValueError, match=message):
        engine.add_request(req_id, prompt)
    assert sorted(engine.run()) == ["a"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pooling": "MAX"}, "pooling='MAX'; known are 'MEAN', 'LAST', 'CLS'"),
        ({"max_in_flight": 1}, "max_in_flight=1; it must be 2 or more"),
        ({"max_num_batched_tokens": 0}, "max_num_batched_tokens=0; at least 1"),
    ],
)
def test_an_engine_says_what_it_cannot_be(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_engine(**options)


def test_a_model_on_the_host_is_refused() -> None:
    model = LookupModel(torch.zeros(2, 2), torch.eye(2))
    with pytest.raises(ValueError, match="the model is on 'cpu'; the engine needs a device with"):
        Engine(model, InputBatch(2, "sim"))


def test_a_table_and_a_matrix_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\[2, 3\] needs a square matrix .* got \[2, 2\]"):
        LookupModel(torch.zeros(2, 3), torch.eye(2))


def test_an_id_that_the_table_does_not_have_is_an_error_of_the_device() -> None:
    model = LookupModel(torch.zeros(2, 2, device="sim"), torch.eye(2).to("sim"))
    with sim.mode("lazy"):
        there = model(torch.tensor([5]).to("sim"))
        with pytest.raises(sim.QueuedOperationError, match=r"aten.embedding.*model.py"):
            there.tolist()


def test_the_repr_says_what_is_going_on() -> None:
    engine = make_engine(AliasingBatch)
    engine.add_request("a", [1])
    assert repr(engine) == (
        "<Engine, MEAN pooling, AliasingBatch: 1 requests to serve, 0 steps in flight>"
    )
