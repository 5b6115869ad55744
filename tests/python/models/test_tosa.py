"""Programs with TOSA delegates in the stock runtime, executed there by Arm's reference model. `make test-arm` has many more."""

import pytest
import tosa_runtime
from harness import MODELS, assert_matches_eager, depute, lower, read_cases, sample

ARCHITECTURES = ("timm.test_resnet", "timm.test_vit", "poolformer")


@pytest.fixture(scope="module", autouse=True)
def runtime():
    tosa_runtime.register()


@pytest.mark.parametrize("name", ["mlp", "conv_relu_tan", "attn", "cond", "mutbuf", "qconv", *ARCHITECTURES])
def test_results_are_those_of_eager(name, tmp_path):
    model = MODELS / f"architectures/{name}.pt2" if name in ARCHITECTURES else sample(name)
    run = lower(model, tmp_path / "m.pte", "--backend", "tosa")
    assert "TOSABackend" in depute("show", tmp_path / "m.pte").stdout, run.stdout
    # Of quantized results one may be off by a quantum.
    assert_matches_eager(tmp_path / "m.pte", read_cases(model), 0.0024 if name == "qconv" else 1e-5)


def test_a_wrong_flatbuffer_is_noticed(tmp_path):
    model = sample("mlp")
    lower(model, tmp_path / "m.pte", "--backend", "tosa")
    program = bytearray((tmp_path / "m.pte").read_bytes())
    assert depute("payload", tmp_path / "m.pte", "--delegate", "0", "-o", tmp_path / "m.tosa").code == 0
    graph = (tmp_path / "m.tosa").read_bytes()
    assert program.count(graph) == 1
    half = program.index(bytes.fromhex("0000003f"), program.index(graph))  # the 0.5 of gelu
    program[half : half + 4] = bytes.fromhex("0000803f")
    (tmp_path / "m.pte").write_bytes(program)
    with pytest.raises(AssertionError):
        assert_matches_eager(tmp_path / "m.pte", read_cases(model), 1e-5)
