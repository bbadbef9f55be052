"""The stored hidden states of the rerank texts, and the scores they give without an engine.

A language model turned each text of the corpus into one vector per token, once, when the data
was built. Here those vectors are only read: `hidden` is one table for all texts, and a row number
of it stands for "this token at this place of this text". An engine that is given these row
numbers as token ids runs a forward pass by a lookup.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pinlab.serving.corpus import Question, load_corpus, texts, texts_digest

HIDDEN_SIZE = 384  # the width of MiniLM-L6
# Stored arrays by name: dtype kind and size, and number of dimensions.
LAYOUT = {"hidden": ("f2", 2), "offsets": ("i8", 1), "token_ids": ("i4", 1), "tokens": ("S", 1)}


@dataclass(frozen=True, eq=False)
class RerankData:
    """Texts, grades and hidden states of the rerank experiment; all arrays are read-only.

    Texts are numbered question by question: question q is text q * (1 + n_passages), and its
    passage p comes 1 + p later. Text t has the rows offsets[t] … offsets[t + 1] of `hidden`.

    >>> data = load_rerank_data()
    >>> data
    RerankData: 8 queries x 12 passages of 11 to 77 tokens, hidden [3795, 384] float16
    >>> data.query_text(2)
    'Why is 0.1 + 0.2 not equal to 0.3 in Python?'
    >>> data.token_strings(2, 3)
    ['[CLS]', 'a', 'double', 'has', 'one', 'sign', 'bit', ',', '11', 'expo', '##nent', 'bits', \
'and', '52', 'fraction', 'bits', '.', '[SEP]']
    >>> rows = data.rows(2, 3)  # what the engine is given as token ids
    >>> len(rows), data.hidden[rows].shape
    (18, (18, 384))
    """

    questions: tuple[Question, ...]  # text and grades, as in the corpus
    hidden: npt.NDArray[np.float16] = field(repr=False)  # [n_tokens, 384], last hidden states
    offsets: npt.NDArray[np.int64] = field(repr=False)  # [n_texts + 1], first row of each text
    token_ids: npt.NDArray[np.int32] = field(repr=False)  # [n_tokens], the tokenizer's own ids
    tokens: npt.NDArray[np.bytes_] = field(repr=False)  # [n_tokens], the word pieces, ASCII

    def __repr__(self) -> str:
        passages = np.delete(self.lengths, [self.text_number(q) for q in range(self.n_queries)])
        return (
            f"RerankData: {self.n_queries} queries x {self.n_passages} passages "
            f"of {passages.min()} to {passages.max()} tokens, "
            f"hidden {list(self.hidden.shape)} {self.hidden.dtype}"
        )

    @property
    def n_queries(self) -> int:
        """Number of questions."""
        return len(self.questions)

    @property
    def n_passages(self) -> int:
        """Number of passages of each question."""
        return len(self.questions[0].passages)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each text, [n_texts] int64, the two marks [CLS] and [SEP] included."""
        return np.diff(self.offsets)

    @property
    def relevance(self) -> npt.NDArray[np.int64]:
        """Grades from 0 to 3, [n_queries, n_passages] int64."""
        return np.array([[p.relevance for p in question.passages] for question in self.questions])

    def text_number(self, query: int, passage: int | None = None) -> int:
        """Return the number of a query's text, or of one of its passages.

        Raises `IndexError` for a query or passage that does not exist.

        >>> data = load_rerank_data()
        >>> data.text_number(1), data.text_number(1, 0)
        (13, 14)
        """
        if not 0 <= query < self.n_queries:
            raise IndexError(f"query {query} is not one of 0 … {self.n_queries - 1}")
        if passage is not None and not 0 <= passage < self.n_passages:
            raise IndexError(f"passage {passage} is not one of 0 … {self.n_passages - 1}")
        return query * (1 + self.n_passages) + (0 if passage is None else 1 + passage)

    def query_text(self, query: int) -> str:
        """Return the text of a question."""
        return self.questions[query].text

    def passage_text(self, query: int, passage: int) -> str:
        """Return the text of one passage of a question."""
        return self.questions[query].passages[passage].text

    def rows(self, query: int, passage: int | None = None) -> npt.NDArray[np.int64]:
        """Return a text's row numbers in `hidden`, [length] int64: ids for a forward by lookup."""
        text = self.text_number(query, passage)
        return np.arange(self.offsets[text], self.offsets[text + 1])

    def token_strings(self, query: int, passage: int | None = None) -> list[str]:
        """Return the word pieces that a text was cut into, for people to read."""
        return [token.decode() for token in self.tokens[self.rows(query, passage)]]


