"""depute profile: an ETDump joined with the debug map. The runtime of ExecuTorch 1.5's wheel writes dumps, that of 1.4 none.
tests/profile has a dump of several methods with the program that was run; the other dumps here are what ExecuTorch's own
serializer writes of events as its runtime makes them. ExecuTorch's Inspector is what the numbers are compared with."""

import csv
import json
import re
import struct
import subprocess
import sys

import pytest
import torch
from executorch.devtools import Inspector
from executorch.devtools.etdump import schema_flatcc as flatcc
from executorch.devtools.etdump.serialize import serialize_to_etdump_flatcc
from executorch.runtime import Runtime, Verification
from harness import DEPUTE, ROOT, depute, lower, sample
from releases import installed

MODEL = sample("conv_relu_tan")


def event(name, ticks, instruction=-1, piece=None, start=1000):
    return flatcc.Event(
        profile_event=flatcc.ProfileEvent(
            name=name,
            chain_index=0 if instruction >= 0 else -1,
            instruction_id=max(instruction, 0),
            delegate_debug_id_int=piece if isinstance(piece, int) else -1,
            delegate_debug_id_str=piece if isinstance(piece, str) else "",
            delegate_debug_metadata=None,
            start_time=start,
            end_time=start + ticks,
        ),
        allocation_event=None,
        debug_event=None,
    )


def run(events, name="Execute"):
    return flatcc.RunData(name=name, bundled_input_index=-1, allocators=[], events=events)


def write_dump(path, runs):
    """With its size before it, as the runtime writes it and the Inspector wants it."""
    dump = serialize_to_etdump_flatcc(flatcc.ETDumpFlatCC(version=0, run_data=runs))
    path.write_bytes(struct.pack("<I", len(dump)) + dump)
    return path


def calls(instructions, factor):
    """What the runtime traces of a run: kernels inside of their instructions, instructions inside of the run."""
    events, total = [], 77 * factor
    for i, instruction in enumerate(instructions):
        ticks = (10_000 + 1_234 * i) * factor
        total += ticks
        if instruction["kind"] == "delegate":
            for row in instruction["delegate_map"]:
                events.append(event("", 300 * factor, i, row["identifier"]))
            events.append(event("", 500 * factor, i, "Softmax (NC, F32) #1"))
            events.append(event("DELEGATE_CALL", ticks, i))
        else:
            kernel = instruction["name"].split("::")[1]
            events.append(event(f"native_call_{kernel}", ticks - 99, i))
            events.append(event("OPERATOR_CALL", ticks, i))
    return [*events, event("Method::execute", total)]


class Dumped:
    def __init__(self, folder, model, *options):
        self.pte, self.map, self.etdp = folder / "m.pte", folder / "m.json", folder / "m.etdp"
        lower(model, self.pte, "--debug-map", self.map, *options)
        self.mapped = json.loads(self.map.read_text())
        (method,) = self.mapped["methods"].values()
        self.instructions = method["instructions"]
        loading = run([event("Program::load_method", 4_000), event("Method::init", 5_000)], "Default")
        write_dump(self.etdp, [loading, *(run(calls(self.instructions, factor)) for factor in (3, 4, 5))])

    def profile(self, *options):
        done = depute("profile", self.etdp, "--debug-map", self.map, *options)
        assert done.code == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module", params=["portable", "xnnpack", "demo"])
def dumped(request, tmp_path_factory):
    options = () if request.param == "portable" else ("--backend", request.param)
    return Dumped(tmp_path_factory.mktemp(request.param), MODEL, *options)


@pytest.fixture(scope="module")
def xnnpack(tmp_path_factory):
    return Dumped(tmp_path_factory.mktemp("x"), MODEL, "--backend", "xnnpack")


OUTSIDE = "Method::execute", "Method::init", "Program::load_method"


def inspected(etdp):
    """What the Inspector tells of a dump: by name, instruction and the backend's identifier, the times in nanoseconds."""
    raw = {}
    for block in Inspector(etdump_path=str(etdp)).event_blocks:
        for each in block.events:
            key = each.name, None if each.name in OUTSIDE else each._instruction_id, each.delegate_debug_identifier
            raw.setdefault(key, []).extend(round(time * 1e6) for time in each.perf_data.raw)
    return raw


