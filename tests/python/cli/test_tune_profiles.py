"""`depute tune --profile`: a search by times from ETDumps, without running anything. The dumps have times that are made up, so that each
search has one right end, or are what ExecuTorch's runtime wrote."""

import json
import subprocess

import pytest
from harness import DEPUTE, depute, lower, sample
from releases import installed
from test_profile import event, run, write_dump
from test_tune import MODEL

COSTS = {"aten::mm.out": 1000}


def ticks_of(instruction, costs):
    if instruction["kind"] == "delegate":
        return 50
    return costs.get(instruction["name"], 10)


def record(folder, model, target, costs, parts=None, runs=2):
    """A program with its debug map, and the dump of its runs: what the option --profile wants."""
    map_file, dump = folder / f"{target or 'plain'}.json", folder / f"{target or 'plain'}.etdp"
    lower(model, folder / "recorded.pte", *(["--backend", target] if target else []), "--debug-map", map_file)
    (method,) = json.loads(map_file.read_text())["methods"].values()
    events, total = [], 0
    for i, instruction in enumerate(method["instructions"]):
        ticks = ticks_of(instruction, costs)
        total += ticks
        if instruction["kind"] == "delegate":
            for piece in instruction["delegate_map"] if parts else []:
                events.append(event("", parts[piece["identifier"]], i, piece["identifier"]))
                ticks, total = ticks + parts[piece["identifier"]], total + parts[piece["identifier"]]
            events.append(event("DELEGATE_CALL", ticks, i))
        elif instruction["kind"] == "kernel":
            events.append(event("OPERATOR_CALL", ticks, i))
    write_dump(dump, [run([*events, event("Method::execute", total)]) for _ in range(runs)])
    return f"{dump}={map_file}"


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.ir"
    path.write_text(MODEL)
    return path


def tune(model, profiles, *options):
    return depute("tune", model, "--backend", "xnnpack", *(word for profile in profiles for word in ("--profile", profile)), *options)


def plan_of(done):
    assert done.code == 0, done.stderr
    return json.loads(done.stdout)


def test_small_delegates_are_given_up(model, tmp_path):
    profiles = [record(tmp_path, model, target, COSTS) for target in ("", "xnnpack")]
    plan = plan_of(tune(model, profiles, "--json"))
    assert plan["ns"] == 50 + 4 * 10 and plan["static_ns"] == 3 * 50 + 2 * 10
    assert plan["runner"] == "profiles" and plan["inputs"] == profiles
    assert [region["ns"] for region in plan["regions"]] == [{"XnnpackBackend": 50, "kernels": 1000}, *[{"XnnpackBackend": 50, "kernels": 10}] * 2]
    assert all(len(set(trial["ns"])) == 1 for trial in plan["tried"] if "left_out" not in trial)


def test_delegates_stay_where_kernels_are_slower(model, tmp_path):
    costs = {**COSTS, "aten::sigmoid.out": 500, "aten::relu.out": 500}
    plan = plan_of(tune(model, [record(tmp_path, model, target, costs) for target in ("", "xnnpack")], "--json"))
    assert plan["ns"] == plan["static_ns"] == 3 * 50 + 2 * 10


def test_what_no_profile_has_is_left_out(model, tmp_path):
    plan = plan_of(tune(model, [record(tmp_path, model, "xnnpack", COSTS)], "--json"))
    assert plan["ns"] == plan["static_ns"] == 3 * 50 + 2 * 10
    (plain,) = (trial for trial in plan["tried"] if not trial["backends"])
    assert plain["left_out"] == "no profile has these nodes of aten::mm.out"
    assert [region["ns"] for region in plan["regions"]] == [{"XnnpackBackend": 50}] * 3


def test_the_plan_gives_the_same_bytes_each_time(model, tmp_path):
    profiles = [record(tmp_path, model, target, COSTS) for target in ("", "xnnpack")]
    files = [tmp_path / f"{i}.pte" for i in range(2)]
    for file in files:
        done = tune(model, profiles, "-o", file, "--plan", f"{file}.json")
        assert done.code == 0 and "Fastest: 0.000 ms" in done.stdout, done.stderr
    lower(model, tmp_path / "m.pte", "--plan", f"{files[0]}.json")
    assert files[0].read_bytes() == files[1].read_bytes() == (tmp_path / "m.pte").read_bytes()


CHAIN = """program
method forward(%x: f32[8, 8], %w: f32[8, 8] = param "w") {
  %m: f32[8, 8] = aten.mm.default(%x, %w) #1
  %s: f32[8, 8] = aten.sigmoid.default(%m) #2
  %e: f32[8, 8] = aten.exp.default(%s) #3
  return %e
}
"""


