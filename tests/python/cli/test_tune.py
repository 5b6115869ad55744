"""`depute tune` with runners that print times made up from what a program calls, so that each search has one right end."""

import json
import os
import signal
import stat
import subprocess
import sys
import time

import pytest
from harness import DEPUTE, depute, lower

# Two delegates of one node each beside one with a product: the small ones cost more as delegates than as kernels.
MODEL = """program
method forward(%x: f32[8, 8], %w: f32[8, 8]) {
  %m: f32[8, 8] = aten.mm.default(%x, %w) #1
  %t: f32[8, 8] = aten.tan.default(%m) #2
  %s: f32[8, 8] = aten.sigmoid.default(%t) #3
  %u: f32[8, 8] = aten.tan.default(%s) #4
  %r: f32[8, 8] = aten.relu.default(%u) #5
  return %r
}
"""

# {tune} is the body that may change `ns` and `answer`; the words are those of `depute run`.
RUNNER = """#!{python}
import json, re, subprocess, sys, time
program, words = sys.argv[1], sys.argv[2:]
repeat = int(words[words.index("--repeat") + 1])
shown = subprocess.run(["{depute}", "show", program], capture_output=True, text=True, check=True).stdout
calls = re.findall(r"^ +\\d+  ([\\w:.]+)", shown, re.MULTILINE)
cost = {{"delegate": 50, "aten::mm.out": 1000}}
ns = sum(cost.get(call, 10) for call in calls)
answer = {{"calls": [{{"ns": [ns] * repeat, "outputs": [{{"mean": 1.0, "deviation": 0.5, "min": 0.0, "max": 2.0}}]}}]}}
{body}
print("a line of the runtime's own")
print(json.dumps(answer, indent=1))
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.ir"
    path.write_text(MODEL)
    return path


@pytest.fixture
def runner(tmp_path):
    def make(body=""):
        path = tmp_path / "run it"
        path.write_text(RUNNER.format(python=sys.executable, depute=DEPUTE, body=body))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return f"'{path}'"

    return make


def tune(model, runner, *options):
    return depute("tune", model, "--backend", "xnnpack", "--runner", runner, *options)


def plan_of(run):
    assert run.code == 0, run.stderr
    return json.loads(run.stdout)


def test_small_delegates_are_given_up(model, runner):
    plan = plan_of(tune(model, runner(), "--json"))
    assert plan["backends"] == ["xnnpack:min_nodes=2"] or plan["backends"][0].startswith("xnnpack:off="), plan
    assert plan["static_ns"] == 3 * 50 + 2 * 10
    # The product as a kernel would cost 1000, so the best is one delegate with it and four kernels.
    assert plan["ns"] == 50 + 4 * 10
    assert [trial["backends"] for trial in plan["tried"]][:2] == [["xnnpack"], []]
    assert all("left_out" not in trial for trial in plan["tried"])


def test_changes_add_up(model, runner):
    """Each change is tried on top of those that were kept: here no single option gives up both small delegates."""
    options = "--backend", "xnnpack:min_nodes=1,merge_unconnected=true"
    run = depute("tune", model, *options, "--runner", runner(), "--json")
    plan = plan_of(run)
    assert plan["ns"] == 50 + 4 * 10
    (backend,) = plan["backends"]
    assert sorted(backend.split(",")[2:]) == ["off=op:aten.relu.default", "off=op:aten.sigmoid.default"]


@pytest.mark.parametrize("seconds", [0, 0.3])
def test_a_search_that_is_not_over_says_so(seconds, model, runner):
    """Also if the time ends while the changes of the best plan so far are tried."""
    run = tune(model, runner(f"time.sleep({seconds})"), "--budget", "2s" if seconds else "1h")
    assert run.code == 0, run.stderr
    assert ("There was no time to try every change" in run.stdout) == bool(seconds)


def test_the_same_search_twice(model, runner):
    first, second = (plan_of(tune(model, runner(), "--json")) for _ in range(2))
    assert first == second


def test_plans_are_applied(model, runner, tmp_path):
    run = tune(model, runner(), "--plan", tmp_path / "plan.json", "-o", tmp_path / "tuned.pte")
    assert run.code == 0, run.stderr
    (backend,) = json.loads((tmp_path / "plan.json").read_text())["backends"]
    assert f"Fastest: 0.000 ms, --backend {backend}" in run.stdout
    lower(model, tmp_path / "by_plan.pte", "--plan", tmp_path / "plan.json")
    lower(model, tmp_path / "by_option.pte", "--backend", backend)
    tuned = (tmp_path / "tuned.pte").read_bytes()
    assert tuned == (tmp_path / "by_plan.pte").read_bytes() == (tmp_path / "by_option.pte").read_bytes()
    explained = [depute("explain", model, *options).stdout for options in (("--plan", tmp_path / "plan.json"), ("--backend", backend))]
    assert explained[0] == explained[1]


def test_backends_are_ordered(model, runner):
    """The second backend alone is the fastest, and stays so however they are ordered."""
    body = """
