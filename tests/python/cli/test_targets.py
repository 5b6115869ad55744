"""`lower --target`: one model for several devices in one run, with one .ptd file that all of them share."""

import json
import re

import pytest
from executorch.extension.pybindings.portable_lib import _load_for_executorch
from harness import QUANTUM, TOLERANCE, assert_close, depute, lower, read_cases, sample

NAMES = ("args", "attn", "conv_relu_tan", "dynamic", "mlp", "multi", "mutbuf", "tied", "qconv")
TARGETS = ("--target", "phone=xnnpack", "--target", "plain=", "--target", "small=xnnpack:only=op:linear")


def lower_targets(model, tmp_path, *options):
    run = depute("lower", model, *options, "-o", tmp_path / "m.pte")
    assert run.code == 0, run.stderr
    return run


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_each_program_matches_eager_with_the_shared_file(name, tmp_path):
    lower_targets(sample(name), tmp_path, *TARGETS)
    ptd = tmp_path / "m.ptd"
    for target in ("phone", "plain", "small"):
        files = [str(tmp_path / f"m.{target}.pte")] + [str(ptd)] * ptd.exists()
        module = _load_for_executorch(*files)
        for case in read_cases(sample(name)):
            got = module.run_method(case.method, case.inputs)
            for value, want in zip(got, case.outputs, strict=True):
                assert_close(value, want, target, QUANTUM.get(name, TOLERANCE))


@pytest.mark.parametrize("name", NAMES)
def test_each_program_is_the_one_that_a_run_of_its_own_gives(name, tmp_path):
    lower_targets(sample(name), tmp_path, *TARGETS)
    alone = tmp_path / "alone"
    alone.mkdir()
    for target, options in {"phone": ["--backend", "xnnpack"], "plain": [], "small": ["--backend", "xnnpack:only=op:linear"]}.items():
        lower(sample(name), alone / f"m.{target}.pte", "--ptd", alone / "m.ptd", *options)
        assert (tmp_path / f"m.{target}.pte").read_bytes() == (alone / f"m.{target}.pte").read_bytes()


def test_each_weight_is_stored_once(tmp_path):
    lower_targets(sample("mlp"), tmp_path, *TARGETS)
    lower(sample("mlp"), tmp_path / "alone.pte", "--backend", "xnnpack", "--ptd", tmp_path / "alone.ptd")
    layout = json.loads(depute("size", tmp_path / "m.ptd", "--json").stdout)
    one = json.loads(depute("size", tmp_path / "alone.ptd", "--json").stdout)
    assert layout["bytes"] < one["bytes"] + 2048  # names, not weights
    assert layout["bytes"] < 2 * one["bytes"]


def test_the_same_bytes_with_any_number_of_threads(tmp_path):
    found = set()
    for jobs in (1, 2, 7):
        lower_targets(sample("attn"), tmp_path, *TARGETS, "--jobs", jobs)
        found.add(tuple(path.read_bytes() for path in sorted(tmp_path.iterdir())))
    assert len(found) == 1


def test_quantized_once_for_all(tmp_path):
    rules = ["--quantize", "linear=8da8w"]
    lower_targets(sample("mlp"), tmp_path, *TARGETS, *rules)
    alone = tmp_path / "alone.pte"
    lower(sample("mlp"), alone, "--backend", "xnnpack", *rules, "--ptd", tmp_path / "alone.ptd")
    assert (tmp_path / "m.phone.pte").read_bytes() == alone.read_bytes()


def test_a_plan_is_a_target(tmp_path):
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "backends": ["xnnpack:off=op:tan"], "together": False}))
    lower_targets(sample("mlp"), tmp_path, "--target", f"phone={plan}")
    alone = tmp_path / "alone.pte"
    lower(sample("mlp"), alone, "--plan", plan, "--ptd", tmp_path / "alone.ptd")
    assert (tmp_path / "m.phone.pte").read_bytes() == alone.read_bytes()


def test_a_plan_of_backends_together(tmp_path):
    """Planned together, one backend waits for the other one's result."""
    backends = ["demo:only=op:tan", "xnnpack"]
    programs = set()
    alone = tmp_path / "alone.pte"
    for together in (False, True):
        (tmp_path / "plan.json").write_text(json.dumps({"version": 1, "backends": backends, "together": together}))
        lower_targets(sample("conv_relu_tan"), tmp_path, "--target", f"a={tmp_path / 'plan.json'}", "--target", "b=")
        words = [word for backend in backends for word in ("--backend", backend)] + ["--together"] * together
        lower(sample("conv_relu_tan"), alone, *words, "--ptd", tmp_path / "alone.ptd")
        assert (tmp_path / "m.a.pte").read_bytes() == alone.read_bytes()
        programs.add(alone.read_bytes())
    assert len(programs) == 2


def test_files_beside_each_program(tmp_path):
    files = ["--report", tmp_path / "r.json", "--debug-map", tmp_path / "d.json", "--lock", tmp_path / "l.json", "--lock-update"]
    files += ["--etrecord", tmp_path / "e.bin", "--stand-ins", tmp_path / "s.json"]
    run = lower_targets(sample("mlp"), tmp_path, "--target", "a=xnnpack", "--target", "b=", *files)
    kinds = {"m": "pte", "r": "json", "d": "json", "l": "json", "e": "bin", "s": "json"}
    expected = [f"{stem}.{target}.{ending}" for stem, ending in kinds.items() for target in "ab"]
    assert names(tmp_path) == sorted([*expected, "m.ptd"])
    reports = {target: json.loads((tmp_path / f"r.{target}.json").read_text()) for target in "ab"}
    for target, report in reports.items():
        assert report["output"] == str(tmp_path / f"m.{target}.pte")
        assert [file["path"] for file in report["external_files"]] == [str(tmp_path / "m.ptd")]
    assert reports["a"]["totals"]["delegated_nodes"] > 0 == reports["b"]["totals"]["delegated_nodes"]
    assert [re.search(r"m\.\w\.pte", line)[0] for line in run.stdout.splitlines() if "m." in line and ".pte" in line] == ["m.a.pte", "m.b.pte"]


