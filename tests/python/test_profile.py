"""depute profile: an ETDump joined with the debug map. The stock wheel's runtime is built without event tracing (it writes no
dump), so the dumps here are what ExecuTorch's own serialiser writes of events as its runtime makes them, and ExecuTorch's
Inspector is what the numbers are compared with."""

import json
import re
import struct
import subprocess

import pytest
from executorch.devtools import Inspector
from executorch.devtools.etdump import schema_flatcc as flatcc
from executorch.devtools.etdump.serialize import serialize_to_etdump_flatcc
from executorch.runtime import Runtime, Verification
from harness import DEPUTE, ROOT, depute, lower, sample

MODEL = sample("conv_relu_tan")


def event(name, ticks, instruction=-1, piece=None, start=1000):
    return flatcc.Event(
        profile_event=flatcc.ProfileEvent(
            name=name,
            chain_index=0 if instruction >= 0 else -1,
            instruction_id=instruction,
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
            events.append(event("", 500 * factor, i, "Convolution (NHWC, F32) IGEMM"))
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


def test_totals_are_those_of_the_dump(dumped):
    profile = json.loads(dumped.profile("--json"))
    (method,) = profile["methods"]
    assert method["method"] == "forward" and method["runs"] == 3
    inspected = Inspector(etdump_path=str(dumped.etdp))
    raw = {}  # by name, instruction and the backend's identifier, in nanoseconds
    for block in inspected.event_blocks:
        for each in block.events:
            at = each._instruction_id if each._instruction_id not in (None, -1) else None
            key = each.name, at, each.delegate_debug_identifier
            raw[key] = raw.get(key, 0) + round(sum(each.perf_data.raw) * 1e6)
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
        known = [piece for piece in each["pieces"] if not piece["identifier"].startswith("Conv")]
        assert all(piece["lines"] for piece in known)
        assert all(not piece["lines"] for piece in each["pieces"] if piece not in known)
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
    assert "note:" not in text and "Convolution (NHWC, F32) IGEMM" in text
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
        assert f"<code>{row['name']}</code></td><td class=\"number\">{row['ticks'] / 3e6:.3f}</td>" in html
    names = [run([event("<b>&", 5, 0, "<i>x"), event("DELEGATE_CALL", 9, 0), event("Method::execute", 9)])]
    dump = write_dump(tmp_path / "<u>.etdp", names)
    assert depute("profile", dump, "--report", page).code == 0
    assert "&lt;i>x" in page.read_text() and "<i>" not in page.read_text() and "<u>" not in page.read_text()


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
    for text in [*others, reader.replace('"identifier": 0', '"identifier": {}'), re.sub(r'"handles": {\s*"1"', '"handles": {"x"', reader)]:
        bad.write_text(text)
        refused(xnnpack.etdp, "--debug-map", bad)
    refused(xnnpack.etdp, "--report", tmp_path / "absent" / "p.html")
    refused(xnnpack.etdp, "--report", xnnpack.etdp, code=2)
    refused(xnnpack.etdp, "--top", "-1", code=2)
    refused(code=2)


def test_the_stock_runtime_traces_nothing(xnnpack, tmp_path):
    """When this fails the wheel can trace: then its dumps belong into these tests."""
    import torch

    program = Runtime.get().load_program(xnnpack.pte, verification=Verification.Minimal, enable_etdump=True)
    program.load_method("forward").execute([torch.randn(1, 3, 8, 8)])
    program.write_etdump_result_to_file(str(tmp_path / "m.etdp"), str(tmp_path / "m.bin"))
    assert not (tmp_path / "m.etdp").exists()