def load_rerank_data(path: str | Path | None = None) -> RerankData:
    """Read the data that ships with the package, or another build of it from `path`.

    Raises `FileNotFoundError` for a missing file, and `ValueError` for a file that is not a whole
    `.npz`, lacks an array, has one of another dtype or shape, has offsets that do not cover the
    table, or was built from other texts than the corpus has now.

    >>> load_rerank_data().lengths[:4]
    array([16, 33, 61, 49])
    """
    if path is None:
        with as_file(files(__package__) / "data" / "rerank.npz") as packaged:
            return load_rerank_data(packaged)
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"no rerank data at {path.name}; tools/build_rerank_data.py makes it"
        )
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (zipfile.BadZipFile, ValueError, EOFError, OSError) as error:
        raise ValueError(f"{path.name} is not a whole .npz file: {error}") from error
    questions = load_corpus()
    _check_arrays(arrays, path.name, len(texts(questions)))
    if arrays["texts_sha256"].tolist() != texts_digest(questions).encode():
        raise ValueError(
            f"{path.name} was built from other texts than corpus.toml has now; "
            "run tools/build_rerank_data.py"
        )
    for array in arrays.values():
        array.setflags(write=False)
    return RerankData(questions, **{name: arrays[name] for name in LAYOUT})


def offline_scores(
    data: RerankData, lengths: npt.ArrayLike | None = None
) -> npt.NDArray[np.float64]:
    """Return the score of every passage for its question, [n_queries, n_passages] float64.

    Each text's rows are summed and divided by its length, in float64 and one text at a time; the
    score is the dot product of the two mean vectors, with no normalisation. This is the reference
    for an engine's scores. `lengths`, [n_texts], replaces the divisors (not the sums), which is
    what a stale `prompt_lens` does to mean pooling; the default is each text's own length.
    Raises `ValueError` if it has another shape.

    >>> data = load_rerank_data()
    >>> scores = offline_scores(data)
    >>> scores.shape, int(scores[0].argmax()), int(data.relevance[0, scores[0].argmax()])
    ((8, 12), 5, 3)
    """
    divisors = data.lengths if lengths is None else np.asarray(lengths)
    if divisors.shape != data.lengths.shape:
        raise ValueError(f"lengths must have shape {data.lengths.shape}, got {divisors.shape}")
    sums = np.add.reduceat(data.hidden.astype(np.float64), data.offsets[:-1], axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):  # a wrong length may well be zero
        means = sums / divisors[:, None]
        pooled = means.reshape(data.n_queries, 1 + data.n_passages, -1)
        scores: npt.NDArray[np.float64] = np.einsum("qd,qpd->qp", pooled[:, 0], pooled[:, 1:])
    return scores


def _check_arrays(arrays: dict[str, npt.NDArray[np.generic]], name: str, n_texts: int) -> None:
    """Refuse arrays that `RerankData` could not serve."""
    missing = sorted({*LAYOUT, "texts_sha256"} - set(arrays))
    if missing:
        raise ValueError(f"{name} lacks the arrays {missing}")
    for key, (dtype, ndim) in LAYOUT.items():
        array = arrays[key]
        if not array.dtype.str[1:].startswith(dtype) or array.ndim != ndim:
            raise ValueError(
                f"{name}: {key} must be {dtype} with {ndim} dimensions, "
                f"got {array.dtype.str[1:]} with {array.ndim}"
            )
    hidden, offsets = arrays["hidden"], arrays["offsets"]
    n_tokens = len(arrays["token_ids"])
    if hidden.shape != (n_tokens, HIDDEN_SIZE) or len(arrays["tokens"]) != n_tokens:
        raise ValueError(
            f"{name}: hidden must have shape [{n_tokens}, {HIDDEN_SIZE}] and tokens {n_tokens} "
            f"entries, as token_ids has, got {list(hidden.shape)} and {len(arrays['tokens'])}"
        )
    if len(offsets) != n_texts + 1:
        raise ValueError(f"{name}: {n_texts} texts need {n_texts + 1} offsets, got {len(offsets)}")
    if offsets[0] != 0 or offsets[-1] != n_tokens or np.any(np.diff(offsets) < 1):
        raise ValueError(f"{name}: offsets must rise from 0 to {n_tokens}, one text after another")