def test_totals_are_those_of_the_dump(dumped):
    profile = json.loads(dumped.profile("--json"))
    (method,) = profile["methods"]
    assert method["method"] == "forward" and method["runs"] == 3
    raw = {key: sum(times) for key, times in inspected(dumped.etdp).items()}
    assert method["ticks"] == raw["Method::execute", None, None]
    for rows in "by_line", "by_module", "by_kernel":
        assert sum(row["ticks"] for row in method[rows]) == method["ticks"], rows
    assert len(method["instructions"]) == len(dumped.instructions)
    for each in method["instructions"]:
        call = "DELEGATE_CALL" if dumped.instructions[each["index"]]["kind"] == "delegate" else "OPERATOR_CALL"
        assert each["ticks"] == raw[call, each["index"], None] and each["calls"] == 3
        for piece in each["pieces"]:
            found = [ticks for (_, at, name), ticks in raw.items() if at == each["index"] and str(name) == piece["identifier"]]
            assert found == [piece["ticks"]]
    assert {(row["name"], row["ticks"]) for row in profile["outside"]} == {("Method::init", 5_000), ("Program::load_method", 4_000)}
    assert sum(ticks for (name, *_), ticks in raw.items() if name in ("Method::init", "Program::load_method")) == 9_000


def test_lines_are_those_of_the_debug_map(dumped):
    (method,) = json.loads(dumped.profile("--json"))["methods"]
    handles = dumped.mapped["handles"]
    for each in method["instructions"]:
        mine = [handles[str(handle)] for handle in dumped.instructions[each["index"]]["handles"]]
        lines = sorted({node["line"] for node in mine if "line" in node})
        (file,) = {node["file"] for node in mine if "file" in node}
        assert each["lines"] == f"{file}:{', '.join(map(str, lines))}"
        known = {str(row["identifier"]) for row in dumped.instructions[each["index"]].get("delegate_map", [])}
        for piece in each["pieces"]:
            assert bool(piece["lines"]) == (piece["identifier"] in known)
        modules = {node.get("module", "") for node in mine}
        assert all(name == each["module"] or name.startswith(each["module"]) for name in modules)


def test_text_says_the_same(xnnpack):
    text = xnnpack.profile()
    assert max(map(len, text.splitlines())) <= 80
    (method,) = json.loads(xnnpack.profile("--json"))["methods"]
    assert f"forward: 3 runs, {method['ticks'] / 3e6:.3f} ms each ({method['least'] / 1e6:.3f} to {method['most'] / 1e6:.3f})" in text
    for row in method["by_kernel"]:
        line = next(line for line in text.split("By kernel")[1].splitlines() if line.startswith("  " + row["name"]))
        ms, share = map(float, line.split()[-2:])
        assert ms == pytest.approx(row["ticks"] / 3e6, abs=5e-4)
        assert share == pytest.approx(100 * row["ticks"] / method["ticks"], abs=0.05)
    assert "note:" not in text and "Softmax (NC, F32) #1" in text
    short = xnnpack.profile("--top", 1)
    assert "more; --top 0 lists all" in short and "more;" not in xnnpack.profile("--top", 0)


def test_without_a_debug_map(xnnpack):
    """A program gives the names, the dump itself some of them."""
    with_program = depute("profile", xnnpack.etdp, xnnpack.pte)
    assert with_program.code == 0 and "XnnpackBackend" in with_program.stdout and "aten::tan.out" in with_program.stdout
    assert "note: no lines of the model: give --debug-map FILE" in with_program.stdout
    alone = depute("profile", xnnpack.etdp)
    assert alone.code == 0 and "delegate of instruction 0" in alone.stdout and "tan.out" in alone.stdout
    totals = {re.search(r"3 runs, (\S+ ms)", text)[1] for text in (with_program.stdout, alone.stdout, xnnpack.profile())}
    assert len(totals) == 1


