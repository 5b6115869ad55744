"""The files that lower writes: checked before any work, there together or not at all, inputs untouched."""

import json
import os
import re
import resource
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import numpy
import pytest
from harness import DEPUTE, ROOT, TIMEOUT, depute, depute_as_nobody, lower, sample

MLP = sample("mlp")
STOPPING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGALRM, signal.SIGXCPU, signal.SIGUSR1, signal.SIGUSR2, signal.SIGPROF]


@pytest.fixture
def model(tmp_path):
    """A copy of a model that a test may endanger."""
    copy = tmp_path / "m.pt2"
    copy.write_bytes(MLP.read_bytes())
    return copy


def contents(folder) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_unchanged(folder, before, run, code) -> None:
    assert run.code == code, run.stderr
    assert len(run.diagnostics) == 1, run.stderr
    assert contents(folder) == before


@pytest.mark.parametrize("name", ["m.pt2", "./m.pt2", "soft.pte", "hard.pte", "folder/../m.pt2", "other/m.pt2"])
@pytest.mark.parametrize("option", ["-o", "--report", "--debug-map", "--etrecord"])
def test_no_output_replaces_the_model(option, name, model, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "other").symlink_to(tmp_path)
    (tmp_path / "soft.pte").symlink_to(model)
    (tmp_path / "hard.pte").hardlink_to(model)
    if option == "--report":
        (tmp_path / "m.json").hardlink_to(model)
        name = "m.json"
    before = contents(tmp_path)
    outputs = () if option == "-o" else ("-o", tmp_path / "fine.pte")
    run = depute("lower", model, *outputs, option, f"{tmp_path}/{name}")
    assert_unchanged(tmp_path, before, run, 2)
    assert option in run.stderr and "is the input" in run.stderr


def test_no_output_replaces_the_file_of_a_method(model, tmp_path):
    before = contents(tmp_path)
    run = depute("lower", "--method", f"a={model}", "-o", model)
    assert_unchanged(tmp_path, before, run, 2)


def test_no_output_replaces_the_data_of_a_text(tmp_path):
    (tmp_path / "w.bin").write_bytes(bytes(8))
    text = tmp_path / "m.ir"
    text.write_text(
        'program\ndata "w": f32[2] = file("w.bin")\n'
        'method forward(%w: f32[2] = param "w", %x: f32[2]) {\n'
        "  %y: f32[2] = aten.add.Tensor(%x, %w)\n  return %y\n}\n"
    )
    before = contents(tmp_path)
    run = depute("lower", text, "-o", tmp_path / "w.bin")
    assert_unchanged(tmp_path, before, run, 2)


@pytest.mark.parametrize(
    "words",
    [
        "graph m.pt2 --quantize static --calibrate y.npz -o y.npz",
        "graph m.pt2 --kernels k.txt -o k.txt",
        "extract m.pt2 --module a --quantize static --calibrate y.npz -o p.ir --sample x.npz --inputs y.npz",
        "extract m.pt2 --module a --kernels k.ir -o k.ir",
        "diff m.pt2 m.pt2 --kernels k.html --page k.html",
        "tune m.pt2 --backend xnnpack --quantize static --calibrate y.npz --plan y.npz",
        "tune m.pt2 --method other=mm.pt2 --backend xnnpack --plan mm.pt2",
        "tune m.pt2 --kernels k.txt --backend xnnpack --plan k.txt",
        "tune m.pt2 --backend xnnpack --plugin k.txt --plan k.txt",
    ],
)
def test_no_output_of_a_tool_replaces_a_file_that_it_reads(words, model, tmp_path):
    (tmp_path / "mm.pt2").write_bytes(model.read_bytes())
    for name in ("x.npz", "y.npz"):
        numpy.savez(tmp_path / name, numpy.zeros((2, 16), "f4"))
    for name in ("k.txt", "k.ir", "k.html"):
        (tmp_path / name).write_text("shop::blend(Tensor a) -> Tensor\n")
    before = contents(tmp_path)
    run = depute(*re.sub(r"\w+\.\w+", lambda file: str(tmp_path / file[0]), words).split())
    assert_unchanged(tmp_path, before, run, 2)
    assert "is the input" in run.stderr, run.stderr


def test_no_output_replaces_redirected_input(model, tmp_path):
    before = model.read_bytes()
    with model.open("rb") as file:
        run = subprocess.run([DEPUTE, "lower", "-", "-o", model], stdin=file, capture_output=True, timeout=TIMEOUT)
    assert run.returncode == 2 and model.read_bytes() == before


def test_default_output_of_a_compiled_program(tmp_path):
    (tmp_path / "m.pte").write_bytes(b"older")
    run = depute("lower", tmp_path / "m.pte")
    assert run.code == 2 and "name of an output" in run.stderr
    assert (tmp_path / "m.pte").read_bytes() == b"older"