def test_a_part_of_a_delegate_takes_the_time_of_its_pieces(tmp_path):
    """One delegate takes all three nodes. Its backend traced each, so that a delegate of two of them is known, too."""
    model = tmp_path / "m.ir"
    model.write_text(CHAIN.replace("program\n", 'program\ndata "w": f32[8, 8] = zeros\n'))
    parts = {"Fully Connected #1": 300, "Sigmoid #1": 20, "Exp #1": 700}
    costs = {"aten::mm.out": 5000}
    profiles = [record(tmp_path, model, "", costs), record(tmp_path, model, "xnnpack", costs, parts)]
    plan = plan_of(tune(model, profiles, "--json"))
    assert plan["static_ns"] == 50 + 300 + 20 + 700
    assert plan["ns"] == 50 + 300 + 10 + 10 or plan["ns"] == 50 + 300 + 20 + 10, plan
    by_backends = {tuple(trial["backends"]): trial for trial in plan["tried"]}
    assert by_backends[("xnnpack:off=op:aten.exp.default",)]["ns"] == [50 + 300 + 20 + 10]


def test_methods_that_no_profile_has_do_not_count(tmp_path):
    model = tmp_path / "m.ir"
    model.write_text(MODEL + MODEL.removeprefix("program\n").replace("forward", "other").replace("#", "#1"))
    profiles = []
    for target in ("", "xnnpack"):
        map_file, dump = tmp_path / f"map{target}.json", tmp_path / f"{target}.etdp"
        lower(model, tmp_path / "m.pte", *(["--backend", target] if target else []), "--debug-map", map_file)
        instructions = json.loads(map_file.read_text())["methods"]["other"]["instructions"]
        kinds = {"delegate": "DELEGATE_CALL", "kernel": "OPERATOR_CALL"}
        events = [event(kinds[each["kind"]], ticks_of(each, COSTS), i) for i, each in enumerate(instructions) if each["kind"] in kinds]
        write_dump(dump, [run([*events, event("Method::execute", 5000)])])
        renamed = json.loads(map_file.read_text())  # a run does not tell its method, and both look alike
        renamed["methods"] = {"other": renamed["methods"]["other"]}
        map_file.write_text(json.dumps(renamed))
        profiles.append(f"{dump}={map_file}")
    assert plan_of(tune(model, profiles, "--json"))["ns"] == 50 + 4 * 10


def test_mistakes(model, tmp_path):
    profile = record(tmp_path, model, "", COSTS)
    dump, map_file = profile.split("=")
    other = tmp_path / "other"
    other.mkdir()
    stranger = record(other, sample("mlp"), "", {}).split("=")[1]
    cases = {
        "no map": ([dump], (), "DUMP.etdp=MAP.json"),
        "no dump": ([f"none.etdp={map_file}"], (), "none.etdp"),
        "no map file": ([f"{dump}=none.json"], (), "none.json"),
        "turned around": ([f"{map_file}={dump}"], (), "m"),
        "another program": ([f"{dump}={stranger}"], (), "no method"),
        "threads": ([profile], ("--threads", "1"), "--threads: nothing is run"),
        "runner": ([profile], ("--runner", "true"), "--runner: nothing is run"),
        "the dump as an output": ([profile], ("--plan", dump), "plain.etdp"),
    }
    for name, (profiles, options, message) in cases.items():
        done = tune(model, profiles, *options)
        assert done.code in (1, 2) and message in done.stderr, (name, done.stderr)


RUNNER = DEPUTE.with_name("depute-run")


@pytest.mark.skipif(not RUNNER.exists() or installed("executorch") < "1.5", reason="depute-run is built with ExecuTorch 1.5 (make runtime)")
def test_dumps_of_the_runtime(tmp_path):
    """Two targets of one run are recorded, and the plan takes from each what was faster."""
    done = depute("lower", sample("conv_relu_tan"), "--target", "plain=", "--target", "all=xnnpack", "--debug-map", tmp_path / "m.json", "-o", tmp_path / "m.pte")
    assert done.code == 0, done.stderr
    profiles = []
    for target in ("plain", "all"):
        dump = tmp_path / f"{target}.etdp"
        subprocess.run(
            [RUNNER, "run", tmp_path / f"m.{target}.pte", "--ptd", tmp_path / "m.ptd", "--random", "--repeat", "20", "--etdump", dump],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        profiles.append(f"{dump}={tmp_path / f'm.{target}.json'}")
    plan = plan_of(tune(sample("conv_relu_tan"), profiles, "--json"))
    known = [trial for trial in plan["tried"] if "left_out" not in trial]
    assert len(known) >= 2 and plan["ns"] == min(trial["ns"][0] for trial in known)
    assert {"xnnpack"} <= {backend for trial in known[:2] for backend in trial["backends"]}
