"""depute graph: drawings that tell the program as the report does, in the forms that other tools read."""

import json
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import dacite
import pytest
from architectures import path
from harness import MODELS, SUPPORTED, depute, lower, sample
from model_explorer import graph_builder
from report_pages import Browser

MODELS_DRAWN = [sample(name) for name in ("conv_relu_tan", "attn", "cond", "dynamic", "mutbuf", "multi", "tied", "extra/loops")]
BACKENDS = {"portable": (), "xnnpack": ("--backend", "xnnpack")}
VIT = MODELS / "architectures" / "timm.test_vit.pt2"


def drawn(model, *options) -> dict:
    run = depute("graph", model, *options)
    assert run.code == 0, run.stderr
    return json.loads(run.stdout)


def explained(model, *options) -> dict:
    return json.loads(depute("explain", model, *options, "--json").stdout)


def facts(node) -> dict:
    return {each["key"]: each["value"] for each in node["attrs"]}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("model", MODELS_DRAWN, ids=lambda path: path.stem)
def test_model_explorer_takes_the_graphs_and_every_node_is_in_one(model, backend):
    told = drawn(model, *BACKENDS[backend])
    ids = [graph["id"] for graph in told["graphs"]]
    assert len(set(ids)) == len(ids)
    for graph in told["graphs"]:
        # Model Explorer's own classes, which know no other fields.
        parsed = dacite.from_dict(graph_builder.Graph, graph, dacite.Config(strict=True))
        names = [node.id for node in parsed.nodes]
        assert len(set(names)) == len(names)
        outputs = {node.id: len(node.outputsMetadata) for node in parsed.nodes}
        for node in parsed.nodes:
            assert set(node.subgraphIds) <= set(ids)
            for edge in node.incomingEdges:
                assert int(edge.sourceNodeOutputId) < outputs[edge.sourceNodeId], (graph["id"], node.id, edge)
    report = explained(model, *BACKENDS[backend])
    wanted = [
        (each["delegate"] or "/".join(filter(None, (each["method"], each.get("graph")))), "%" + each["name"], each["owner"])
        for each in report["nodes"]
    ]
    given = [
        (graph["id"], node["id"], facts(node)["owner"])
        for graph in told["graphs"]
        for node in graph["nodes"]
        if node["id"].startswith("%")
    ]
    assert sorted(given) == sorted(wanted)
    assert {d["name"] for d in report["delegates"]} == {i for g in told["graphs"] for n in g["nodes"] for i in n.get("subgraphIds", ())}


def test_nodes_tell_their_owner_reason_and_module():
    told = drawn(sample("conv_relu_tan"), "--backend", "xnnpack")
    nodes = {graph["id"]: {node["id"]: node for node in graph["nodes"]} for graph in told["graphs"]}
    assert list(nodes) == ["forward", "xnnpack0"]
    tan = nodes["forward"]["%tan"]
    assert facts(tan)["owner"] == "portable" and "xnnpack: op" in facts(tan)["reason"]
    assert [edge["sourceNodeId"] for edge in tan["incomingEdges"]] == ["xnnpack0"]
    assert nodes["xnnpack0"]["%convolution"]["namespace"] == "conv"
    assert [edge["sourceNodeId"] for edge in nodes["xnnpack0"]["%relu"]["incomingEdges"]] == ["%convolution"]
    assert [edge["sourceNodeId"] for edge in nodes["forward"]["xnnpack0"]["incomingEdges"]] == ["input %x"]
    assert tan["style"]["backgroundColor"] != nodes["forward"]["xnnpack0"]["style"]["backgroundColor"]
    nested = drawn(VIT) if VIT.exists() else None
    assert nested is None or any(node["namespace"].startswith("blocks/0/attn") for node in nested["graphs"][0]["nodes"])


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        return taken.getsockname()[1]


def wait_for(what, seconds=90):
    for _ in range(2 * seconds):
        if found := what():
            return found
        time.sleep(0.5)
    raise AssertionError("it did not happen")


def answers(url) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


def test_model_explorer_itself_opens_it(tmp_path):
    graph, port = tmp_path / "graph.json", free_port()
    assert depute("graph", sample("conv_relu_tan"), "--backend", "xnnpack", "-o", graph).code == 0
    explorer = Path(sys.executable).parent / "model-explorer"
    words = [explorer, graph, "--no_open_in_browser", "--host", "localhost", "--port", str(port)]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        url = f"http://localhost:{port}/"
        wait_for(lambda: answers(url))
        with Browser(1000, 700, webgl=True) as browser:
            browser.driver.get(url + "?" + urllib.parse.urlencode({"data": json.dumps({"models": [{"url": str(graph)}]})}))
            text = lambda: browser.script("return document.body.innerText")  # noqa: E731
            wait_for(lambda: "op node count" in text())
            # The input, the delegate, the tan and the output.
            assert re.search(r"op node count\s+4\b", text()) and "conv_relu_tan.pt2" in text()
    finally:
        server.terminate()
        server.wait(timeout=30)