ids = set(re.findall(r'^  delegate \\d+ "(\\w+)"', shown, re.MULTILINE))
answer["calls"][0]["ns"] = [ns + 2000 * ("XnnpackBackend" in ids)] * repeat
"""
    run = depute("tune", model, "--backend", "xnnpack", "--backend", "demo", "--runner", runner(body), "--json")
    plan = plan_of(run)
    assert not any(backend.startswith("xnnpack") for backend in plan["backends"]), plan["backends"]
    tried = [(trial["backends"], trial["together"]) for trial in plan["tried"]]
    assert tried[0] == (["xnnpack", "demo"], False)
    assert (["demo", "xnnpack"], False) in tried


def test_plans_of_backends_that_are_programs(model, runner, tmp_path):
    """The plan names the program, so that it can be applied where the program is not on PATH."""
    program = tmp_path / "depute-backend-xnnpack"
    program.symlink_to(DEPUTE.parent / "tests" / "worker" / "depute-backend-worker")
    run = depute("tune", model, "--backend", f"forward:exec:{program}", "--runner", runner(), "--plan", tmp_path / "p.json", "-o", tmp_path / "t.pte")
    assert run.code == 0, run.stderr
    (backend,) = json.loads((tmp_path / "p.json").read_text())["backends"]
    assert backend.startswith(f"forward:exec:{program}:")
    lower(model, tmp_path / "m.pte", "--plan", tmp_path / "p.json")
    assert (tmp_path / "m.pte").read_bytes() == (tmp_path / "t.pte").read_bytes()


FAULTS = {
    "ends": ("sys.exit('no such device')", "it ended with code 1: no such device"),
    "dies": ("import os; os.kill(os.getpid(), 9)", "it ended with code 137: "),
    "hangs": ("time.sleep(100)", "it took longer than "),
    "no JSON": ("print('fine'); sys.exit()", "the answer of "),
    "no calls": ("answer = {}", "the answer of "),
    "too few times": ("answer['calls'][0]['ns'].pop()", "it did not print the times of 1 call, "),
    "no time": ("answer['calls'][0]['ns'] = [0] * repeat", "it did not print the times of 1 call, "),
    "impossible times": ("answer['calls'][0]['ns'] = [10**12] * repeat", "the times that it printed are "),
    "negative times": ("answer['calls'][0]['ns'] = [-5] * repeat", "calls[0].ns[0] (byte "),
    "other outputs": ("answer['calls'][0]['outputs'][0]['mean'] = 3.0", "its outputs differ"),
    "no outputs at all": ("answer['calls'][0]['outputs'] = [{'not_finite': 9}]", "its outputs differ"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_runners_that_fail_are_never_chosen(fault, model, runner):
    """What would be the fastest plan cannot be measured."""
    body, reason = FAULTS[fault]
    plan = plan_of(tune(model, runner(f"if calls.count('delegate') == 1:\n  ns = 1\n  {body}"), "--json", "--budget", "20s"))
    assert plan["ns"] > 50 + 4 * 10
    reasons = [trial["left_out"] for trial in plan["tried"] if "left_out" in trial]
    assert reasons and all(reason in each for each in reasons), reasons


def test_a_device_may_fail_once(model, runner, tmp_path):
    """A plan that was measured before is tried again; the search goes on."""
    body = f"""
