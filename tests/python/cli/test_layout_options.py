"""Where delegates' bytes lie in a .pte and how they are aligned, in the stock runtime."""

import pytest
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.exir.schema import DataLocation
from harness import assert_matches_eager, assert_refused, depute, lower, read_cases, sample

OPTIONS = {
    "segments": (),
    "aligned segments": ("--segment-alignment", "4096"),
    "aligned delegates": ("--delegate-alignment", "1024"),
    "inline": ("--inline-delegates",),
    "aligned inline": ("--inline-delegates", "--delegate-alignment", "256"),
    "narrow": ("--segment-alignment", "16"),
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", ["mlp", "conv_relu_tan", "multi"])
def test_matches_eager(name, options, tmp_path):
    pte = tmp_path / "m.pte"
    lower(sample(name), pte, "--backend", "xnnpack", *OPTIONS[options])
    assert_matches_eager(pte, read_cases(sample(name)))


def payloads(file: bytes) -> list[int]:
    """Where XNNPACK's payloads lie in the file: four bytes before their magic."""
    places, at = [], file.find(b"XH00")
    while at >= 0:
        places.append(at - 4)
        at = file.find(b"XH00", at + 1)
    return places


@pytest.mark.parametrize("options", OPTIONS)
def test_the_bytes_lie_where_they_are_asked_to(options, tmp_path):
    pte = tmp_path / "m.pte"
    lower(sample("conv_relu_tan"), pte, "--backend", "xnnpack", *OPTIONS[options])
    file = pte.read_bytes()
    flatbuffer_size = int.from_bytes(file[16:24], "little")
    is_inline = "--inline-delegates" in OPTIONS[options]
    alignment = max([int(option) for option in OPTIONS[options] if option.isdigit()], default=16)
    places = payloads(file)
    assert places
    for place in places:
        assert place % alignment == 0
        assert (place < flatbuffer_size) == is_inline
    # ExecuTorch's own reader undoes segments; it wants the blobs in either place.
    program = deserialize_pte_binary(file).program
    (plan,) = program.execution_plan
    for delegate in plan.delegates:
        assert delegate.processed.location == DataLocation.INLINE
        assert b"XH00" in bytes(program.backend_delegate_data[delegate.processed.index].data)[:8]


@pytest.mark.parametrize("option", ["--segment-alignment", "--delegate-alignment"])
@pytest.mark.parametrize("value", ["0", "48", "33554432"])
def test_odd_alignments(option, value, tmp_path):
    pte = tmp_path / "m.pte"
    run = depute("lower", sample("mlp"), option, value, "-o", pte)
    assert_refused(run, pte)
    assert "power of two" in run.stderr