@pytest.mark.parametrize(
    "outputs",
    [
        ("-o", "a.json", "--report", "a.json"),
        ("-o", "a.json", "--report", "./a.json"),
        ("-o", "a.json", "--debug-map", "there/a.json"),
        ("-o", "a.ptd", "--ptd", "a.ptd"),
        ("-o", "a.pte", "--report", "r.json", "--report", "r.json"),
        ("-o", "a.pte", "--report", "r.json", "--debug-map", "r.json"),
        ("-o", "-", "--report", "-"),
        ("-o", "-", "--debug-map", "/proc/self/fd/1"),
    ],
    ids=" ".join,
)
def test_two_outputs_with_one_path(outputs, model, tmp_path):
    (tmp_path / "there").symlink_to(tmp_path)
    before = contents(tmp_path)
    named = [w if w.startswith("-") or w.startswith("/") else f"{tmp_path}/{w}" for w in outputs]
    run = depute("lower", model, *named)
    assert_unchanged(tmp_path, before, run, 2)
    assert "is also the output of" in run.stderr and not run.stdout


@pytest.mark.parametrize("option", ["-o", "--report", "--debug-map", "--etrecord"])
@pytest.mark.parametrize(
    "path, words",
    [("absent/a.json", "does not exist"), ("folder.json", "is a directory"), ("m.pt2/a.json", "m.pt2")],
)
def test_outputs_are_checked_before_any_work(option, path, words, model, tmp_path):
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "out.pte").write_bytes(b"older")
    before = contents(tmp_path)
    outputs = () if option == "-o" else ("-o", tmp_path / "out.pte")
    run = depute("lower", model, *outputs, option, tmp_path / path, "--dump-after", "read")
    assert_unchanged(tmp_path, before, run, 1)
    assert words in run.stderr and not run.stdout