@pytest.mark.parametrize("options", ["--backend xnnpack", "--backend xnnpack --inline-delegates", "--backend xnnpack --ptd data.ptd", "--stack-traces"])
@pytest.mark.parametrize("name", SUPPORTED)
def test_the_adapter_for_programs_reads_what_depute_writes(name, options, tmp_path):
    """Arm's adapter of Model Explorer has the nodes of `depute graph`, and a graph for each delegate."""
    adapter = pytest.importorskip("pte_adapter_model_explorer.main").PTEAdapter()
    pte = tmp_path / "program.pte"
    lower(sample(name), pte, *options.replace("data.ptd", str(tmp_path / "data.ptd")).split())
    programs, *delegates = adapter.convert(str(pte), {})["graphCollections"]
    ours = {graph["id"]: [node["label"] for node in graph["nodes"] if node["id"].startswith("instruction")] for graph in drawn(pte)["graphs"]}
    assert [graph.id for graph in programs.graphs] == list(ours)
    calls = 0
    for graph in programs.graphs:
        instructions = [node.label for node in graph.nodes if node.namespace == graph.id]
        for label, known in zip(instructions, ours[graph.id], strict=True):  # without the overload: aten::tan.out
            assert label == known.split(".")[0] or label.lower().startswith(known), (label, known)
        names = {node.id for node in graph.nodes}
        assert all(edge.sourceNodeId in names for node in graph.nodes for edge in node.incomingEdges)
        calls += instructions.count("XnnpackBackend")
    payloads = [graph for collection in delegates for graph in collection.graphs]
    assert len(payloads) == calls and (calls > 0) == ("xnnpack" in options)
    assert all(len(graph.nodes) > 2 for graph in payloads)  # nodes beside the inputs and the outputs


def test_the_adapter_finds_the_values_of_a_transformer(tmp_path):
    """It takes the numbers of values for their indices, also where passes left values that no node uses."""
    adapter = pytest.importorskip("pte_adapter_model_explorer.main").PTEAdapter()
    lower(path("dinov3_vit"), tmp_path / "vit.pte", "--backend", "xnnpack")
    _, *delegates = adapter.convert(str(tmp_path / "vit.pte"), {})["graphCollections"]
    assert max(len(graph.nodes) for collection in delegates for graph in collection.graphs) > 20


def test_a_pte_is_drawn_by_its_instructions(tmp_path):
    pte = tmp_path / "program.pte"
    assert depute("lower", sample("conv_relu_tan"), "--backend", "xnnpack", "-o", pte).code == 0
    [graph] = drawn(pte)["graphs"]
    chain = [(node["id"], node["label"], [edge["sourceNodeId"] for edge in node["incomingEdges"]]) for node in graph["nodes"]]
    assert chain == [
        ("input 0", "input 0", []),
        ("instruction 0", "XnnpackBackend", ["input 0"]),
        ("instruction 1", "aten::tan.out", ["instruction 0"]),
        ("output", "output", ["instruction 1"]),
    ]


def test_what_reads_a_value_twice_has_one_edge_of_it(tmp_path):
    model, pte = tmp_path / "m.ir", tmp_path / "m.pte"
    model.write_text(
        "program\nmethod forward(%x: f32[4]) {\n  %a: f32[4] = aten.tan.default(%x)\n  %b: f32[4] = aten.mul.Tensor(%a, %a)\n"
        "  %c: f32[4] = aten.add.Tensor(%b, %x)\n  return %c, %c\n}\n"
    )
    assert depute("lower", model, "-o", pte).code == 0
    for file, edges in (model, [[], ["input %x"], ["%a"], ["%b", "input %x"], ["%c"]]), (
        pte,
        [[], ["input 0"], ["instruction 0"], ["instruction 1", "input 0"], ["instruction 2"]],
    ):
        [graph] = drawn(file)["graphs"]
        assert [[edge["sourceNodeId"] for edge in node["incomingEdges"]] for node in graph["nodes"]] == edges


