"""Backends that are programs of their own: the same bytes as in process, on any number of processes."""

import json
import os
import subprocess
import sys
import time

import pytest
from harness import DEPUTE, MODELS, ROOT, sample

SERVER = DEPUTE.parent / "tests" / "worker" / "depute-backend-worker"
LISTING = ROOT / "examples" / "backend_in_python" / "depute-backend-listing"
MANY = "program\nmethod forward(%x: f32[2, 3]) {\n" + "".join(
    f"  %a{i}: f32[2, 3] = aten.tanh.default(%{'x' if i == 0 else f't{i - 1}'}) #{2 * i + 1}\n"
    f"  %t{i}: f32[2, 3] = aten.tan.default(%a{i}) #{2 * i + 2}\n"
    for i in range(12)
) + "  return %t11\n}\n"
SUM = """program
method forward(%x: f32[2], %y: f32[2], %n: i64[2]) {
  %m: f32[2] = aten.mul.Tensor(%x, %y) #1
  %r: f32[2] = aten.relu.default(%m) #2
  %t: f32[2] = aten.tan.default(%r) #3
  %s: f32[2] = aten.add.Tensor(%t, %y) #4
  %i: i64[2] = aten.add.Tensor(%n, %n) #5
  return %s, %i
}
"""


def run(*words, path=None, code=0):
    env = {**os.environ, **({"PATH": f"{path}:{os.environ['PATH']}"} if path else {})}
    done = subprocess.run([DEPUTE, *map(str, words)], capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The built-in backends as programs, under names that are not built in."""
    folder = tmp_path_factory.mktemp("served")
    for name in ("xnnpack", "demo"):
        (folder / f"depute-backend-{name}").symlink_to(SERVER)
    return folder


def lowered(model, backend, out, *more, path=None):
    run("lower", model, "--backend", backend, "-o", out, *more, path=path)
    return out.read_bytes()


def models():
    found = [sample(name) for name in ("conv_relu_tan",)] + sorted((ROOT / "tests/models/samples").glob("*.pt2"))[:12]
    return found + [path for path in [MODELS / "mobilenet_v2.pt2", MODELS / "lstm.pt2"] if path.exists()]


@pytest.mark.parametrize("model", models(), ids=lambda path: path.stem)
def test_the_xnnpack_backend_gives_the_same_bytes_in_process_and_as_a_program(served, model, tmp_path):
    here = lowered(model, "xnnpack", tmp_path / "here.pte")
    there = lowered(model, f"exec:{served}/depute-backend-xnnpack", tmp_path / "there.pte")
    assert here == there


@pytest.mark.parametrize("change", ["touch", "truncate -s 4096", "truncate -s 0", "cp --remove-destination {}/other.pt2"])
def test_a_model_that_changes_while_a_worker_runs_is_an_error(served, change, tmp_path):
    (tmp_path / "m.pt2").write_bytes(sample("conv_relu_tan").read_bytes())
    (tmp_path / "other.pt2").write_bytes(sample("mlp").read_bytes())
    action = f"{change.format(tmp_path)} {tmp_path}/m.pt2"
    changes = f"case \"$line\" in *preprocess*) {action};; esac"
    script = f"while read -r line; do {changes}; printf '%s\\n' \"$line\"; done | {served}/depute-backend-xnnpack"
    (tmp_path / "changer").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "changer").chmod(0o700)
    before = {path.name for path in tmp_path.iterdir()}
    told = run("lower", tmp_path / "m.pt2", "--backend", f"exec:{tmp_path}/changer", "-o", tmp_path / "m.pte", "--no-sandbox", code=1)
    assert told.startswith("error[") and ("truncate" in change or "m.pt2: the file changed while it was read" in told)
    assert {path.name for path in tmp_path.iterdir()} <= before


# Stands between the compiler and the worker: keeps the programs that it is given, and answers without `forms`
# where that is asked for.
BETWEEN = """#!/usr/bin/env python3
import json, subprocess, sys
from pathlib import Path
worker = subprocess.Popen([{worker!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for line in sys.stdin:
    request = json.loads(line)
    for each in request.get("partitions", [request]):
        place = each.get("program", {{}})
        if place.get("form") == "compact":
            bytes_ = Path(place["file"]).read_bytes()[place["at"]:][:place["size"]]
            Path({folder!r}, f"{{request['call']}}.compact").write_bytes(bytes_)
    worker.stdin.write(line)
    worker.stdin.flush()
    for _ in request.get("partitions", [0]):
        answer = json.loads(worker.stdout.readline())
        if {keeps_text}:
            answer.pop("forms", None)
        print(json.dumps(answer), flush=True)
"""


@pytest.mark.parametrize("model", [sample("conv_relu_tan"), "many"], ids=["conv_relu_tan", "many"])
def test_programs_come_in_the_form_that_the_worker_reads(served, model, tmp_path):
    if model == "many":
        model = tmp_path / "many.ir"
        model.write_text(MANY)
    here = lowered(model, "xnnpack", tmp_path / "here.pte")
    program = tmp_path / "depute-backend-between"
    for keeps_text in (True, False):
        worker = str(served / "depute-backend-xnnpack")
        program.write_text(BETWEEN.format(worker=worker, folder=str(tmp_path), keeps_text=keeps_text))
        program.chmod(0o755)
        assert here == lowered(model, f"exec:{program}", tmp_path / "there.pte", "--jobs", 1, "--no-sandbox")
        assert (tmp_path / "partition.compact").exists() != keeps_text
    # People read it as text.
    normalized = run("lower", model, "--backend", "xnnpack", "-o", tmp_path / "m.pte", "--quiet", "--dump-after", "normalize")
    told = run("show", tmp_path / "partition.compact")
    calls = [line.split(" #")[0] for line in normalized.splitlines() if " = aten." in line]
    assert calls and calls == [line.split(" #")[0] for line in told.splitlines() if " = aten." in line]
    assert "method forward" in run("show", tmp_path / "preprocess.compact")


def test_options_reach_it(served, tmp_path):
    model = sample("conv_relu_tan")
    for options in ("weights=f16", "off=op:aten.convolution.default", "mode=fx"):
        here = lowered(model, f"xnnpack:{options}", tmp_path / "here.pte")
        assert here == lowered(model, f"exec:{served}/depute-backend-xnnpack:{options}", tmp_path / "there.pte")
    assert lowered(model, f"forward:exec:{served}/depute-backend-xnnpack", tmp_path / "there.pte") == lowered(
        model, "forward:xnnpack", tmp_path / "here.pte"
    )
    told = run("lower", model, "--backend", f"exec:{served}/depute-backend-xnnpack:fast=1", "-o", tmp_path / "m.pte", code=2)
    assert "unknown option 'fast=1'" in told and not (tmp_path / "m.pte").exists()


def test_any_number_of_processes_gives_the_same_bytes(served, tmp_path):
    (tmp_path / "many.ir").write_text(MANY)
    here = lowered(tmp_path / "many.ir", "xnnpack", tmp_path / "here.pte")
    for jobs in (1, 2, 5):
        there = lowered(
            tmp_path / "many.ir", f"exec:{served}/depute-backend-xnnpack", tmp_path / "there.pte", "--jobs", jobs, "--verify"
        )
        assert here == there


def test_a_cache_keeps_what_it_makes(served, tmp_path):
    words = (sample("conv_relu_tan"), f"exec:{served}/depute-backend-demo")
    first = lowered(*words, tmp_path / "a.pte", "--cache", tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir())
    assert first == lowered(*words, tmp_path / "b.pte", "--cache", tmp_path / "cache")


def test_a_program_on_path_is_found_by_its_name(tmp_path):
    (tmp_path / "s.ir").write_text(SUM)
    assert "there is no backend 'listing'" in run("explain", tmp_path / "s.ir", "--backend", "listing", code=2)
    told = run("backends", "listing", path=LISTING.parent)
    assert told.startswith("listing (ListingBackend): Writes a listing; the example of a backend in Python (listing 1)\n")
    assert "option comments" in told and "option only" in told and "aten.relu.default" in told
    as_json = json.loads(run("backends", "listing", "--json", path=LISTING.parent))
    assert [row["op"] for row in as_json["support"]] == ["aten.add.Tensor", "aten.mul.Tensor", "aten.relu.default"]
    for words in (("lower", tmp_path / "s.ir", "-o", tmp_path / "s.pte"), ("explain", tmp_path / "s.ir")):
        told = run(*words, "--backend", "listing:loud=1", path=LISTING.parent, code=2)
        assert "unknown option 'loud=1'" in told


def test_the_backend_in_python(tmp_path):
    (tmp_path / "s.ir").write_text(SUM)
    told = run("lower", tmp_path / "s.ir", "--backend", f"exec:{LISTING}", "-o", tmp_path / "s.pte", "--dump-after", "lower")
    assert 'blob "mul m = x, y\\nrelu r = m\\n"\n  debug 0 = #1\n  debug 1 = #2\n' in told
    assert 'blob "add s = t, y\\n"' in told
    assert "listing: dtype (i64[2]; allowed: f32)" in run("explain", tmp_path / "s.ir", "--backend", f"exec:{LISTING}")
    from executorch.exir._serialize._program import deserialize_pte_binary

    plan = deserialize_pte_binary((tmp_path / "s.pte").read_bytes()).program.execution_plan[0]
    assert [each.id for each in plan.delegates] == ["ListingBackend"] * 2
    assert (tmp_path / "s.pte").read_bytes().count(b"mul m = x, y\nrelu r = m\n") == 1


def changed_listing(folder, *changes):
    """The backend in Python with some of its lines changed."""
    text = LISTING.read_text()
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    program = folder / "depute-backend-changed"
    program.write_text(text)
    program.chmod(0o755)
    return program


def test_runs_say_the_same_as_their_numbers(tmp_path):
    chain = "".join(f"  %a{i}: f32[2] = aten.relu.default(%{'x' if i == 0 else f'a{i - 1}'}) #{i + 5}\n" for i in range(40))
    (tmp_path / "s.ir").write_text(f"program\nmethod forward(%x: f32[2]) {{\n{chain}  return %a39\n}}\n")
    words = ("lower", tmp_path / "s.ir", "-o", tmp_path / "s.pte", "--dump-after", "lower", "--quiet", "--backend")
    plain = run(*words, f"exec:{LISTING}:only=op:aten.relu.default")
    assert "  debug 39 = #44\n" in plain
    program = changed_listing(
        tmp_path,
        ('"nodes": taken}', '"nodes": [taken[0], [taken[1], taken[-2]], taken[-1]]}'),
        ('"map": ids}', '"map": [ids[0], [1, 39, ids[1][1][0]]]}'),
    )
    assert run(*words, f"exec:{program}:only=op:aten.relu.default").replace("changed", "listing") == plain


def test_of_partitions_that_are_asked_about_together_the_one_that_fails_is_told(tmp_path):
    lines = "".join(
        f"  %r{i}: f32[2] = aten.relu.default(%{'x' if i == 0 else f't{i - 1}'})\n  %t{i}: f32[2] = aten.tan.default(%r{i})\n"
        for i in range(200)
    )
    (tmp_path / "s.ir").write_text(f"program\nmethod forward(%x: f32[2]) {{\n{lines}  return %t199\n}}\n")
    requests = tmp_path / "requests"
    told = '    with open("%s", "a") as file:\n        file.write(f"{len(request[\'partitions\'])}\\n")\n' % requests
    program = changed_listing(
        tmp_path,
        ('    for each in request["partitions"]:\n', told + '    for each in request["partitions"]:\n'),
        ("            if refusal(line, node) is not None:", '            if "%r77:" in line:'),
    )
    error = run("lower", tmp_path / "s.ir", "--backend", f"exec:{program}", "-o", tmp_path / "s.pte", "--jobs", 1, "--no-sandbox", code=1)
    assert "there is no such instruction" in error and "tag changed77" in error
    assert set(requests.read_text().split()) <= {"64", "8"}  # 200 in few requests


@pytest.mark.parametrize("program", ["listing", "xnnpack"])
def test_workers_pass_their_suite(served, program, tmp_path):
    (tmp_path / "s.ir").write_text(SUM)
    path = LISTING if program == "listing" else served / f"depute-backend-{program}"
    told = run("test-backend", f"exec:{path}", "--model", tmp_path / "s.ir")
    assert [line.split()[0] for line in told.splitlines()] == ["ok"] * 4
    assert run("test-backend", f"exec:{path}").splitlines()[3:] == ["note   nothing was compiled: --model MODEL.pt2 also lowers a model with the backend"]


def test_the_suite_finds_faults(tmp_path):
    (tmp_path / "s.ir").write_text(SUM)
    good = LISTING.read_text()
    wrongs = {
        "raise Refused(f\"unknown option": "return {}  # ",
        "\"version\": \"listing 1\"": "\"version\": str(__import__('os').getpid())",
        "yield {\"error\": refused.error}": "yield {}",
        "listing, ids = [], []": "listing, ids = [str(__import__('os').getpid())], []",
    }
    for before, after in wrongs.items():
        program = tmp_path / "depute-backend-wrong"
        assert before in good
        program.write_text(good.replace(before, after))
        program.chmod(0o755)
        done = subprocess.run(
            [DEPUTE, "test-backend", f"exec:{program}", "--model", tmp_path / "s.ir"], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 1 and "failed" in done.stdout, (before, done.stdout, done.stderr)


def test_what_is_no_program(tmp_path):
    model = sample("conv_relu_tan")
    (tmp_path / "text").write_text("no program")
    for name in ("exec:/nowhere", f"exec:{tmp_path}", f"exec:{tmp_path}/text", "exec:"):
        run("lower", model, "--backend", name, "-o", tmp_path / "m.pte", code=2)
    (tmp_path / "text").chmod(0o755)
    told = run("lower", model, "--backend", f"exec:{tmp_path}/text", "-o", tmp_path / "m.pte", code=1)
    assert told.startswith("error[worker.")
    assert not (tmp_path / "m.pte").exists()


def test_two_of_one_id_are_not_asked_at_once(served, tmp_path):
    worker = f"exec:{served}/depute-backend-xnnpack"
    for words in (("xnnpack", worker), (worker, "xnnpack:mode=fx")):
        asked = [word for each in words for word in ("--backend", each)]
        told = run("lower", sample("conv_relu_tan"), *asked, "-o", tmp_path / "m.pte", code=2)
        assert "have the same id, XnnpackBackend" in told


# --- answers that once were taken for others

SCRIPT = """#!{python}
import json, os, sys, time
number = 0
for line in sys.stdin:
    request = json.loads(line)
    match request["call"]:
        case "describe":
            answers = [{{"protocol": 3, "id": "Scripted"}}]
        case "options":
            answers = [{options}]
        case "keep":
            time.sleep({keep_seconds})
            sys.exit(3)
        case "partition":
            answers = [{{"answers": [{{"answer": "take", "nodes": [0, 2]}}], "regions": {{"merge_unconnected": False}}}}]
        case "preprocess":
            answers = []
            for each in request["partitions"]:
                while os.path.exists("result"):  # taken over, once it was read
                    time.sleep(0.01)
                if {is_link} and number == 1:
                    os.symlink("/etc/passwd", "result")
                else:
                    open("result", "w").write(f"payload {{number}}")
                number += 1
                print(json.dumps({{"result": {{"payload": {{"file": "result"}}}}}}), flush=True)
    for answer in answers:
        print(json.dumps(answer), flush=True)
"""


def scripted(tmp_path, **settings):
    program = tmp_path / "scripted"
    program.write_text(SCRIPT.format(python=sys.executable, **{"options": "{}", "keep_seconds": 0, "is_link": False, **settings}))
    program.chmod(0o755)
    return f"exec:{program}"


@pytest.fixture
def two_parts(tmp_path):
    path = tmp_path / "m.ir"
    path.write_text(
        "program\nmethod forward(%x: f32[2]) {\n  %a: f32[2] = aten.relu.default(%x)\n  %t: f32[2] = aten.tan.default(%a)\n"
        "  %b: f32[2] = aten.relu.default(%t)\n  return %b\n}\n"
    )
    return path


def test_a_link_that_has_the_name_of_an_earlier_file_is_refused(two_parts, tmp_path):
    told = run("lower", two_parts, "--backend", scripted(tmp_path, is_link=True), "--jobs", 1, "-o", tmp_path / "m.pte", code=1)
    assert "worker.bad-answer" in told and "result: " in told, told


def test_a_file_that_has_the_name_of_an_earlier_one_is_another(two_parts, tmp_path):
    run("lower", two_parts, "--backend", scripted(tmp_path), "--jobs", 1, "-o", tmp_path / "m.pte")
    for number in range(2):
        run("payload", tmp_path / "m.pte", "--delegate", number, "-o", tmp_path / "payload")
        assert (tmp_path / "payload").read_text() == f"payload {number}"


@pytest.mark.parametrize("keep_seconds, words", [(0, "worker.ended"), (60, "worker.timed-out")])
def test_a_failure_of_keep_is_told(keep_seconds, words, tmp_path):
    """And no other node is asked about, so that a worker that hangs takes its time once."""
    nodes = "\n".join(f"  %{i + 1}: f32[2] = aten.hardswish.default(%{i})" for i in range(4))
    (tmp_path / "m.ir").write_text(f"program\nmethod forward(%0: f32[2]) {{\n{nodes}\n  return %4\n}}\n")
    worker = scripted(tmp_path, options='{"keep": ["aten.hardswish.default"], "asks": True}', keep_seconds=keep_seconds)
    start = time.monotonic()
    told = run("lower", tmp_path / "m.ir", "--backend", worker, "--worker-time", "2", "-o", tmp_path / "m.pte", code=1)
    assert f"error[{words}]" in told, told
    assert time.monotonic() - start < 6