@pytest.fixture
def open_folder():
    """A folder that other users can enter, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to become another user")
@pytest.mark.parametrize("kind", ["folder", "file"])
def test_write_protected_output(kind, open_folder):
    (open_folder / "m.pt2").write_bytes(MLP.read_bytes())
    folder = open_folder / "protected"
    folder.mkdir()
    out = folder / "out.pte"
    if kind == "file":
        out.write_bytes(b"older")
        out.chmod(0o444)
        folder.chmod(0o777)
    else:
        folder.chmod(0o555)
    before = contents(open_folder)
    run = depute_as_nobody("lower", open_folder / "m.pt2", "-o", out, "--dump-after", "read")
    assert_unchanged(open_folder, before, run, 1)
    assert "Permission denied" in run.stderr and not run.stdout


def test_unknown_step_is_refused_before_any_work(model, tmp_path):
    out = tmp_path / "m.pte"
    out.write_bytes(b"older")
    run = depute("lower", model, "--dump-after", "foo")
    assert run.code == 2 and "there is no step 'foo'" in run.stderr and "fold-constants" in run.stderr
    assert out.read_bytes() == b"older"


def test_every_step_that_is_named_can_be_dumped(model, tmp_path):
    steps = depute("lower", model, "--dump-after", "foo").stderr.split("the steps are ")[1].strip().split(", ")
    assert len(steps) > 15
    for step in steps:
        run = lower(model, tmp_path / "out.pte", "--quiet", "--dump-after", step)
        assert run.stdout.count("; after ") == 1 and run.stdout.startswith(f"; after {step}\n")


@pytest.mark.parametrize("existed", [False, True])
def test_late_failure_leaves_nothing(existed, model, tmp_path):
    """The disk is full when the last file is written: none appears, and old ones stay."""
    outputs = {"-o": "a.pte", "--ptd": "a.ptd", "--report": "a.json", "--debug-map": "b.json", "--etrecord": "c.etrecord"}
    if existed:
        for name in outputs.values():
            (tmp_path / name).write_text("older " + name)
    before = contents(tmp_path)
    for limit in (100, 2_000, 7_000):
        run = subprocess.run(
            [DEPUTE, "lower", model, "--backend", "xnnpack"]
            + [word for option, name in outputs.items() for word in (option, tmp_path / name)],
            capture_output=True,
            timeout=TIMEOUT,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        )
        assert run.returncode == 1, run.stderr
        assert b"error[write]" in run.stderr and b"File too large" in run.stderr
        assert contents(tmp_path) == before


def test_unmet_requirement_writes_no_program(model, tmp_path):
    before = contents(tmp_path)
    maps = "--debug-map", tmp_path / "map.json", "--ptd", tmp_path / "data.ptd"
    run = depute("lower", model, "--require", "coverage>=99%", *maps)
    assert run.code == 3 and contents(tmp_path) == before
    run = depute("lower", model, "--require", "coverage>=99%", *maps, "--report", tmp_path / "r.json")
    assert run.code == 3 and set(contents(tmp_path)) == {*before, "r.json"}
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["unmet"] == ["coverage>=99% (is 0.0%)"] and report["output"] is None


def test_markdown_report(tmp_path):
    """What a name holds cannot become a tag, a link or a column."""
    model = tmp_path / "a|b <i>[c](d)`.ir"
    calls = "relu.default(%x)", "tan.default(%x)", "tan.default(%n0)"
    nodes = "".join(f"  %n{i}: f32[4] = aten.{call}\n" for i, call in enumerate(calls))
    model.write_text(f"program\nmethod forward(%x: f32[4]) {{\n{nodes}  return %n0, %n1, %n2\n}}\n")
    require = "--require", "coverage>=99%"
    run = depute("lower", model, "--backend", "xnnpack", *require, "--report", tmp_path / "r.md", "-o", tmp_path / "m.pte")
    assert run.code == 3
    lines = (tmp_path / "r.md").read_text().splitlines()
    assert lines[0].endswith("/a\\|b \\<i\\>\\[c\\](d)\\`.ir: 33.3 % of 3 nodes in 1 delegate")
    assert "**Not met:** coverage\\>=99% (is 33.3%)" in lines
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 3 and table[2].startswith("| `aten.tan.default` | 2 | xnnpack: ")


def test_markdown_tells_how_many_kinds_it_leaves_out(tmp_path):
    ops = "tan sinh cosh asin acos atan asinh acosh atanh erf erfc lgamma digamma log1p expm1 trunc round sign isnan isinf logical_not frac".split()
    model = tmp_path / "m.ir"
    type_of = {op: "bool" if op.startswith(("is", "logical")) else "f32" for op in ops}
    nodes = "".join(f"  %{op}: {type_of[op]}[4] = aten.{op}.default(%x)\n" for op in ops)
    model.write_text(f"program\nmethod forward(%x: f32[4]) {{\n{nodes}  return {', '.join('%' + op for op in ops)}\n}}\n")
    run = depute("explain", model, "--backend", "xnnpack", "--report", tmp_path / "r.md", "--report", tmp_path / "r.json")
    assert run.code == 0, run.stderr
    kinds = {node["op"] for node in json.loads((tmp_path / "r.json").read_text())["nodes"] if node["owner"] != "xnnpack"}
    text = (tmp_path / "r.md").read_text()
    assert text.count("\n| `") == 20
    more = len(kinds) - 20
    assert more > 0 and f"\n{more} kind{'' if more == 1 else 's'} more are not listed.\n" in text


def test_sarif_report(tmp_path):
    """A result a line of the model, op and reason, where code hosts look for it."""
    run = depute("lower", sample("conv_relu_tan"), "--backend", "xnnpack", "-o", tmp_path / "m.pte",
                 "--report", tmp_path / "r.sarif", "--report", tmp_path / "r.json")  # fmt: skip
    assert run.code == 0
    log = json.loads((tmp_path / "r.sarif").read_text())
    assert log["version"] == "2.1.0" and len(log["runs"]) == 1
    results = log["runs"][0]["results"]
    nodes = json.loads((tmp_path / "r.json").read_text())["nodes"]
    left = [node for node in nodes if node["owner"] == "portable"]
    assert len(left) == len(results) == 1
    place = results[0]["locations"][0]["physicalLocation"]
    file, line = left[0]["source"].split(" ")[0].rsplit(":", 1)
    assert place["artifactLocation"]["uri"] == file and place["region"]["startLine"] == int(line)
    assert results[0]["ruleId"].startswith("xnnpack/") and results[0]["level"] == "note"
    assert left[0]["op"] in results[0]["message"]["text"]
    rules = [rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]]
    assert rules == [results[0]["ruleId"]]
    spaced = tmp_path / "two words.ir"
    spaced.write_text("program\nmethod forward(%x: f32[4]) {\n  %t: f32[4] = aten.tan.default(%x)\n  return %t\n}\n")
    run = depute("lower", spaced, "--require", "coverage>=99%", "--report", tmp_path / "s.sarif", "-o", tmp_path / "s.pte")
    assert run.code == 3
    (result,) = json.loads((tmp_path / "s.sarif").read_text())["runs"][0]["results"]
    assert result["level"] == "error" and result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("/two%20words.ir")
    assert "region" not in result["locations"][0]["physicalLocation"]  # lines begin with 1


def test_each_line_of_the_model_has_a_result_of_its_own(tmp_path):
    """With the number of nodes there, of one op and one reason."""
    lines = 3, 3, 7, 12
    nodes = "".join(f'  %n{i + 1}: f32[4] = aten.tan.default(%n{i}) from "model.py":{line}\n' for i, line in enumerate(lines))
    model = tmp_path / "m.ir"
    model.write_text(f"program\nmethod forward(%n0: f32[4]) {{\n{nodes}  return %n4\n}}\n")
    assert depute("explain", model, "--backend", "xnnpack", "--report", tmp_path / "r.sarif").code == 0
    results = json.loads((tmp_path / "r.sarif").read_text())["runs"][0]["results"]
    told = [(each["locations"][0]["physicalLocation"]["region"]["startLine"], re.search(r"\((.*?)\)", each["message"]["text"])[1]) for each in results]
    assert told == [(3, "2 nodes"), (7, "1 node"), (12, "1 node")]


@pytest.mark.parametrize("number", STOPPING, ids=lambda s: s.name)
def test_a_stopped_run_leaves_no_files(number, model, tmp_path):
    """The run waits for who reads its report, with the program written aside."""
    pipe = tmp_path / "report.json"
    os.mkfifo(pipe)
    # What starts the tests may have them ignore the signal, as a shell does with what runs in its background.
    heed = lambda: signal.signal(number, signal.SIG_DFL)  # noqa: E731
    run = subprocess.Popen([DEPUTE, "lower", model, "--report", pipe], stderr=subprocess.PIPE, cwd=ROOT, preexec_fn=heed)
    deadline = time.monotonic() + 20
    while not list(tmp_path.glob(".depute-*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert list(tmp_path.glob(".depute-*")), "no temporary file was seen"
    run.send_signal(number)
    assert run.wait(timeout=20) == -number
    assert {path.name for path in tmp_path.iterdir()} == {"m.pt2", "report.json"}


def test_link_as_output_keeps_being_one(model, tmp_path):
    real, link = tmp_path / "real.pte", tmp_path / "link.pte"
    real.write_bytes(b"older")
    real.chmod(0o600)
    link.symlink_to(real)
    lower(model, link)
    assert link.is_symlink() and real.read_bytes()[4:8] == b"ET12"
    assert real.stat().st_mode & 0o777 == 0o600


def test_program_to_standard_output(model, tmp_path):
    lower(model, tmp_path / "file.pte", "--backend", "xnnpack")
    command = [DEPUTE, "lower", model, "--backend", "xnnpack", "-o", "-"]
    run = subprocess.run(command, capture_output=True, timeout=TIMEOUT)
    assert run.returncode == 0 and run.stdout == (tmp_path / "file.pte").read_bytes()
    assert b"Total delegated subgraphs: 1" in run.stderr


def test_program_through_pipes(model, tmp_path):
    lower(model, tmp_path / "file.pte")
    with model.open("rb") as file:
        command = f"cat | {DEPUTE} lower - -o - --quiet | cat"
        run = subprocess.run(command, shell=True, stdin=file, capture_output=True, timeout=TIMEOUT)
    assert run.stdout == (tmp_path / "file.pte").read_bytes() and not run.stderr


def test_report_to_standard_output(model, tmp_path):
    run = lower(model, tmp_path / "out.pte", "--report", "-")
    assert json.loads(run.stdout)["totals"] and "Total delegated" in run.stderr


def test_devices_as_outputs(model):
    run = depute("lower", model, "-o", "/dev/null", "--debug-map", "/dev/null")
    assert run.code == 0, run.stderr
    assert not os.path.isfile("/dev/null")


def test_another_name_of_standard_output(model, tmp_path):
    """Not /dev/stdout: a compiler that is wrong would replace that link on the machine of who tests it."""
    with (tmp_path / "out").open("wb") as out:
        command = [DEPUTE, "lower", model, "-o", "/proc/self/fd/1"]
        subprocess.run(command, stdout=out, stderr=subprocess.DEVNULL, check=True, timeout=TIMEOUT)
    assert (tmp_path / "out").read_bytes()[4:8] == b"ET12"


def test_full_device(model):
    run = depute("lower", model, "-o", "/dev/full")
    assert run.code == 1 and "No space left" in run.stderr


def test_closed_standard_output_is_no_output_file(model, tmp_path):
    out = tmp_path / "out.pte"
    lower(model, tmp_path / "expected.pte")
    run = subprocess.run(f"{DEPUTE} lower {model} -o {out} >&-", shell=True, capture_output=True, timeout=TIMEOUT)
    assert run.returncode == 1 and b"standard output" in run.stderr
    assert out.read_bytes() == (tmp_path / "expected.pte").read_bytes()
    run = subprocess.run(f"{DEPUTE} lower {model} -o - >&-", shell=True, capture_output=True, timeout=TIMEOUT)
    assert run.returncode == 1 and b"not open for writing" in run.stderr