import pathlib
runs = pathlib.Path({str(tmp_path / "count")!r}); number = int(runs.read_text()) if runs.exists() else 0; runs.write_text(str(number + 1))
failed = pathlib.Path({str(tmp_path / "failed")!r})
if number > 2 and calls.count("delegate") == 3 and not failed.exists(): failed.touch(); sys.exit("adb: device offline")
"""
    plan = plan_of(tune(model, runner(body), "--json"))
    assert plan["ns"] == 50 + 4 * 10 and (tmp_path / "failed").exists()
    assert all("left_out" not in trial for trial in plan["tried"])


def test_a_device_that_is_gone(model, runner, tmp_path):
    count = tmp_path / "count"
    body = f"""
import pathlib
runs = pathlib.Path({str(count)!r}); number = int(runs.read_text()) if runs.exists() else 0; runs.write_text(str(number + 1))
if number > 2 and calls.count("delegate") == 3: sys.exit("adb: device offline")
"""
    run = tune(model, runner(body))
    assert run.code == 1 and "it ran before, and fails now: it ended with code 1: adb: device offline" in run.stderr


def test_reports_are_of_the_plan(model, runner, tmp_path):
    run = tune(model, runner(), "--report", tmp_path / "r.json", "--plan", "-")
    assert run.code == 0, run.stderr
    assert json.loads(run.stdout)["backends"] != ["xnnpack"]
    assert sum(node["owner"] == "xnnpack" for node in json.loads((tmp_path / "r.json").read_text())["nodes"]) == 1


def test_quantized_once(runner, tmp_path):
    """What an auto rule became is used for all candidates, and printed; the given options stand beside it."""
    import numpy as np

    model = tmp_path / "q.ir"
    model.write_text("""program
