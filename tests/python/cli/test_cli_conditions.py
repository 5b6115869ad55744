"""--require and --lock: builds that must not become worse, or other than they were."""

import json
import re

import pytest
from harness import depute, sample

CONV = sample("conv_relu_tan")

# Two layers around an op that XNNPACK does not take.
PROGRAM = """program
data "w": f32[4, 4] = random(1)
data "v": f32[4, 4] = random(2)
method forward(%w: f32[4, 4] = param "w", %v: f32[4, 4] = param "v", %x: f32[2, 4]) {
  %a: f32[2, 4] = aten.mm.default(%x, %w) from "model.py":3
  %b: f32[2, 4] = aten.tan.default(%a) from "model.py":4
  %c: f32[2, 4] = aten.mm.default(%b, %v) from "model.py":5
  %d: f32[2, 4] = aten.relu.default(%c) from "model.py":6
  return %d
}
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.ir"
    path.write_text(PROGRAM)
    return path


def run_lower(model, *options, backend="xnnpack"):
    return depute("lower", model, "--backend", backend, "-o", model.parent / "m.pte", *options)


# What the program is, told by the report, and a condition at that limit.
LIMITS = {
    "coverage>={}%": lambda report: report["totals"]["coverage_percent"],
    "coverage:xnnpack>={}%": lambda report: report["totals"]["coverage_percent"],
    "delegates<={}": lambda report: len(report["delegates"]),
    "partitions<={}": lambda report: len(report["delegates"]),
    "non_delegated_macs<={}": lambda report: report["totals"]["non_delegated_macs"],
    "boundary_bytes<={}": lambda report: sum(each["boundary_bytes"] for each in report["delegates"]),
    "memory<={}": lambda report: report["planned"]["memory"],
    "file_size<={}": lambda report: report["output_bytes"],
}


@pytest.mark.parametrize("condition", LIMITS, ids=lambda each: each.split("{")[0])
def test_a_condition_holds_at_its_limit_and_not_beyond(condition, model):
    backend = "xnnpack:off=node:c"  # a product is left, so that it has multiplications
    report = model.parent / "r.json"
    assert run_lower(model, "--report", report, backend=backend).code == 0
    at = LIMITS[condition](json.loads(report.read_text()))
    assert at > 0
    output = model.parent / "m.pte"
    output.unlink()
    run = run_lower(model, "--require", condition.format(at), backend=backend)
    assert run.code == 0 and output.exists(), run.stderr
    output.unlink()
    beyond = at + 1 if ">=" in condition else at - 1
    run = run_lower(model, "--require", condition.format(beyond), "--report", report, backend=backend)
    assert run.code == 3 and not output.exists()
    told = json.loads(report.read_text())
    assert [text.split(" (is ")[0] for text in told["unmet"]] == [condition.format(beyond)]
    assert told["output"] is None
    assert re.search(r"\(is \d", told["unmet"][0]) and told["unmet"][0] in run.stderr


def test_figures_are_those_of_the_program(model):
    """Counted by hand: 2x4 floats go in and out of two delegates; a product of 2x4 and 4x4 is left."""
    report = model.parent / "r.json"
    run_lower(model, "--report", report)
    told = json.loads(report.read_text())
    assert told["totals"]["boundary_bytes"] == 4 * 2 * 4 * 4 and told["totals"]["non_delegated_macs"] == 0
    assert told["planned"]["kernels"] == ["aten::tan.out"]
    run_lower(model, "--report", report, backend="xnnpack:off=node:c")
    assert json.loads(report.read_text())["totals"]["non_delegated_macs"] == 2 * 4 * 4


def test_all_conditions_are_told_at_once(model):
    rules = "coverage>=99%,memory<=1,file_size<=1K,kernels<=aten::add.out aten::mul*,delegates<=9"
    report = model.parent / "r.sarif"
    run = run_lower(model, "--require", rules, "--report", report)
    assert run.code == 3 and run.stderr.count("not met") == 4
    assert "kernels<=aten::add.out aten::mul* (calls aten::tan.out)" in run.stderr
    results = json.loads(report.read_text())["runs"][0]["results"]
    assert sum(each["ruleId"] == "require" for each in results) == 4
    assert sorted(path.name for path in model.parent.iterdir()) == ["m.ir", "r.sarif"]


@pytest.mark.parametrize("allowed", ["aten::tan.out", "aten::*", "x::y\n  *tan*\n"])
def test_kernels_inside_the_list(allowed, model):
    assert run_lower(model, "--require", f"kernels<={allowed}").code == 0


def test_sizes_count_at_their_largest(tmp_path):
    model = tmp_path / "m.ir"
    model.write_text(
        "program\ndim s0 in [1, inf]\nmethod forward(%x: f32[s0, 4]) {\n"
        "  %y: f32[s0, 4] = aten.relu.default(%x)\n  return %y\n}\n"
    )
    run = run_lower(model, "--bound", "s0=1..8", "--require", "boundary_bytes<=256")
    assert run.code == 0, run.stderr
    run = run_lower(model, "--bound", "s0=1..8", "--require", "boundary_bytes<=255")
    assert run.code == 3 and "(is 256 bytes)" in run.stderr


SEVERAL_OWNERS = """program
dim s0 in [1, inf]
data "w": f32[8, 4] = random(1)
data "s": f32[4, 8] = random(2)
method forward(%w: f32[8, 4] = param "w", %s: f32[4, 8] = buffer "s", %x: f32[s0, 4], %deep: bool[]) {
  graph @yes(%a: f32[s0, 8]) {
    %b: f32[s0, 8] = aten.relu.default(%a) #1
    return %b
  }
  graph @no(%c: f32[s0, 8]) {
    %d: f32[s0, 8] = aten.cumsum.default(%c, 0) #2
    return %d
  }
  %fc: f32[s0, 8] = aten.linear.default(%x, %w) #3
  %tan: f32[s0, 8] = aten.tan.default(%fc) #4
  %cumsum: f32[s0, 8] = aten.cumsum.default(%tan, 0) #5
  %add: f32[s0, 8] = aten.add.Tensor(%cumsum, %fc) #6
  %held: f32[4, 8] = aten.tan.default(%s) #7
  %one: f32[4, 8] = aten.cumsum.default(%held, 0) #8
  %stored: f32[4, 8] = aten.copy_.default(%s, %one) #9
  %in: f32[s0, 8] = higher_order.cond(%deep, @yes, @no, [%add]) #10
  return %fc, %add, %held, %in
}
"""


def test_what_goes_over_the_borders_of_several_backends(tmp_path):
    """Counted by hand: for s0 = 2: 32 bytes of %x, 128 of %s and %held, 64 each of the others."""
    model = tmp_path / "m.ir"
    model.write_text(SEVERAL_OWNERS)
    both = ("--backend", "xnnpack", "--backend", "demo", "--report", tmp_path / "r.json", "--report", tmp_path / "r.md")
    run = depute("lower", model, *both, "--bound", "s0=1..2", "-o", tmp_path / "m.pte")
    lines = run.stdout.splitlines()
    at = lines.index("Over the borders of delegates at each call:") + 1
    want = {
        ("caller", "xnnpack"): (1, 32), ("xnnpack", "demo"): (1, 64), ("demo", "portable"): (2, 192), ("portable", "xnnpack"): (2, 128),
        ("xnnpack", "xnnpack"): (1, 64), ("xnnpack", "caller"): (2, 128), ("xnnpack", "portable"): (2, 128),
        ("data", "demo"): (1, 128), ("demo", "caller"): (1, 128),
    }  # fmt: skip
    told = {(a, b): (int(count), int(size)) for a, b, count, size in (re.fullmatch(r"  (\w+) -> (\w+): (\d) tensors?, (\d+) bytes", line).groups() for line in lines[at : at + len(want)])}
    assert told == want
    boundaries = json.loads((tmp_path / "r.json").read_text())["boundaries"]
    assert {(each["from"], each["to"]): (each["tensors"], each["bytes"]) for each in boundaries} == want
    table = re.findall(r"^\| `(\w+)` to `(\w+)` \| (\d) \| (\d+) bytes \|$", (tmp_path / "r.md").read_text(), re.MULTILINE)
    assert {(a, b): (int(count), int(size)) for a, b, count, size in table} == want
    assert "Over the borders" not in depute("lower", model, *both[:2], "--bound", "s0=1..2", "-o", tmp_path / "m.pte").stdout
    open_sizes = depute("explain", model, *both[:4], "--json").stdout
    assert {each["bytes"] for each in json.loads(open_sizes)["boundaries"]} == {None, 128}


@pytest.mark.parametrize(
    "rule, words",
    [
        ("coverge>=95%", "did you mean coverage?"),
        ("memroy<=4M", "did you mean memory?"),
        ("coverage:xnpack>=5", "the backend 'xnpack' is not asked"),
        ("file_size:xnnpack<=5", "cannot read 'file_size:xnnpack<=5'"),
        ("coverage:>=5", "cannot read"),
        ("kernels>=aten::add.out", "cannot read"),
        ("kernels<=", "cannot read"),
        ("memory<=5X", "cannot read"),
        ("partitions<=2K", "cannot read"),
    ],
)
def test_conditions_that_are_none(rule, words, model):
    run = run_lower(model, "--require", rule)
    assert run.code == 2 and words in run.stderr and not (model.parent / "m.pte").exists()


# --- the lock


@pytest.fixture
def locked(model):
    """The model with the lock of a build."""
    run = run_lower(model, "--lock", model.parent / "m.lock", "--lock-update")
    assert run.code == 0, run.stderr
    (model.parent / "m.pte").unlink()
    return model


def check(model, *options, **others):
    return run_lower(model, "--lock", model.parent / "m.lock", *options, **others)


def test_an_unchanged_build_passes(locked):
    lock = (locked.parent / "m.lock").read_text()
    assert check(locked, "--jobs", 1).code == 0
    # Where the model lies, its lines and what is written beside it are no part of the plan.
    moved = locked.parent / "other" / "n.ir"
    moved.parent.mkdir()
    moved.write_text(PROGRAM.replace('"model.py":', '"/elsewhere/model.py":1'))
    again = moved.parent / "m.lock"
    run = run_lower(moved, "--lock", again, "--lock-update", "--inline-delegates", "--jobs", 7)
    assert run.code == 0 and again.read_text() == lock


CHANGES = {
    "weight": ('"v": f32[4, 4] = random(2)', '"v": f32[4, 4] = random(3)', ['forward, xnnpack1, "v": the weight\'s bytes changed']),
    "shape": ("[2, ", "[3, ", ["forward, xnnpack0, %a: the node is %a: f32[3, 4] = ", "was %a: f32[2, 4] = ", "(model.py:3)"]),
    "op": ("aten.relu.default(%c)", "aten.tanh.default(%c)", ["%d: the node is %d: f32[2, 4] = aten.tanh.default(%c), was"]),
    "node": (
        "  return %d",
        '  %e: f32[2, 4] = aten.neg.default(%d) from "model.py":7\n  return %e',
        ["forward, xnnpack1, %e: the node is new", "(model.py:7)"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_what_changed_is_named(what, locked):
    before, now, words = CHANGES[what]
    locked.write_text(PROGRAM.replace(before, now))
    report = locked.parent / "r.json"
    run = check(locked, "--report", report)
    assert run.code == 3 and not (locked.parent / "m.pte").exists()
    assert run.stderr.startswith("error[lock]: ") and all(each in run.stderr for each in words), run.stderr
    told = json.loads(report.read_text())["lock_changes"]
    assert told and all(each["text"] in run.stderr for each in told)
    assert check(locked, "--lock-update").code == 0 and check(locked).code == 0


def test_an_option_and_a_pin_are_named(locked):
    run = check(locked, backend="xnnpack:layer_norm=true")
    assert run.code == 3 and "the option --backend xnnpack:layer_norm=true is new" in run.stderr
    assert "in 2 places" in run.stderr  # the plan itself is the same
    run = check(locked, backend="xnnpack:off=node:d")
    assert run.code == 3 and "the option --backend xnnpack:off=node:d is new" in run.stderr
    assert "forward, xnnpack1, %d: went to ExecuTorch's kernels (model.py:6)" in run.stderr
    assert "%c" not in run.stderr  # it stays where it was


def test_another_order_of_the_options_is_named(model):
    """It is the order in which backends are asked."""
    lock = "--lock", model.parent / "m.lock"
    words = "-o", model.parent / "m.pte", *lock
    demo = "--backend", "demo:min_nodes=1000"
    xnnpack = "--backend", "xnnpack"
    assert depute("lower", model, *demo, *xnnpack, *words, "--lock-update").code == 0
    assert depute("lower", model, *demo, *xnnpack, *words).code == 0
    run = depute("lower", model, *xnnpack, *demo, *words)
    assert run.code == 3 and "in 1 place\n  the options have another order\n" in run.stderr


def test_ranges_of_sizes_stand_in_the_lock(tmp_path):
    model, lock = tmp_path / "m.ir", tmp_path / "m.lock"
    method = "method forward(%x: f32[u0]) {\n  %y: f32[u0] = aten.tan.default(%x)\n  return %y\n}\n"
    model.write_text(f"program\ndim u0 in [-inf, 8]\ndim u1 in [2, inf]\n\n{method}")
    run = depute("lower", model, "-o", tmp_path / "m.pte", "--lock", lock, "--lock-update")
    assert run.code == 0 and '\nsize "u0": [-inf, 8]\nsize "u1": [2, inf]\n' in lock.read_text(), run.stderr


def test_a_partition_is_found_again_under_another_number(locked):
    locked.write_text(PROGRAM.replace("aten.mm.default(%x, %w)", "aten.tan.default(%x)"))
    run = check(locked, "--report", locked.parent / "r.md", "--report", locked.parent / "r.sarif")
    assert run.code == 3 and "%c" not in run.stderr and "%d" not in run.stderr
    assert "forward, xnnpack0: the partition is gone" in run.stderr
    assert "forward, xnnpack0, %a: went to ExecuTorch's kernels (model.py:3)" in run.stderr
    assert "the partition is gone" in (locked.parent / "r.md").read_text()
    results = json.loads((locked.parent / "r.sarif").read_text())["runs"][0]["results"]
    places = [each["locations"][0]["physicalLocation"] for each in results if each["ruleId"] == "lock"]
    assert {"artifactLocation": {"uri": "model.py"}, "region": {"startLine": 3}} in places


def test_lock_and_conditions_fail_together(locked):
    locked.write_text(PROGRAM.replace("random(2)", "random(3)"))
    run = check(locked, "--require", "coverage>=99%,file_size<=1")
    assert run.code == 3 and run.stderr.count("not met") == 2 and "error[lock]" in run.stderr
    assert not (locked.parent / "m.pte").exists()


def test_a_condition_that_fails_writes_no_lock(model):
    lock = model.parent / "m.lock"
    for rule in "coverage>=99%", "file_size<=1":
        assert run_lower(model, "--lock", lock, "--lock-update", "--require", rule).code == 3
        assert [path.name for path in model.parent.iterdir()] == ["m.ir"]


def test_a_version_is_named(locked):
    lock = locked.parent / "m.lock"
    lock.write_text(lock.read_text().replace('made by "depute ', 'made by "depute 0.0.'))
    run = check(locked)
    assert run.code == 3 and "made by depute" in run.stderr and "in 1 place\n" in run.stderr


def test_wrong_locks(locked):
    lock = locked.parent / "m.lock"
    text = lock.read_text()
    assert check(locked, "--lock", "again").code == 2
    assert run_lower(locked, "--lock-update").code == 2
    assert run_lower(locked, "--lock", locked, "--lock-update").code == 2  # it is the input
    assert run_lower(locked, "--lock", locked.parent / "m.pte").code in (1, 2)
    run = run_lower(locked, "--lock", locked.parent / "absent")
    assert run.code == 1 and "--lock-update writes it" in run.stderr
    edited = text.replace("aten.tan.default", "aten.cos.default")
    ends = [text[:at] for at in range(0, len(text) - 1, 7)]
    others = ["", "\n" * 9, "depute lock 3\n", "\0" * 64, 'depute lock 2\nmade by "\n', 'depute lock 2\noption "\\q"\n', text + "x"]
    for wrong in [edited, *others, *ends]:
        lock.write_text(wrong)
        run = check(locked)
        assert run.code in (1, 3) and len(run.diagnostics) == 1, wrong
    lock.write_text(edited)
    run = check(locked)
    assert run.code == 1 and re.search(r"m\.lock:\d+: the lines below do not have this hash", run.stderr)


def test_a_real_model(tmp_path):
    options = "--backend", "xnnpack", "-o", tmp_path / "m.pte", "--lock", tmp_path / "m.lock"
    assert depute("lower", CONV, *options, "--lock-update").code == 0
    assert depute("lower", CONV, *options).code == 0
    run = depute("lower", sample("mlp"), *options)
    assert run.code == 3 and "%convolution: the node is gone" in run.stderr
    assert "and 1 more; --report lists all" in run.stderr


def test_memory_is_what_the_file_asks_for(model):
    report = model.parent / "r.json"
    assert run_lower(model, "--report", report).code == 0
    sizes = re.findall(r"^  memory \d+: (\d+) bytes$", depute("show", model.parent / "m.pte").stdout, re.MULTILINE)
    assert json.loads(report.read_text())["planned"]["memory"] == sum(map(int, sizes)) > 0
