"""Language models with caches, as export_llama and transformers export them: logits call by call beside eager PyTorch, and
the text that ExecuTorch's own runner generates."""

import functools
import subprocess
import sys

import executorch.extension.llm.custom_ops.custom_ops  # noqa: F401  (registers llama::)
import pytest
import torch
from executorch.runtime import Runtime
from harness import ROOT, assert_close, lower
from language_models import CONTEXT, SMALL, export
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

pytestmark = pytest.mark.long

NAMES = "llama llama.ops llama.ops.8da4w static_cache.llama static_cache.qwen3.8da4w static_cache.gemma3".split()
BACKENDS = {"portable": (), "xnnpack": ("--backend", "xnnpack")}
# XNNPACK rounds rows that are quantized at run time in another way than torchao does.
QUANTIZED_TOLERANCE = 3e-2


@functools.cache
def exported(name, folder):
    model = export(name)
    path = folder / f"{name}.pt2"
    torch.export.save(model.program, path)
    return model, path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("language_models")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", NAMES)
def test_logits_of_a_prompt_and_of_the_tokens_behind_it(name, backend, folder, tmp_path):
    model, path = exported(name, folder)
    pte = tmp_path / "m.pte"
    lower(path, pte, *BACKENDS[backend])
    program = Runtime.get().load_program(pte)
    method = program.load_method("forward")
    tolerance = QUANTIZED_TOLERANCE if name.endswith(".8da4w") else 1e-3
    start = 0
    for count in (7, 1, 1, 20, 1):
        tokens = torch.randint(3, SMALL["vocabulary"], (1, count))
        want = model.eager(tokens, start)
        (got,) = method.execute(list(model.inputs(tokens, start)))
        assert_close(got, want, f"at {start}", tolerance)
        start += count


TEXT = "Pack my box with five dozen liquor jugs. How vexingly quick daft zebras jump! The five boxing wizards jump quickly."
PROMPT = "Pack five quick zebras"
METADATA = [
    f"--constant=get_max_seq_len={CONTEXT}", "--constant=enable_dynamic_shape=true", "--constant=use_kv_cache=true",
    "--constant=get_eos_ids=[2]",
]  # fmt: skip


def tokenizer(folder):
    """One that learned its tokens from TEXT, every one of them text of its own."""
    learned = Tokenizer(models.BPE())
    learned.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    learned.decoder = decoders.ByteLevel()
    special = ["<pad>", "<s>", "</s>"]
    learned.train_from_iterator([TEXT], trainers.BpeTrainer(vocab_size=80, special_tokens=special, show_progress=False))
    learned.save(str(folder / "tokenizer.json"))
    return learned


def greedy(logits_of, tokens, count):
    """The ids of `count` tokens, each the most likely one behind those before it; `logits_of(tokens, start)`."""
    ids, start = [], 0
    for _ in range(count):
        logits = logits_of(torch.tensor([tokens]), start)
        start += len(tokens)
        tokens = [int(logits.reshape(-1, logits.shape[-1])[-1].argmax())]
        ids += tokens
    return ids


# In a process of its own: the runner brings a runtime of its own.
RUNNER = """
import sys
import executorch.extension.llm.custom_ops.custom_ops
import executorch.kernels.quantized
from executorch.extension.llm.runner import GenerationConfig, TextLLMRunner
pte, tokenizer, prompt, out, count = sys.argv[1:]
said = []
config = GenerationConfig(echo=False, temperature=0.0, max_new_tokens=int(count))
TextLLMRunner(pte, tokenizer).generate(prompt, config, said.append)
open(out, "w").write("".join(said))
"""


@pytest.mark.parametrize("name", ["llama.ops", "llama.ops.8da4w", "static_cache.llama"])
def test_the_runner_of_executorch_generates_what_eager_does(name, tmp_path):
    learned = tokenizer(tmp_path)
    model = export(name, {**SMALL, "vocabulary": learned.get_vocab_size()})
    torch.export.save(model.program, tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", "--backend", "xnnpack", *METADATA)

    tokens = learned.encode(PROMPT).ids
    if name.endswith("8da4w"):  # rounded otherwise than by torchao: what the program gives by itself is the judge
        program = Runtime.get().load_program(tmp_path / "m.pte")
        method = program.load_method("forward")
        want = greedy(lambda tokens, start: method.execute(list(model.inputs(tokens, start)))[0], tokens, 12)
    else:
        want = greedy(model.eager, tokens, 12)
    files = [tmp_path / name for name in ("m.pte", "tokenizer.json")]
    command = [sys.executable, "-c", RUNNER, *files, PROMPT, tmp_path / "said.txt", "12"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "said.txt").read_text() == "".join(learned.decode([token], skip_special_tokens=False) for token in want)