data "w": f32[8, 32] = random(1)
method forward(%w: f32[8, 32] = param "w", %x: f32[2, 32]) {
  %l: f32[2, 8] = aten.linear.default(%x, %w) #1
  %t: f32[2, 8] = aten.tan.default(%l) #2
  return %t
}
""")
    np.savez(tmp_path / "x.npz", x=np.ones((2, 32), np.float32))
    options = "--quantize", "auto:sqnr>=20", "--calibrate", tmp_path / "x.npz"
    run = tune(model, runner(), *options, "--plan", tmp_path / "p.json", "-o", tmp_path / "t.pte")
    assert run.code == 0, run.stderr
    (rule,) = [line.removeprefix("Measured with --quantize ") for line in run.stdout.splitlines() if line.startswith("Measured with")]
    lower(model, tmp_path / "m.pte", "--plan", tmp_path / "p.json", "--quantize", rule)
    assert (tmp_path / "m.pte").read_bytes() == (tmp_path / "t.pte").read_bytes()


def test_a_runner_that_always_fails(model, runner):
    run = tune(model, runner("sys.exit('no such device')"))
    assert run.code == 1 and "error[tune]: no plan can be measured" in run.stderr
    assert run.stderr.count("no such device") == 2, run.stderr  # with xnnpack, and without delegates


def test_programs_that_do_not_lower(runner, tmp_path):
    """Without a backend, this model has no kernel: the plan is left out, with the reason."""
    model = tmp_path / "m.ir"
    model.write_text("program\nmethod forward(%x: f32[4]) {\n  %a: f32[4] = mylib.spin.default(%x) #1\n  return %a\n}\n")
    run = tune(model, runner())
    assert run.code == 1 and "does not lower: " in run.stderr and "mylib.spin" in run.stderr


@pytest.mark.parametrize(
    "options, words",
    [
        (("--budget", "soon"), "error[usage]: --budget: 'soon' is not a time"),
        (("--budget", "0s"), "'0s' is not a time"),
        (("--budget", "99999999999999999999h"), "is not a time"),
        (("--inputs", "nowhere.npz"), "nowhere.npz"),
        (("--plan", "-", "--json"), "standard output has the plan already"),
        (("-o", "/nowhere/m.pte"), "/nowhere"),
        (("--plan", "/nowhere/p.json"), "/nowhere"),
        (("--threads", "0"), "--threads"),
        (("--plugin", "x.so"), "--plugin: it is for `depute run`, and --runner names another command"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_mistakes_are_told_before_anything_is_measured(options, words, model, runner):
    run = tune(model, runner("sys.exit('was started')"), *options)
    assert run.code in (1, 2) and words in run.stderr and "was started" not in run.stderr, run.stderr


def test_a_backend_is_needed(model):
    run = depute("tune", model)
    assert run.code == 2 and "no backend is named" in run.stderr


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "p.json"),
        ("{", "p.json"),
        ('{"version": 2, "backends": []}', "p.json: version (byte 12): a plan of version 2"),
        ('{"version": 1}', "backends"),
        ('{"version": 1, "backends": [1], "together": false}', "backends[0] (byte 28): expected a string"),
        ('{"version": 1, "backends": ["xnnpack:x"], "together": false}', "key=value"),
        ('{"version": 1, "backends": ["nosuch"], "together": false}', "there is no backend 'nosuch'"),
    ],
)
def test_damaged_plans(text, words, model, tmp_path):
    (tmp_path / "p.json").write_text(text)
    run = depute("lower", model, "--plan", tmp_path / "p.json", "-o", tmp_path / "m.pte")
    assert run.code in (1, 2) and words in run.stderr, run.stderr
    assert not (tmp_path / "m.pte").exists()


def test_a_plan_is_not_combined_with_backends(model, tmp_path):
    (tmp_path / "p.json").write_text('{"version": 1, "backends": ["xnnpack"], "together": false}')
    for options in (("--backend", "xnnpack"), ("--together",)):
        run = depute("lower", model, "--plan", tmp_path / "p.json", *options, "-o", tmp_path / "m.pte")
        assert run.code == 2 and options[0] in run.stderr and not (tmp_path / "m.pte").exists(), run.stderr


def start(command, **more):
    """A process that SIGINT ends by itself, also if the tests run in the background of a shell, where it is ignored."""
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **more)


def test_an_interrupt_returns_the_best_so_far(model, runner, tmp_path):
    """The first plan is measured at once; then the runner is slow, and the user presses Ctrl-C."""
    first, second = tmp_path / "first", tmp_path / "second"
    slow = f"""
import pathlib
if pathlib.Path({str(first)!r}).exists(): pathlib.Path({str(second)!r}).touch(); time.sleep(60)
pathlib.Path({str(first)!r}).touch()
"""
    command = [DEPUTE, "tune", model, "--backend", "xnnpack", "--runner", runner(slow), "--budget", "1h", "--json"]
    process = start(command, start_new_session=True)
    while not second.exists():
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the runner gets it, too
    out, error = process.communicate(timeout=30)
    assert process.returncode == 0, error
    assert json.loads(out)["backends"] == ["xnnpack"]


def test_the_second_interrupt_ends(model, runner, tmp_path):
    body = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nopen({str(tmp_path / 'started')!r}, 'w'); time.sleep(60)"
    command = [DEPUTE, "tune", model, "--backend", "xnnpack", "--runner", runner(body)]
    process = start(command, env={**os.environ, "TMPDIR": str(tmp_path)})
    while not (tmp_path / "started").exists():
        time.sleep(0.01)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
    assert process.wait(timeout=10) == -signal.SIGINT
    assert not list(tmp_path.glob("depute-tune*"))