def test_dot(tmp_path):
    text = depute("graph", sample("attn"), "--backend", "xnnpack", "--format", "dot").stdout
    names = set(re.findall(r"^    (g\d+n\d+) \[", text, re.MULTILINE))
    ends = re.findall(r"^    (g\d+n\d+) -> (g\d+n\d+) \[", text, re.MULTILINE)
    told = drawn(sample("attn"), "--backend", "xnnpack")
    assert len(names) == sum(len(graph["nodes"]) for graph in told["graphs"])
    assert len(ends) == sum(len(node["incomingEdges"]) for graph in told["graphs"] for node in graph["nodes"])
    assert {end for pair in ends for end in pair} <= names
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg", "-o", tmp_path / "graph.svg"], input=text.encode(), check=True, timeout=60)


def boxes_of(svg: str):
    name = "{http://www.w3.org/2000/svg}"
    root = ElementTree.fromstring(svg)
    rects = [group.find(f"{name}rect") for group in root.iter(f"{name}g") if group.find(f"{name}rect") is not None]
    return root, [tuple(float(rect.get(key)) for key in ("x", "y", "width", "height")) for rect in rects]


@pytest.mark.parametrize("model", MODELS_DRAWN, ids=lambda path: path.stem)
def test_boxes_of_a_picture_lie_apart_and_inside(model):
    for options in BACKENDS.values():
        root, boxes = boxes_of(depute("graph", model, *options, "--format", "svg").stdout)
        told = drawn(model, *options)
        inner = {i for g in told["graphs"] for n in g["nodes"] for i in n.get("subgraphIds", ())}
        assert len(boxes) == sum(len(graph["nodes"]) for graph in told["graphs"] if graph["id"] not in inner)
        width, height = float(root.get("width")), float(root.get("height"))
        for i, (x, y, w, h) in enumerate(boxes):
            assert 0 <= x and x + w <= width + 1 and 0 <= y and y + h <= height + 1
            for ox, oy, ow, oh in boxes[:i]:
                assert x + w <= ox + 0.2 or ox + ow <= x + 0.2 or y + h <= oy or oy + oh <= y


def test_a_picture_opens_in_a_browser_and_names_stay_text(tmp_path):
    model = tmp_path / "odd.ir"
    model.write_text(
        'program\n\nmethod forward(%x: f32[4]) {\n  %a: f32[4] = aten.tan.default(%x) #1 from "<b>&.py":1 "m"\n  return %a\n}\n'
    )
    svg = tmp_path / "odd.svg"
    assert depute("graph", model, "--format", "svg", "-o", svg).code == 0
    with Browser(600, 500) as browser:
        browser.driver.get(svg.as_uri())
        titles = browser.script("return [...document.querySelectorAll('g > title')].map((title) => title.textContent)")
        assert any("source: <b>&.py:1 (m)" in title for title in titles)
        assert browser.requests == [svg.as_uri()] and browser.console == []


def test_wrong_words(tmp_path):
    model = sample("mlp")
    assert depute("graph").code == 2
    assert depute("graph", model, "--format", "png").code == 2
    assert depute("graph", model, "--backend", "nosuch").code == 2
    assert depute("graph", tmp_path / "absent.pt2").code == 1
    broken = tmp_path / "broken.pte"
    assert depute("lower", model, "-o", broken).code == 0
    broken.write_bytes(broken.read_bytes()[:200])
    run = depute("graph", broken, "-o", tmp_path / "out.json")
    assert run.code == 1 and len(run.diagnostics) == 1 and not (tmp_path / "out.json").exists()
    before = broken.read_bytes()
    assert depute("graph", broken, "-o", broken).code == 2
    assert broken.read_bytes() == before


def test_annotations_tell_unmet_requirements_and_undelegated_nodes_at_their_lines(tmp_path):
    out = tmp_path / "report.annotations"
    options = ("--backend", "xnnpack", "--require", "coverage>=95%", "--report", out, "-o", tmp_path / "out.pte")
    assert depute("lower", sample("conv_relu_tan"), *options).code == 3
    error, notice = out.read_text().splitlines()
    assert error.endswith("conv_relu_tan.pt2::not met: coverage>=95%25 (is 75.0%25)") and error.startswith("::error file=")
    assert re.match(r"::notice file=[^,:]+make_samples\.py,line=39::aten\.tan\.default \(1 node\) stays on", notice)


def test_annotations_of_names_with_marks_of_the_command(tmp_path):
    """A comma or a colon would end the file's name, a percent sign begin an escape."""
    model = tmp_path / "m.ir"
    model.write_text('program\nmethod forward(%x: f32[4]) {\n  %t: f32[4] = aten.tan.default(%x) from "a,b:50%.py":7\n  return %t\n}\n')
    out = tmp_path / "r.annotations"
    assert depute("lower", model, "--backend", "xnnpack", "--report", out, "-o", tmp_path / "m.pte").code == 0
    assert out.read_text().startswith("::notice file=a%2Cb%3A50%25.py,line=7::aten.tan.default (1 node) stays on")
