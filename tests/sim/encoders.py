"""Two transformers for the tests: MiniLM-L6, whose parameters the `data` extra brings, and a small
one of torch's own layers with seeded parameters.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

LAYERS, HEADS, WIDTH, INNER = 6, 12, 384, 1536  # as in the model's config.json
WORDS, POSITIONS, KINDS, EPSILON = 30_522, 512, 2, 1e-12


class Attention(nn.Module):
    """Every token looks at every token of its text: [texts, n, 384] -> the same."""

    def __init__(self) -> None:
        super().__init__()
        self.self = nn.ModuleDict({name: nn.Linear(WIDTH, WIDTH) for name in _PARTS})
        self.output = nn.ModuleDict(
            {"dense": nn.Linear(WIDTH, WIDTH), "LayerNorm": nn.LayerNorm(WIDTH, EPSILON)}
        )

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        query, key, value = (
            self.self[name](x).unflatten(2, (HEADS, -1)).transpose(1, 2) for name in _PARTS
        )
        mixed = scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :])
        mixed = self.output["dense"](mixed.transpose(1, 2).flatten(2))
        return self.output["LayerNorm"](x + mixed)


_PARTS = ("query", "key", "value")


class Layer(nn.Module):
    """Attention, then two linear maps with a GELU between them."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention()
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(WIDTH, INNER)})
        self.output = nn.ModuleDict(
            {"dense": nn.Linear(INNER, WIDTH), "LayerNorm": nn.LayerNorm(WIDTH, EPSILON)}
        )

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.attention(x, mask)
        wide = gelu(self.intermediate["dense"](x))
        return self.output["LayerNorm"](x + self.output["dense"](wide))


class MiniLM(nn.Module):
    """The model's six layers; modules bear the names of its parameters.

    ``model(ids, mask)`` takes token ids [texts, n] int64 and a mask [texts, n] bool, False at
    padding, and returns the last hidden states [texts, n, 384] float32.
    """

    def __init__(self) -> None:
        super().__init__()
        self.embeddings = nn.ModuleDict(
            {
                "word_embeddings": nn.Embedding(WORDS, WIDTH),
                "position_embeddings": nn.Embedding(POSITIONS, WIDTH),
                "token_type_embeddings": nn.Embedding(KINDS, WIDTH),
                "LayerNorm": nn.LayerNorm(WIDTH, EPSILON),
            }
        )
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer() for _ in range(LAYERS))})

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        embed = self.embeddings
        positions = torch.arange(ids.shape[1], device=ids.device)
        x = embed["word_embeddings"](ids) + embed["position_embeddings"](positions)
        x = embed["LayerNorm"](x + embed["token_type_embeddings"](torch.zeros_like(ids)))
        for layer in self.encoder["layer"]:
            x = layer(x, mask)
        return x


def load_minilm(folder: Path) -> MiniLM:
    """The model of the `data` extra, from its folder."""
    from safetensors.torch import load_file

    weights = load_file(folder / "model.safetensors")
    with torch.device("meta"):  # no bytes: the parameters come from the file
        model = MiniLM()
    names = set(model.state_dict())
    model.load_state_dict({n: t for n, t in weights.items() if n in names}, assign=True)
    return model.eval()


class SmallEncoder(nn.Module):
    """Two of torch's encoder layers over an embedding, and a score for each text.

    ``model(ids)`` takes [texts, n] int64 below 50 and returns [texts] float32.
    """

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(50, 16)
        layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.score = nn.Linear(16, 1)

    def forward(self, ids: Tensor) -> Tensor:
        causal = nn.Transformer.generate_square_subsequent_mask(ids.shape[1], device=ids.device)
        x = self.layers(self.embedding(ids), mask=causal)
        return self.score(x.mean(1))[:, 0]