def test_a_dump_without_events_inside_says_so(xnnpack, tmp_path):
    events = [each for each in calls(xnnpack.instructions, 1) if each.profile_event.name]
    dump = write_dump(tmp_path / "m.etdp", [run(events)])
    done = depute("profile", dump, "--debug-map", xnnpack.map)
    assert done.code == 0 and "note: no events from inside of delegates: the dump has none" in done.stdout
    assert "1 run, " in done.stdout


def test_page(xnnpack, tmp_path):
    page = tmp_path / "p.html"
    xnnpack.profile("--report", page)
    html = page.read_text()
    assert "<script" not in html and "http" not in re.sub(r'http-equiv="', "", html)
    (method,) = json.loads(xnnpack.profile("--json"))["methods"]
    for row in method["by_line"] + method["by_kernel"]:
        milliseconds = f'<td data-column="ms a run" class="number">{row["ticks"] / 3e6:.3f}</td>'
        assert f"<code>{row['name']}</code></td>{milliseconds}" in html
    names = [run([event("<b>&", 5, 0, "<i>x"), event("DELEGATE_CALL", 9, 0), event("Method::execute", 9)])]
    dump = write_dump(tmp_path / "<u>.etdp", names)
    assert depute("profile", dump, "--report", page).code == 0
    assert "&lt;i>x" in page.read_text() and "<i>" not in page.read_text() and "<u>" not in page.read_text()