def test_several_backends_in_order(tmp_path):
    lower_targets(sample("mlp"), tmp_path, "--target", "a=demo:off=op:linear", "--target", "b=xnnpack", "--target", "a=xnnpack")
    alone = tmp_path / "alone.pte"
    lower(sample("mlp"), alone, "--backend", "demo:off=op:linear", "--backend", "xnnpack", "--ptd", tmp_path / "alone.ptd")
    assert (tmp_path / "m.a.pte").read_bytes() == alone.read_bytes()


def test_files_by_pattern_are_shared(tmp_path):
    lower_targets(sample("mlp"), tmp_path, *TARGETS, "--ptd", f"*bias*={tmp_path / 'bias.ptd'}", "--ptd", tmp_path / "rest.ptd")
    assert names(tmp_path) == ["bias.ptd", "m.phone.pte", "m.plain.pte", "m.small.pte", "rest.ptd"]


def test_a_condition_that_one_target_violates(tmp_path):
    run = depute("lower", sample("mlp"), "--target", "good=xnnpack", "--target", "bad=", "--require", "delegates>=1", "-o", tmp_path / "m.pte")
    assert run.code == 3 and len(run.diagnostics) == 1, run.stderr
    assert names(tmp_path) == []


def test_a_size_that_one_target_exceeds(tmp_path):
    lower(sample("conv_relu_tan"), tmp_path / "one.pte", "--ptd", tmp_path / "one.ptd")
    limit = sum((tmp_path / name).stat().st_size for name in ("one.pte", "one.ptd"))
    before = names(tmp_path)
    options = ["--target", "a=", "--target", "b=xnnpack", "--require", f"file_size<={limit // 2}", "-o", tmp_path / "m.pte"]
    run = depute("lower", sample("conv_relu_tan"), *options)
    assert run.code == 3 and len(run.diagnostics) == 2, run.stderr
    assert names(tmp_path) == before


def test_a_lock_that_one_target_breaks(tmp_path):
    lock = tmp_path / "l.json"
    options = ["--target", "b=", "-o", tmp_path / "m.pte", "--lock", lock]
    assert depute("lower", sample("mlp"), "--target", "a=xnnpack", *options, "--lock-update").code == 0
    assert depute("lower", sample("mlp"), "--target", "a=xnnpack", *options).code == 0
    run = depute("lower", sample("mlp"), "--target", "a=xnnpack:off=op:tan", *options)
    assert run.code == 3 and "l.a.json" in run.stderr and "l.b.json" not in run.stderr, run.stderr


MISTAKES = {
    "no name": (["--target", "xnnpack"], "'xnnpack' must have the form NAME=BACKEND"),
    "empty name": (["--target", "=xnnpack"], "must have the form"),
    "a path as a name": (["--target", "../a=xnnpack"], "'../a' is no name for a target"),
    "twice": (["--target", "a=xnnpack", "--target", "a=xnnpack"], "'a=xnnpack' is given twice"),
    "unknown backend": (["--target", "a=xnnpak"], "xnnpak"),
    "unknown option": (["--target", "a=xnnpack:shade=red"], "shade"),
    "unknown method": (["--target", "a=xnnpack", "--target", "b=decode:xnnpack"], "decode"),
    "no plan": (["--target", "a=none.json"], "none.json"),
    "backend": (["--target", "a=xnnpack", "--backend", "xnnpack"], "--backend"),
    "plan": (["--target", "a=xnnpack", "--plan", "p.json"], "--target NAME=plan.json"),
    "recipe": (["--target", "a=xnnpack", "--recipe", "XNNPACK_FP32"], "--recipe"),
    "bundle": (["--target", "a=xnnpack", "--bundle", "x.npz"], "--bundle"),
    "standard output": (["--target", "a=xnnpack", "--report", "-"], "several targets"),
    "the program of one is the data of all": (["--target", "a=xnnpack", "--ptd", "{folder}/m.a.ptd", "--report", "{folder}/m.json", "--debug-map", "{folder}/m.json"], "m.a.json"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes(case, tmp_path):
    options, message = MISTAKES[case]
    options = [option.replace("{folder}", str(tmp_path)) for option in options]
    output = tmp_path / ("m.bpte" if case == "bundle" else "m.pte")
    run = depute("lower", sample("mlp"), *options, "-o", output)
    assert run.code in (1, 2) and message in run.stderr, run.stderr
    assert names(tmp_path) == []


def test_an_error_names_its_target(tmp_path):
    """Without a kernel for it, a node that one target leaves undelegated cannot be written."""
    model = tmp_path / "m.ir"
    model.write_text("program\nmethod forward(%x: f32[4]) {\n  %y: f32[4] = shop.blend.default(%x) #1\n  return %y\n}\n")
    run = depute("lower", model, "--target", "a=xnnpack", "-o", tmp_path / "m.pte")
    assert run.code == 1 and "target a" in run.stderr, run.stderr
    assert names(tmp_path) == ["m.ir"]
