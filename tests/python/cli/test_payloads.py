"""What delegates hold: `depute show` decodes it, and the verifier's verdicts are those of the stock runtime."""

import random
import re
import struct
import subprocess
from collections import Counter

import pytest
import torch
from executorch.exir import schema
from executorch.exir._serialize._program import deserialize_pte_binary, serialize_pte_binary
from harness import DEPUTE, depute, lower, read_cases, sample
from stock_runtime import run_apart

MAGIC = b"XH00"
DEPUTE_TEXT = DEPUTE.parent / "tests" / "text" / "tool" / "depute-text"


def lowered(name, tmp_path):
    out = tmp_path / "m.pte"
    lower(sample(name), out, "--backend", "xnnpack")
    return out


def test_show_decodes_payloads(tmp_path):
    shown = depute("show", lowered("qconv", tmp_path)).stdout
    (conv,) = re.findall(r"^    %\d+: qint8\[.*\] scale \S+ zero -?\d+ = Conv2d\(%\d+, %(\d+), .*$", shown, re.MULTILINE)
    weights = re.search(rf"^    %{conv}: qcint8\[\d+, 3, 3, \d+\] scales 0 of constant \d+ = constant (\d+)$", shown, re.MULTILINE)
    assert re.search(rf'^    constant {weights[1]}: \d+ bytes, "xnn:', shown, re.MULTILINE), shown
    assert re.search(r"^    %\d+: f32\[.*\] = input 0$", shown, re.MULTILINE)
    assert re.search(r"^    output \d+ = %\d+$", shown, re.MULTILINE)


def test_equal_payloads_are_told_once(tmp_path):
    model = tmp_path / "m.ir"
    model.write_text("""program
method forward(%x: f32[2]) {
  %a: f32[2] = aten.sigmoid.default(%x) #1
  %b: f32[2] = aten.asin.default(%a) #2
  %d: f32[2] = aten.sigmoid.default(%b) #3
  return %d
}
method other(%x: f32[2]) {
  %a: f32[2] = aten.sigmoid.default(%x) #4
  return %a
}
""")
    lower(model, tmp_path / "m.pte", "--backend", "xnnpack")
    shown = depute("show", tmp_path / "m.pte").stdout
    assert shown.count("= Sigmoid(") == 1 and "    as delegate 0 of forward\n" in shown, shown
    assert shown.count("  delegate 0 XnnpackBackend(") == 3  # one entry for two calls of a method


@pytest.mark.parametrize("delegates", [(), ("--inline-delegates",)], ids=["segments", "inline"])
def test_damaged_payloads_are_refused(delegates, tmp_path):
    out = tmp_path / "m.pte"
    lower(sample("conv_relu_tan"), out, "--backend", "xnnpack", *delegates)
    sound = depute("show", out)
    assert "Conv2d(" in sound.stdout
    whole = out.read_bytes()
    magic = whole.index(MAGIC)
    for offset, message in ((0, "byte 4: not a payload of XNNPACK"), (6, "byte 10: a flatbuffer"), (14, "byte 18:"), (28, "flatbuffer: ")):
        damaged = bytearray(whole)
        damaged[magic + offset + 2] ^= 0xFF
        out.write_bytes(damaged)
        run = depute("show", out)
        assert run.code == 1 and len(run.diagnostics) == 1 and not run.stdout
        assert f"{out}: delegate 0 of forward: {message}" in run.diagnostics[0]


def changed(whole, dice):
    """One number of the payload's flatbuffer is another one."""
    start = whole.index(MAGIC) - 4 + 32
    (size,) = struct.unpack_from("<I", whole, start - 32 + 14)
    width = dice.choice((1, 4))
    place = start + dice.randrange(0, size // width) * width
    old = int.from_bytes(whole[place : place + width], "little")
    new = dice.choice((old + 1, old - 1, 0, dice.randrange(8))) % (1 << (8 * width))
    return whole[:place] + new.to_bytes(width, "little") + whole[place + width :]


@pytest.mark.parametrize("name", ["conv_relu_tan", "qconv", "attn", "mlp"])
def test_verdicts_are_those_of_the_runtime(name, tmp_path):
    """What the verifier takes loads and runs; of what it refuses the runtime refuses much, and the rest it does not define."""
    out = lowered(name, tmp_path)
    whole = out.read_bytes()
    case = read_cases(sample(name))[0]
    inputs = [t for t in case.inputs if isinstance(t, torch.Tensor)]
    dice = random.Random(name)
    seen = Counter()
    for _ in range(30):
        out.write_bytes(changed(whole, dice))
        told = subprocess.run([DEPUTE_TEXT, "payload", out], input="program\n", capture_output=True, text=True)
        is_sound = told.returncode == 0 and set(told.stdout.splitlines()) == {"sound"}
        outcome, message = run_apart(out, [(inputs, lambda _: "")])
        seen[is_sound, outcome == "ok"] += 1
        assert not is_sound or outcome == "ok", f"{told.stdout}{outcome}: {message}"
    assert seen[True, True] > 1 and seen[False, False] > 5, seen


@pytest.mark.parametrize("name", ["attn", "multi"])
def test_the_bytes_of_a_delegate_are_those_that_executorch_reads(name, tmp_path):
    pte, out = tmp_path / "m.pte", tmp_path / "p.bin"
    lower(sample(name), pte, "--backend", "xnnpack:max_nodes=3")
    program = deserialize_pte_binary(pte.read_bytes()).program
    for plan in program.execution_plan:
        for number, delegate in enumerate(plan.delegates):
            done = depute("payload", pte, "--method", plan.name, "--delegate", number, "-o", out)
            assert done.code == 0, done.stderr
            assert out.read_bytes() == program.backend_delegate_data[delegate.processed.index].data
    assert sum(len(plan.delegates) for plan in program.execution_plan) >= 2


def rewritten(pte, change):
    """The program as ExecuTorch's serializer writes it after a change."""
    file = deserialize_pte_binary(pte.read_bytes())
    change(file.program)
    pte.write_bytes(bytes(serialize_pte_binary(file)))


def test_devices_that_executorch_wrote(tmp_path):
    pte = tmp_path / "m.pte"
    lower(sample("mlp"), pte)

    def change(program):
        (plan,) = program.execution_plan
        plan.non_const_buffer_device = [schema.NonConstBufferDevice(1, schema.DeviceType.CUDA, 2)]
        planned = next(each.val for each in plan.values if isinstance(each.val, schema.Tensor) and each.val.allocation_info is not None)
        planned.extra_tensor_info = schema.ExtraTensorInfo(device_type=schema.DeviceType.CUDA, device_index=3)

    assert " on " not in depute("show", pte).stdout
    rewritten(pte, change)
    shown = depute("show", pte).stdout
    assert re.search(r"memory 1: \d+ bytes on cuda:2\n", shown) and len(re.findall(r"\] on cuda:3 = memory 1", shown)) == 1, shown


def test_a_schema_version_that_no_runtime_loads(tmp_path):
    pte = tmp_path / "m.pte"
    lower(sample("mlp"), pte)
    assert ", schema version 0\n" in depute("show", pte).stdout
    rewritten(pte, lambda program: setattr(program, "version", 1))
    done = depute("show", pte)
    assert done.code == 1 and "version: is 1; versions up to 0 are known" in done.stderr