def test_a_table_for_spreadsheets(dumped, tmp_path):
    (method,) = json.loads(dumped.profile("--json", "--report", tmp_path / "m.tsv"))["methods"]
    with open(tmp_path / "m.tsv", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    found = [tuple(row.values()) for row in rows]
    wanted = []
    for each in method["instructions"]:
        wanted.append(("forward", each["index"], each["name"], "", each["module"], each["lines"], each["calls"], each["ticks"]))
        for piece in each["pieces"]:
            wanted.append(("forward", each["index"], each["name"], piece["identifier"], piece["module"], piece["lines"], piece["calls"], piece["ticks"]))
    assert found == [tuple(map(str, each)) for each in wanted]


def test_a_timeline(tmp_path):
    """Events of a real dump of two methods, with XNNPACK's: the times are those of the tables, and calls lie within runs."""
    files = ROOT / "tests/profile"
    done = depute("profile", files / "vision.etdp", "--debug-map", files / "vision.json", "--json", "--timeline", tmp_path / "t.json")
    assert done.code == 0, done.stderr
    profile, trace = json.loads(done.stdout), json.loads((tmp_path / "t.json").read_text())
    events = [each for each in trace["traceEvents"] if each["ph"] == "X"]
    assert [each["args"]["name"] for each in trace["traceEvents"] if each["ph"] == "M"] == ["runtime", "inside delegates"]
    assert min(each["ts"] for each in events) == 0
    ticks = {}
    for each in events:
        key = each["name"], each["tid"]
        ticks[key] = ticks.get(key, 0) + round(each["dur"] * 1000)
    wanted = {(row["name"], 1): row["ticks"] for row in profile["outside"]}
    for method in profile["methods"]:
        wanted[method["method"], 1] = method["ticks"]
        for each in method["instructions"]:
            wanted[each["name"], 1] = wanted.get((each["name"], 1), 0) + each["ticks"]
            for piece in each["pieces"]:
                wanted[piece["identifier"], 2] = wanted.get((piece["identifier"], 2), 0) + piece["ticks"]
    assert ticks == wanted
    methods = {method["method"] for method in profile["methods"]}
    runs = [each for each in events if each["name"] in methods]
    assert len(runs) == sum(method["runs"] for method in profile["methods"])
    lines = {each["lines"] for method in profile["methods"] for each in method["instructions"]}
    for each in events:
        if each["args"]["lines"] and each["tid"] == 1:
            (around,) = [run for run in runs if run["args"]["run"] == each["args"]["run"]]
            assert around["ts"] <= each["ts"] and each["ts"] + each["dur"] <= around["ts"] + around["dur"]
            assert each["args"]["lines"] in lines


def test_outputs_do_not_overwrite_each_other(xnnpack, tmp_path):
    done = depute("profile", xnnpack.etdp, "--report", tmp_path / "m.tsv", "--timeline", tmp_path / "m.tsv")
    assert done.code == 2 and not list(tmp_path.iterdir()), done.stderr
    done = depute("profile", xnnpack.etdp, "--timeline", xnnpack.etdp)
    assert done.code == 2 and "ED00" in xnnpack.etdp.read_bytes()[:12].decode("latin-1")


def test_every_framing_of_a_dump(xnnpack, tmp_path):
    """Without its size, with it, and aligned by what stands before the size."""
    prefixed = xnnpack.etdp.read_bytes()
    (tmp_path / "m.bin").write_bytes(prefixed[4:])
    schema = ROOT / "src/schema/etdump.fbs"
    subprocess.run(["flatc", "--json", "--strict-json", "-o", tmp_path, schema, "--", tmp_path / "m.bin"], check=True)
    subprocess.run(["flatc", "--binary", "--size-prefixed", "-o", tmp_path, schema, tmp_path / "m.json"], check=True)
    told = set()
    for dump in prefixed, prefixed[4:], (tmp_path / "m.etdp").read_bytes(), prefixed + bytes(40):
        done = subprocess.run([DEPUTE, "profile", "-", "--json"], input=dump, capture_output=True, timeout=60)
        told.add(done.stdout)
        assert done.returncode == 0, done.stderr
    assert len(told) == 1


def test_methods_are_told_apart_by_what_they_call(tmp_path):
    model = tmp_path / "m.ir"
    method = "method {}(%x: f32[4]) {{\n  %y: f32[4] = aten.{}.default(%x) #{} from \"m.py\":{}\n  return %y\n}}\n"
    model.write_text("program\n" + "".join(method.format(*each) for each in [("a", "tan", 1, 1), ("b", "cos", 2, 2), ("c", "cos", 3, 3)]))
    lower(model, tmp_path / "m.pte", "--debug-map", tmp_path / "m.json")
    runs = {
        kernel: run([event(f"native_call_{kernel}.out", 5, 0), event("OPERATOR_CALL", 7, 0), event("Method::execute", 9)])
        for kernel in ("tan", "cos", "sin")
    }
    words = "--debug-map", tmp_path / "m.json", "--json"
    done = depute("profile", write_dump(tmp_path / "1.etdp", [runs["tan"], runs["tan"]]), *words)
    assert [method["method"] for method in json.loads(done.stdout)["methods"]] == ["a"]
    both = write_dump(tmp_path / "2.etdp", [runs["cos"]])
    done = depute("profile", both, *words)
    assert done.code == 2 and "may be of each of the methods b, c" in done.stderr and "--method NAME" in done.stderr
    done = depute("profile", both, *words, "--method", "c")
    assert json.loads(done.stdout)["methods"][0]["by_line"][0]["name"] == "m.py:3"
    assert depute("profile", both, *words, "--method", "d").code == 2
    done = depute("profile", write_dump(tmp_path / "3.etdp", [runs["sin"]]), *words)
    assert done.code == 1 and "a run calls what no method of" in done.stderr


TRACED = ROOT / "tests" / "profile" / "vision"


def dumped_events(etdp, folder):
    """Each run's events as they stand in the file."""
    (folder / "m.bin").write_bytes(etdp.read_bytes()[4:])
    subprocess.run(["flatc", "--json", "--strict-json", "--defaults-json", "-o", folder, ROOT / "src/schema/etdump.fbs", "--", folder / "m.bin"], check=True)
    for run_data in json.loads((folder / "m.json").read_text())["run_data"]:
        yield [each["profile_event"] for each in run_data["events"]]


def traced(*options, map=TRACED.with_suffix(".json")):
    done = depute("profile", TRACED.with_suffix(".etdp"), "--debug-map", map, *options)
    assert done.code == 0, done.stderr
    return done.stdout


def test_totals_of_a_real_dump(tmp_path):
    """Several methods in one dump, delegates beside kernels, a loop, and what XNNPACK traces inside of delegates."""
    profile = json.loads(traced("--json"))
    methods = {method["method"]: method for method in profile["methods"]}
    assert {name: method["runs"] for name, method in methods.items()} == {"image": 3, "mask": 1, "spin": 2, "token": 2}
    raw, outside, order = {}, {}, iter(["image", "image", "token", "token", "image", "mask", "spin", "spin"])
    for events in dumped_events(TRACED.with_suffix(".etdp"), tmp_path):
        is_run = any(each["name"] == "Method::execute" for each in events if "name" in each)
        name = next(order) if is_run else None
        for each in events:
            at = each["instruction_id"] if each["chain_index"] >= 0 else None
            key = name, at, each.get("name") or each["delegate_debug_id_str"]
            rows = raw if is_run else outside
            rows.setdefault(key, []).append(each["end_time"] - each["start_time"])
    instructions = json.loads(TRACED.with_suffix(".json").read_text())["methods"]
    told = {}
    for name, method in methods.items():
        told[name, None, "Method::execute"] = method["ticks"]
        times = raw[name, None, "Method::execute"]
        assert (method["least"], method["most"]) == (min(times), max(times))
        for rows in "by_line", "by_module", "by_kernel":
            assert sum(row["ticks"] for row in method[rows]) == method["ticks"], rows
        assert sum(each["ticks"] for each in method["instructions"]) < method["ticks"]
        for each in method["instructions"]:
            kind = instructions[name]["instructions"][each["index"]]["kind"]
            call = {"delegate": "DELEGATE_CALL", "kernel": "OPERATOR_CALL", "jump": "JF_CALL"}[kind]
            told[name, each["index"], call] = each["ticks"]
            assert each["calls"] == len(raw[name, each["index"], call])
            for piece in each["pieces"]:
                told[name, each["index"], piece["identifier"]] = piece["ticks"]
    # What a kernel itself takes lies inside of its call.
    assert told == {key: sum(times) for key, times in raw.items() if not key[2].startswith("native_call_")}
    assert {(row["name"], row["ticks"], row["calls"]) for row in profile["outside"]} == {(name, sum(times), len(times)) for (*_, name), times in outside.items()}


def test_the_inspector_tells_the_same_of_a_real_dump():
    """Of what a run calls once: of a loop's instructions it tells the last call alone."""
    methods = {method["method"]: method for method in json.loads(traced("--json"))["methods"]}
    blocks = [block for block in Inspector(etdump_path=str(TRACED.with_suffix(".etdp"))).event_blocks if block.name == "Execute"]
    for name, block in zip(["image", "token", "mask", "spin"], blocks, strict=True):
        told = {("Method::execute", None): methods[name]["ticks"]}
        for each in methods[name]["instructions"]:
            is_delegate = "Xnnpack" in each["name"]
            told["DELEGATE_CALL" if is_delegate else "OPERATOR_CALL", each["index"]] = each["ticks"]
            told |= {(piece["identifier"], each["index"]): piece["ticks"] for piece in each["pieces"]}
        for each in block.events:
            at = None if each.name in OUTSIDE else each._instruction_id
            if each.name.startswith("native_call_") or (name == "spin" and at is not None):
                continue
            assert told.pop((each.name, at)) == round(sum(each.perf_data.raw) * 1e6)
        assert not told or name == "spin"


def test_xnnpack_events_lead_to_lines():
    """The runtime counts by element types and kernels, the compiler cannot: the second convolution is "... DWConv #1"."""
    methods = {method["method"]: method for method in json.loads(traced("--json"))["methods"]}
    lines = {
        (name, each["index"], piece["identifier"]): piece["lines"]
        for name, method in methods.items()
        for each in method["instructions"]
        for piece in each["pieces"]
    }
    assert lines == {
        ("image", 0, "Transpose (ND, X32) #1"): "vision.py:10",
        ("image", 0, "Convolution (NHWC, F32) IGEMM #1"): "vision.py:10",
        ("image", 0, "Fully Connected (NC, F32) GEMM #1"): "vision.py:11",
        ("image", 0, "Convolution (NHWC, F32) DWConv #1"): "vision.py:12, 13",
        ("image", 0, "Transpose (ND, X32) #2"): "vision.py:12, 13",
        ("image", 2, "Transpose (ND, X32) #1"): "vision.py:15",
        ("image", 2, "Transpose (ND, X32) #2"): "vision.py:16, 17",
        ("image", 2, "Sigmoid (NC) #1"): "vision.py:15",
        ("image", 2, "Add (ND) #1"): "vision.py:16, 17",
        ("image", 2, "Clamp (NC) #1"): "vision.py:16, 17",
        ("image", 2, "Mean Squared (ND) Reduce2 #1"): "vision.py:18, 19",
        ("image", 2, "Static Reshape (NC) #1"): "vision.py:19",
        ("image", 2, "Fully Connected (NC, F32) GEMM #1"): "vision.py:20",
        ("token", 0, "Fully Connected (NC, F32) GEMM #1"): "vision.py:23",
        ("token", 0, "TanH (NC) #1"): "vision.py:24",
        ("mask", 0, "Fully Connected (NC, F32) GEMM #1"): "vision.py:27",
        ("mask", 0, "Exp (NC) #1"): "vision.py:28",
        ("spin", 5, "Dynamic Fully Connected (NC, F32) GEMM #1"): "vision.py:37",
        ("spin", 5, "Copy (NC, X32) #1"): "vision.py:38",
        ("spin", 5, "TanH (NC) #1"): "vision.py:39",
    }
    assert {each["index"]: each["calls"] for each in methods["spin"]["instructions"]} == {0: 2, 1: 2, 2: 8, 3: 8, 4: 6, 5: 6, 6: 6, 7: 6}


def test_the_program_of_the_real_dump_is_lowered_alike(tmp_path):
    """So what the dump's program and map tell is what the compiler makes now."""
    lower(TRACED.with_suffix(".ir"), tmp_path / "vision.pte", "--debug-map", tmp_path / "vision.json", "--backend", "xnnpack")
    now, then = (json.loads(path.read_text()) for path in (tmp_path / "vision.json", TRACED.with_suffix(".json")))
    assert (now["methods"], now["handles"]) == (then["methods"], then["handles"])
    names = depute("profile", TRACED.with_suffix(".etdp"), TRACED.with_suffix(".pte"), "--method", "image")
    assert names.code == 1 and "a run calls what no method of" in names.stderr


def test_pieces_that_the_runtime_dropped_or_added_have_no_line(tmp_path):
    """Where the counts differ it is not known which one is missing; others are joined all the same."""
    mapped = json.loads(TRACED.with_suffix(".json").read_text())
    calls = mapped["methods"]["image"]["instructions"][0]
    row = next(row for row in calls["delegate_map"] if row["identifier"] == "Convolution #2")
    calls["delegate_map"].append({"identifier": "Convolution #3", "handles": row["handles"]})
    other = tmp_path / "other.json"
    other.write_text(json.dumps(mapped))
    method = json.loads(traced("--json", map=other))["methods"][0]
    lines = {piece["identifier"]: piece["lines"] for piece in method["instructions"][0]["pieces"]}
    assert {name for name, line in lines.items() if not line} == {"Convolution (NHWC, F32) IGEMM #1", "Convolution (NHWC, F32) DWConv #1"}
    calls["delegate_map"] = [row for row in calls["delegate_map"] if row["identifier"] not in ("Convolution #2", "Convolution #3")]
    other.write_text(json.dumps(mapped))
    method = json.loads(traced("--json", map=other))["methods"][0]
    again = {piece["identifier"]: piece["lines"] for piece in method["instructions"][0]["pieces"]}
    assert {name for name, line in again.items() if not line} == {name for name, line in lines.items() if not line}


def test_a_method_is_known_by_what_a_run_leaves_out(tmp_path):
    """All in front of the first jump is called, so a run without it is of a shorter method."""
    model = tmp_path / "m.ir"
    model.write_text(
        'program\nmethod a(%x: f32[4]) {\n  %y: f32[4] = aten.tan.default(%x) #1 from "m.py":1\n  return %y\n}\n'
        'method b(%x: f32[4]) {\n  %y: f32[4] = aten.tan.default(%x) #2 from "m.py":2\n  %z: f32[4] = aten.cos.default(%y) #3 from "m.py":3\n'
        "  return %z\n}\n"
    )
    lower(model, tmp_path / "m.pte", "--debug-map", tmp_path / "m.json")
    tan, cos = (event("OPERATOR_CALL", 7, i) for i in (0, 1))
    dump = write_dump(tmp_path / "m.etdp", [run([tan, event("Method::execute", 9)]), run([tan, cos, event("Method::execute", 20)])])
    for words in ("--debug-map", tmp_path / "m.json"), (tmp_path / "m.pte",):
        methods = json.loads(depute("profile", dump, *words, "--json").stdout)["methods"]
        assert [(method["method"], method["ticks"]) for method in methods] == [("a", 9), ("b", 20)]


def test_a_run_of_one_branch_is_of_its_method(tmp_path):
    """Behind a jump not all is called."""
    model = tmp_path / "m.ir"
    model.write_text(
        "program\nmethod forward(%p: bool[], %x: f32[4]) {\n"
        '  graph @yes(%a: f32[4]) {\n    %s: f32[4] = aten.tan.default(%a) #1 from "m.py":1\n    return %s\n  }\n'
        '  graph @no(%a: f32[4]) {\n    %s: f32[4] = aten.cos.default(%a) #2 from "m.py":2\n    return %s\n  }\n'
        "  %y: f32[4] = higher_order.cond(%p, @yes, @no, [%x]) #3\n  return %y\n}\n"
    )
    lower(model, tmp_path / "m.pte", "--debug-map", tmp_path / "m.json")
    instructions = json.loads((tmp_path / "m.json").read_text())["methods"]["forward"]["instructions"]
    at = {each["name"]: each["index"] for each in instructions if each["kind"] == "kernel"}
    jump = next(each["index"] for each in instructions if each["kind"] == "jump")
    events = [event("JF_CALL", 1, jump), event("OPERATOR_CALL", 7, at["aten::cos.out"]), event("Method::execute", 9)]
    for words in ("--debug-map", tmp_path / "m.json"), (tmp_path / "m.pte",):
        done = depute("profile", write_dump(tmp_path / "m.etdp", [run(events)]), *words, "--json")
        assert done.code == 0, done.stderr
        assert [row["ticks"] for row in json.loads(done.stdout)["methods"][0]["by_kernel"]] == [7, 1, 1]


def test_long_names_are_cut_between_characters(tmp_path):
    for shift in range(3):
        name = "x" * shift + "\N{HIRAGANA LETTER A}" * 40
        dump = write_dump(tmp_path / "m.etdp", [run([event(name, 5, 0), event("Method::execute", 9)])])
        assert depute("profile", dump).code == 0


def test_wrong_files(xnnpack, tmp_path):
    bad = tmp_path / "bad"

    def refused(*words, code=1):
        done = depute("profile", *words)
        assert done.code == code and len(done.diagnostics) == 1 and not done.stdout, (words, done.stderr)
        return done.stderr

    refused(tmp_path / "absent")
    assert 'no "ED00" here' in refused(xnnpack.pte)
    assert "has no run of a method" in refused(write_dump(bad, [run([event("Method::init", 3)], "Default")]))
    eons = [event("Method::execute", 2**63, start=0), event("Method::execute", 2**63, start=0)]
    assert "run_data[0].events[1]: with this one, the times of all events sum to over 64 bits" in refused(write_dump(bad, [run(eons)]))
    dump = xnnpack.etdp.read_bytes()
    for size in [0, 3, 11, 12, *range(16, len(dump) - 1, 97), len(dump) - 1]:
        bad.write_bytes(dump[:size])
        refused(bad)
    for at in range(12, len(dump), 11):
        bad.write_bytes(dump[:at] + bytes([dump[at] ^ 0x55]) + dump[at + 1 :])
        done = depute("profile", bad, "--debug-map", xnnpack.map)
        assert done.code in (0, 1, 2), done.stderr
    reader = xnnpack.map.read_text()
    others = ["", "[]", "{}", '{"version": 2}', reader[:-40], reader.replace('"index": 0', '"index": 7'), reader.replace('"handles"', '"h"')]
    for text in [*others, reader.replace('"identifier": "Transpose #1"', '"identifier": {}'), re.sub(r'"handles": {\s*"1"', '"handles": {"x"', reader)]:
        bad.write_text(text)
        refused(xnnpack.etdp, "--debug-map", bad)
    refused(xnnpack.etdp, "--report", tmp_path / "absent" / "p.html")
    for read in xnnpack.etdp, xnnpack.map, xnnpack.pte:
        before = read.read_bytes()
        refused(xnnpack.etdp, xnnpack.pte, "--debug-map", xnnpack.map, "--report", read, code=2)
        assert read.read_bytes() == before
    refused(xnnpack.etdp, "--top", "-1", code=2)
    refused(code=2)


def dump_of_python(pte, etdp, inputs):
    program = Runtime.get().load_program(pte, verification=Verification.Minimal, enable_etdump=True)
    method = program.load_method("forward")
    for _ in range(3):
        method.execute(inputs)
    program.write_etdump_result_to_file(str(etdp), str(etdp.with_suffix(".bin")))


def dump_of_the_example(pte, etdp, inputs):
    """By examples/profile, compiled as its README says."""
    readme = (ROOT / "examples" / "profile" / "README.md").read_text()
    command = re.findall(r"```sh\n(.*?)```", readme, re.S)[0].replace("python3", sys.executable)
    main = ROOT / "examples" / "profile" / "main.cpp"
    subprocess.run(["bash", "-ec", command.replace("main.cpp", str(main))], cwd=etdp.parent, check=True)
    sizes = [str(size) for size in inputs[0].shape]
    subprocess.run([etdp.parent / "profile", pte, etdp, *sizes], check=True, capture_output=True)


@pytest.mark.skipif(installed("executorch").startswith("1.4"), reason="its runtime writes no dump")
@pytest.mark.parametrize("dump", [dump_of_python, dump_of_the_example])
@pytest.mark.parametrize("backend", ["xnnpack", "portable"])
def test_dumps_of_the_stock_runtime(dump, backend, tmp_path):
    """All instructions and the delegate's pieces are known, with the times that the Inspector gives."""
    pte, etdp = tmp_path / "m.pte", tmp_path / "m.etdp"
    lower(MODEL, pte, "--debug-map", tmp_path / "m.json", *(() if backend == "portable" else ("--backend", backend)))
    dump(pte, etdp, [torch.randn(1, 3, 8, 8)])
    done = depute("profile", etdp, "--debug-map", tmp_path / "m.json", "--json")
    assert done.code == 0, done.stderr
    (method,) = json.loads(done.stdout)["methods"]
    raw = {key: sum(times) for key, times in inspected(etdp).items()}
    assert method["runs"] == 3 and method["ticks"] == raw["Method::execute", None, None]
    mapped = json.loads((tmp_path / "m.json").read_text())["methods"]["forward"]["instructions"]
    assert len(method["instructions"]) == len(mapped) and all(each["ticks"] > 0 for each in method["instructions"])
    for each in method["instructions"]:
        call = "DELEGATE_CALL" if mapped[each["index"]]["kind"] == "delegate" else "OPERATOR_CALL"
        assert each["ticks"] == raw[call, each["index"], None]
    pieces = [piece for each in method["instructions"] for piece in each["pieces"]]
    assert (backend == "xnnpack") == bool(pieces) and all(piece["lines"] for piece in pieces), pieces


@pytest.mark.skipif(not installed("executorch").startswith("1.4"), reason="later ones write dumps")
def test_the_runtime_of_1_4_traces_nothing(xnnpack, tmp_path):
    dump_of_python(xnnpack.pte, tmp_path / "m.etdp", [torch.randn(1, 3, 8, 8)])
    assert not (tmp_path / "m.etdp").exists()
