"""Methods that return constants (--constant), beside a model's own, in the stock runtime."""

import pytest
import torch
from executorch.runtime import Runtime
from harness import assert_matches_eager, assert_refused, depute, lower, read_cases, sample

CONSTANTS = {
    "get_max_seq_len=128": [128],
    "get_large=9223372036854775807": [2**63 - 1],
    "rope_theta=1e4": [1e4],
    "use_kv_cache=true": [True],
    "enable_dynamic_shape=false": [False],
    'modality="text"': ["text"],
    "get_eos_ids=[2, [3], 4]": [2, 3, 4],
    'mixed=[1, 0.5, true, "a"]': [1, 0.5, True, "a"],
    'mean={"dtype": "f32", "tensor": [[0.5, 0.25]]}': [torch.tensor([[0.5, 0.25]])],
    'ids={"dtype": "i64", "tensor": [7, 8]}': [torch.tensor([7, 8])],
    'scalar={"dtype": "f32", "tensor": 2.5}': [torch.tensor(2.5)],
}


@pytest.mark.parametrize("options", [(), ("--backend", "xnnpack"), ("--ptd",)], ids=["portable", "xnnpack", "ptd"])
def test_the_runtime_returns_them(options, tmp_path):
    pte = tmp_path / "m.pte"
    if options == ("--ptd",):
        options = ("--ptd", tmp_path / "m.ptd")
    arguments = [part for constant in CONSTANTS for part in ("--constant", constant)]
    lower(sample("mlp"), pte, *arguments, *options)
    if (tmp_path / "m.ptd").exists():
        from executorch.extension.pybindings.portable_lib import _load_for_executorch

        module = _load_for_executorch(str(pte), str(tmp_path / "m.ptd"))
        run = lambda name: module.run_method(name, [])  # noqa: E731
    else:
        program = Runtime.get().load_program(pte)
        run = lambda name: program.load_method(name).execute([])  # noqa: E731
        assert_matches_eager(pte, read_cases(sample("mlp")))
    for constant, want in CONSTANTS.items():
        got = run(constant.split("=")[0])
        assert len(got) == len(want), constant
        for value, expected in zip(got, want):
            assert type(value) is type(expected), constant
            same = torch.equal(value, expected) if isinstance(expected, torch.Tensor) else value == expected
            assert same, f"{constant}: {value}"


@pytest.mark.parametrize("constants", [("forward=1",), ("size=1", "size=1")])
def test_a_name_that_is_taken(constants, tmp_path):
    pte = tmp_path / "m.pte"
    arguments = [part for constant in constants for part in ("--constant", constant)]
    run = depute("lower", sample("mlp"), *arguments, "-o", pte)
    assert_refused(run, pte)
    assert "a method with this name" in run.stderr


@pytest.mark.parametrize(
    "constant",
    [
        "name",
        "=1",
        "name=",
        "name=null",
        "name=[]",
        "name=[1",
        "name=9223372036854775808",
        'name={"dtype": "f32"}',
        'name={"dtype": "f33", "tensor": 1}',
        'name={"dtype": "f32", "tensor": [[1], [1, 2]]}',
        'name={"dtype": "u8", "tensor": [300]}',
        'name={"dtype": "f32", "tensor": ["a"]}',
    ],
)
def test_what_is_no_value(constant, tmp_path):
    pte = tmp_path / "m.pte"
    run = depute("lower", sample("mlp"), "--constant", constant, "-o", pte)
    assert run.code == 2 and "--constant" in run.stderr, run.stderr
    assert not pte.exists()
