"""Planned memory in several banks: programs run in the stock runtime as without banks, and keep the sizes of the banks."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from executorch.runtime import Runtime
from harness import DEPUTE, MODELS, ROOT, SUPPORTED, TIMEOUT, depute, lower, read_cases, sample

sys.path.insert(0, str(ROOT / "bench"))
from memory_banks import by_executorch, plans_of, slow_traffic  # noqa: E402

BACKENDS = {"portable": (), "xnnpack": ("--backend", "xnnpack")}
LARGE = "1G"


def results(pte, cases):
    program = Runtime.get().load_program(pte)  # methods point into it: it must outlive them
    methods = {case.method: program.load_method(case.method) for case in cases}
    return [[value.clone() if isinstance(value, torch.Tensor) else value for value in methods[case.method].execute(case.inputs)] for case in cases]


def assert_same(found, wanted):
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted):
        assert len(one) == len(other)
        for got, want in zip(one, other):
            assert torch.equal(got, want) if isinstance(want, torch.Tensor) else got == want


def planned(pte):
    """Sizes of the arenas by memory id, from 1, of the method that has most."""
    return max((plan.non_const_buffer_sizes[1:] for plan in plans_of(pte)), key=sum)


def three_banks(whole):
    """The last bank has room for everything; the others have 60% together."""
    total = max(sum(planned(whole)), 64)
    return {"sram": (total * 40 // 100 // 16 * 16, 2, 16), "tcm": (total * 20 // 100 // 16 * 16 + 16, 1, 16), "dram": (1 << 30, 4, 64)}


def words(banks):
    return ["--memory", ",".join(f"{name}={size}:{number}:align={alignment}" for name, (size, number, alignment) in banks.items())]


def assert_within(pte, banks):
    for plan in plans_of(pte):
        sizes = plan.non_const_buffer_sizes
        assert len(sizes) in (1, 5)
        if len(sizes) == 1:
            continue
        assert sizes[3] == 0  # no bank has this number
        by_id = {number: (size, alignment) for size, number, alignment in banks.values()}
        assert all(sizes[number] <= size for number, (size, _) in by_id.items())
        for value in plan.values:
            place = getattr(value.val, "allocation_info", None)
            if place is not None:
                assert place.memory_offset_low % by_id[place.memory_id][1] == 0 or not is_whole(value.val)


def is_whole(tensor):
    """False for a slice or a part of a concatenation, which lies inside of another value: told by an odd place."""
    return tensor.allocation_info.memory_offset_low % 64 == 0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SUPPORTED)
def test_equal_the_results_without_banks(name, backend, tmp_path):
    lower(sample(name), tmp_path / "one.pte", *BACKENDS[backend])
    banks = three_banks(tmp_path / "one.pte")
    lower(sample(name), tmp_path / "banks.pte", *BACKENDS[backend], *words(banks))
    assert_within(tmp_path / "banks.pte", banks)
    cases = read_cases(sample(name))
    assert_same(results(tmp_path / "banks.pte", cases), results(tmp_path / "one.pte", cases))


@pytest.mark.parametrize("options", [(), ("--backend", "xnnpack:off=op:hardtanh"), ("--quantize", "conv=8da8w", "--quantize", "linear=8da8w")])
def test_mobilenet(options, tmp_path):
    model = MODELS / "mobilenet_v2.pt2"
    lower(model, tmp_path / "one.pte", *options)
    banks = three_banks(tmp_path / "one.pte")
    lower(model, tmp_path / "banks.pte", *options, *words(banks), "--report", tmp_path / "report.json")
    assert_within(tmp_path / "banks.pte", banks)
    cases = read_cases(model)[:1]
    assert_same(results(tmp_path / "banks.pte", cases), results(tmp_path / "one.pte", cases))
    uses = json.loads((tmp_path / "report.json").read_text())["planned"]["banks"]
    sizes = planned(tmp_path / "banks.pte")
    assert [use["used"] for use in uses] == [sizes[use["memory_id"] - 1] for use in uses]
    assert all(0 < use["peak"] <= use["used"] <= use["size"] for use in uses)
    assert uses[0]["traffic"] > 0


def test_one_large_bank_gives_the_same_bytes(tmp_path):
    """Everything fits into bank 1, and no state needs a memory of its own."""
    lower(sample("attn"), tmp_path / "one.pte")
    lower(sample("attn"), tmp_path / "bank.pte", "--memory", "sram=1G:1")
    assert (tmp_path / "one.pte").read_bytes() == (tmp_path / "bank.pte").read_bytes()


@pytest.mark.parametrize("percent", [25, 50, 75])
@pytest.mark.parametrize("name", ["attn", "mlp", "conv_relu_tan", "mutbuf"])
def test_no_more_traffic_than_executorch(name, percent, tmp_path):
    lower(sample(name), tmp_path / "one.pte")
    size = max(16, sum(planned(tmp_path / "one.pte")) * percent // 100)
    by_executorch(sample(name), tmp_path / "theirs.pte", [("fast", size, 1), ("slow", 1 << 30, 2)])
    lower(sample(name), tmp_path / "ours.pte", "--memory", f"fast={size}:1,slow={LARGE}:2")
    assert slow_traffic(tmp_path / "ours.pte") <= slow_traffic(tmp_path / "theirs.pte")


def test_pins(tmp_path):
    lower(sample("mlp"), tmp_path / "m.pte", "--memory", "sram=1G:1,dram=1G:2", "--memory-pin", "dram=op:relu")
    shown = depute("show", tmp_path / "m.pte").stdout
    written = re.search(r"aten::relu\.out\(.*%(\d+)\)", shown)[1]
    assert re.search(rf"^  %{written}: .* = memory 2 \+ 0$", shown, re.MULTILINE)
    assert_same(results(tmp_path / "m.pte", read_cases(sample("mlp"))), results_of("mlp", tmp_path))


def results_of(name, folder):
    lower(sample(name), folder / "plain.pte")
    return results(folder / "plain.pte", read_cases(sample(name)))


def test_what_does_not_fit_is_named(tmp_path):
    run = depute("lower", sample("mlp"), "-o", tmp_path / "m.pte", "--memory", "sram=48:1")
    assert run.code == 1 and not (tmp_path / "m.pte").exists()
    assert re.match(r"error\[plan\.memory-bank\]: method forward.*: %\w+ of \d+ bytes fits into no bank: the last, sram, has 48 bytes and needs \d+ more", run.stderr)
    assert "alive when it is computed" in run.stderr and ".py:" in run.stderr


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--memory", "sram"], "must have the form NAME=SIZE:ID"),
        (["--memory", "sram=512K"], "must have the form NAME=SIZE:ID"),
        (["--memory", "sram=512K:1:align=3"], "alignment 3 is not a power of two"),
        (["--memory", "sram=512K:1:64"], "must have the form NAME=SIZE:ID"),
        (["--memory", "sram=512K:0"], "memory id 0 is not one of 1 to 64"),
        (["--memory", "sram=8:1"], "its size of 8 bytes is below 16"),
        (["--memory", "a=1K:1,a=1K:2"], "two banks have this name"),
        (["--memory", "a=1K:1,b=1K:1"], 'bank "a" has the same memory id 1'),
        (["--memory", "a b=1K:1"], "letters, digits"),
        (["--memory-pin", "sram=relu"], 'there is no memory bank "sram"'),
        (["--memory", "sram=1K:1", "--memory-pin", "srom=relu"], "did you mean sram?"),
        (["--memory", "sram=1K:1", "--memory-pin", "sram"], "must have the form BANK=SELECTOR"),
    ],
)
def test_mistakes(arguments, message, tmp_path):
    run = depute("lower", sample("mlp"), "-o", tmp_path / "m.pte", *arguments)
    assert run.code == 2 and message in run.stderr and not (tmp_path / "m.pte").exists()


def test_a_pin_of_nothing(tmp_path):
    run = depute("lower", sample("mlp"), "-o", tmp_path / "m.pte", "--memory", "sram=1M:1", "--memory-pin", "sram=node:nothing")
    assert run.code == 1 and "this pin selects no value" in run.stderr


def test_requirements(tmp_path):
    banks = ["--memory", "sram=1M:1"]
    assert depute("lower", sample("mlp"), "-o", tmp_path / "m.pte", *banks, "--require", "memory:sram<=1M").code == 0
    run = depute("lower", sample("mlp"), "-o", tmp_path / "n.pte", *banks, "--require", "memory:sram<=16")
    assert run.code == 3 and "memory:sram<=16 (is " in run.stderr
    run = depute("lower", sample("mlp"), "-o", tmp_path / "n.pte", *banks, "--require", "memory:dram<=16")
    assert run.code == 3 and "there is no memory bank dram" in run.stderr


def test_state_lies_in_banks(tmp_path):
    """State stays between calls in any bank, at one place of all methods."""
    cases = read_cases(sample("mutbuf"))
    wanted = results_of("mutbuf", tmp_path)
    for banks in ("sram=1M:1", "sram=1M:1,dram=1M:2", "sram=32:3,dram=1M:1", "dram=16:1,sram=1M:2"):
        lower(sample("mutbuf"), tmp_path / "m.pte", "--memory", banks)
        assert_same(results(tmp_path / "m.pte", cases), wanted)


def test_constants_lie_at_multiples_of_their_alignment(tmp_path):
    """Positions in the file, of constants in their segment."""
    for alignment in (16, 64, 4096):
        lower(sample("conv_relu_tan"), tmp_path / "m.pte", f"--constant-alignment={alignment}", "--segment-alignment=16")
        entries = json.loads(depute("size", tmp_path / "m.pte", "--json").stdout)["entries"]
        offsets = [entry["offset"] for entry in entries if entry["kind"] == "constant"]
        assert len(offsets) > 1 and all(offset % alignment == 0 for offset in offsets)
        assert alignment == 16 or any(offset % (2 * alignment) for offset in offsets)
        assert_same(results(tmp_path / "m.pte", read_cases(sample("conv_relu_tan"))), results_of("conv_relu_tan", tmp_path))
    assert depute("lower", sample("mlp"), "-o", tmp_path / "n.pte", "--constant-alignment=24").code != 0


COUNTER = """program
data "count": f32[4] = [3, 3, 3, 3]
method forward(%count: f32[4] = buffer "count", %x: f32[4]) {
  %n: f32[4] = aten.add.Tensor(%count, %x)
  %v: f32[2, 2] = aten.view.default(%count, [2, 2])
  %e: f32[2, 2] = aten.neg.default(%v)
  store buffer "count" = %n
  return %e, %n
}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="compiles a program")
def test_an_application_provides_state(tmp_path):
    sys.path.insert(0, str(ROOT / "tests" / "releases"))
    changes = importlib.import_module("changes")
    (tmp_path / "m.ir").write_text(COUNTER)
    run = lower(tmp_path / "m.ir", tmp_path / "m.pte", "--alloc-state=no")
    assert "note: the application has to give memory to buffers" in run.stdout
    (plan,) = plans_of(tmp_path / "m.pte")
    (state,) = [value.val for value in plan.values if getattr(value.val, "extra_tensor_info", None)]
    assert state.extra_tensor_info.fully_qualified_name == "count"
    assert state.allocation_info is None and state.data_buffer_idx == 0 and len(plan.non_const_buffer_sizes) == 2
    program = tmp_path / "provide_state"
    libraries = ["executorch", "executorch_threadpool", "executorch_kernels_optimized"]
    changes.compile_probe(Path(__file__).with_name("provide_state.cpp"), "-o", str(program), "-Wl,--no-as-needed", *(f"-l{each}" for each in libraries))
    done = subprocess.run([program, tmp_path / "m.pte", "forward", "count", "5", "4", "3"], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    # The state, -state before the call, the new state.
    assert done.stdout.splitlines() == ["6 -5 6", "7 -6 7", "8 -7 8"]


@pytest.mark.skipif(not DEPUTE.with_name("depute-run").exists(), reason="needs depute-run (make runtime)")
def test_depute_run_gives_zeros_for_state(tmp_path):
    (tmp_path / "m.ir").write_text(COUNTER)
    lower(tmp_path / "m.ir", tmp_path / "m.pte", "--alloc-state=no")
    assert depute("run", tmp_path / "m.pte", "--random").code == 0
