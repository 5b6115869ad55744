"""depute diff: what changed between two lowerings, whatever they are given as, and nothing else."""

import json
import re

import pytest
import torch
from harness import depute, page_data, sample
from report_pages import Browser

CONV = sample("conv_relu_tan")
RESIDUAL = """program
data "w": f32[4, 4] = random({seed})

method forward(%w: f32[4, 4] = param "w", %x: f32[2, 4]) {{
  %relu: f32[2, 4] = aten.relu.default(%x) #1 from "model.py":3 "act"
  %mm: f32[2, 4] = aten.mm.default(%relu, %w) #2 from "model.py":4 "fc"
  %gelu: f32[2, 4] = aten.gelu.default(%mm) #3 from "model.py":5 "act"
  %relu_1: f32[2, 4] = aten.relu.default(%gelu) #4 from "model.py":6 "act"
  return %relu_1
}}
"""


def diff(*arguments) -> dict:
    run = depute("diff", *arguments, "--json")
    told = json.loads(run.stdout)
    assert run.code == (0 if told["same"] else 3), run.stderr
    return told


def lowered(model, folder, name, *options):
    """A .pte and its report."""
    pte, report = folder / f"{name}.pte", folder / f"{name}.json"
    assert depute("lower", model, *options, "-o", pte, "--report", report).code == 0
    return pte, report


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.ir"
    path.write_text(RESIDUAL.format(seed=1))
    return path


def test_a_tightened_rule_moves_exactly_its_nodes(model):
    told = diff(model, model, "--backend", "xnnpack", "--to-backend", "xnnpack:off=op:relu")
    moved = [(node["name"], node["owner_before"], node["owner_after"]) for node in told["moved"]]
    assert moved == [("relu", "xnnpack", "portable"), ("relu_1", "xnnpack", "portable")]
    assert [node["source"] for node in told["moved"]] == ["model.py:3 (act)", "model.py:6 (act)"]
    assert [[reason["seen"] for reason in node["reasons_after"]] for node in told["moved"]] == [["off=op:relu"]] * 2
    assert told["weights"] == told["only_before"] == told["only_after"] == told["other_reason"] == []
    assert told["delegates"] == [
        {
            "name": "xnnpack0",
            "is_new": False,
            "nodes": 4,
            "parts": [{"place": "portable", "nodes": 2}, {"place": "xnnpack0", "nodes": 2}],
        }
    ]
    assert {"method": "forward", "callee": "aten::relu.out", "before": 0, "after": 2} in told["instructions"]
    text = depute("diff", model, model, "--backend", "xnnpack", "--to-backend", "xnnpack:off=op:relu").stdout
    assert text.split("Moved nodes, by line of the model: 2\n")[1].startswith(
        "  model.py:3 (act)\n"
        "    %relu = aten.relu.default: xnnpack -> portable, xnnpack: pinned (off=op:relu)\n"
        "  model.py:6 (act)\n"
        "    %relu_1 = aten.relu.default: xnnpack -> portable, xnnpack: pinned (off=op:relu)\n"
        "Delegates with other nodes: 1\n"
        "  xnnpack0 (4 nodes): to portable 2, xnnpack0 2\n"
    )


def test_where_most_of_a_delegate_went_is_told_first(model):
    told = diff(model, model, "--backend", "xnnpack", "--to-backend", "xnnpack:off=node:relu")
    assert told["delegates"][0]["parts"] == [{"place": "xnnpack0", "nodes": 3}, {"place": "portable", "nodes": 1}]


def test_a_node_that_went_to_another_body_is_another_node(tmp_path):
    """Of the same name, line and op."""
    body = "  graph @{}(%a: f32[4]) {{\n    %s: f32[4] = aten.{}.default(%a) from \"m.py\":1\n    return %s\n  }}\n"
    end = "  %y: f32[4] = higher_order.cond(%p, @yes, @no, [%x])\n  return %y\n}\n"
    models = []
    for name, ops in ("a", ("tan", "cos")), ("b", ("cos", "tan")):
        models.append(tmp_path / f"{name}.ir")
        models[-1].write_text("program\nmethod forward(%p: bool[], %x: f32[4]) {\n" + "".join(map(body.format, ("yes", "no"), ops)) + end)
    told = diff(*models)
    for side, ops in ("only_before", ["tan", "cos"]), ("only_after", ["cos", "tan"]):
        assert [node["op"] for node in told[side]] == [f"aten.{op}.default" for op in ops]


def test_the_other_way_round_tells_what_the_reason_was(model):
    text = depute("diff", model, model, "--backend", "xnnpack:off=op:gelu", "--to-backend", "xnnpack").stdout
    assert "    %gelu = aten.gelu.default: portable -> xnnpack, before: xnnpack: pinned (off=op:gelu)\n" in text


def test_reports_and_files_tell_the_same_as_models(model, tmp_path):
    options = ("--backend", "xnnpack"), ("--backend", "xnnpack:off=op:relu")
    (pte_a, report_a), (pte_b, report_b) = (lowered(model, tmp_path, name, *o) for name, o in zip("ab", options))
    whole = diff(model, model, *options[0], "--to-backend", options[1][1])
    by_report = diff(report_a, report_b)
    for key in ("moved", "delegates", "other_reason", "only_before", "only_after"):
        assert by_report[key] == whole[key]
    by_file = diff(pte_a, pte_b)
    for key in ("instructions", "payloads"):
        assert by_file[key] == whole[key] != []
    sizes = {figure["name"]: (figure["before"], figure["after"]) for figure in by_file["figures"]}
    assert sizes["bytes of the file"] == (pte_a.stat().st_size, pte_b.stat().st_size)
    assert diff(pte_a, model, *options[0])["same"] and diff(report_b, model, *options[1])["same"]
    assert by_file["not_compared"] == ["nodes and delegates: neither tells them"]


def test_weights_are_compared_by_content(model, tmp_path):
    other = tmp_path / "other.ir"
    other.write_text(RESIDUAL.format(seed=2))
    told = diff(model, other, "--backend", "xnnpack")
    assert told["weights"] == [{"change": "changed", "name": "w", "bytes_before": 64, "bytes_after": 64}]
    assert told["moved"] == []
    files = [lowered(each, tmp_path, each.stem, "--backend", "xnnpack")[0] for each in (model, other)]
    assert [weight["change"] for weight in diff(*files)["weights"]] == ["changed"]


class Layers(torch.nn.Module):
    """Layers whose weights get keys of their own: scaled by a norm, permuted, quantized, packed."""

    def __init__(self):
        super().__init__()
        convolutions = torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.BatchNorm2d(32), torch.nn.ReLU(), torch.nn.Conv2d(32, 32, 3, padding=1)
        self.features = torch.nn.Sequential(*convolutions)
        self.place = torch.nn.Parameter(torch.randn(1, 32, 8, 8))
        self.head = torch.nn.ModuleDict({"fc": torch.nn.Linear(32 * 64, 64), "out": torch.nn.Linear(64, 32)})

    def forward(self, x):
        x = (self.features(x) + self.place).flatten(1)
        return self.head["out"](torch.relu(self.head["fc"](x)))


@pytest.fixture(scope="module")
def layers(tmp_path_factory):
    """Files of one model: fp32, integers of 8 bits, and linear weights of 4 bits."""
    folder = tmp_path_factory.mktemp("layers")
    torch.manual_seed(0)
    with torch.no_grad():
        torch.export.save(torch.export.export(Layers().eval(), (torch.randn(1, 3, 8, 8),)), folder / "layers.pt2")
    options = {"f32": (), "int8": ("--quantize", "conv=8da8w", "--quantize", "linear=8da8w"), "int4": ("--quantize", "linear=8da4w:group=32")}
    return {name: lowered(folder / "layers.pt2", folder, name, "--backend", "xnnpack", *each)[0] for name, each in options.items()}


@pytest.mark.parametrize("name, names", [("int8", ["head.fc", "features.3", "head.out", "features.0"]), ("int4", ["head.fc", "head.out"])])
def test_quantized_weights_are_compared_layer_by_layer(layers, name, names):
    told = diff(layers["f32"], layers[name])
    assert [layer["name"] for layer in told["layers"]] == names
    for layer in told["layers"]:
        assert 0 < layer["bytes_after"] < layer["bytes_before"] / (3 if name == "int8" else 6), layer
    text = depute("diff", layers["f32"], layers[name], "--top", 1).stdout
    assert f"Modules with other weights: {len(names)}\n  head.fc: 524288 -> " in text and "xnn:" not in text
    assert f"  and {len(names) - 1} more; --top 0 lists all\n" in text


def test_sizes_name_weights_as_the_model_does(layers):
    for name, weight in {"f32": "head.fc.weight", "int8": "head.fc.weight.int8.2048", "int4": "head.fc.weight.int4.32"}.items():
        text = depute("size", layers[name], "--top", 0).stdout
        assert f" named data {weight}, delegate 0 of forward (XnnpackBackend)\n" in text and "xnn:" not in text, text


def test_the_page_names_weights_as_the_model_does(layers, tmp_path):
    model, page = layers["f32"].with_name("layers.pt2"), tmp_path / "page.html"
    assert depute("lower", model, "--backend", "xnnpack", "-o", tmp_path / "page.pte", "--report", page).code == 0
    names = [name for _, _, _, name in page_data(page)["ledger"]["entries"]]
    assert {"head.fc.weight", "features.3.weight", "head.out.weight", "place", "features.0.weight"} <= set(names)
    assert not any(":" in name for name in names), names


def test_a_line_inserted_above_moves_nothing(model, tmp_path):
    later = tmp_path / "later.ir"
    later.write_text(re.sub(r'"model.py":(\d)', lambda line: f'"model.py":{int(line[1]) + 2}', RESIDUAL.format(seed=1)))
    assert diff(model, later, "--backend", "xnnpack")["same"]


def test_new_and_removed_nodes(model, tmp_path):
    less = tmp_path / "less.ir"
    text = RESIDUAL.format(seed=1).replace("return %relu_1", "return %gelu")
    less.write_text("".join(line for line in text.splitlines(True) if "%relu_1:" not in line))
    told = diff(model, less)
    assert [node["name"] for node in told["only_before"]] == ["relu_1"] and told["only_after"] == []
    assert [node["name"] for node in diff(less, model)["only_after"]] == ["relu_1"]


@pytest.mark.parametrize("name", ["conv_relu_tan", "attn", "cond", "mutbuf", "multi", "dynamic"])
def test_a_model_is_the_same_as_itself(name):
    run = depute("diff", sample(name), sample(name), "--backend", "xnnpack")
    assert run.code == 0, run.stdout
    assert run.stdout.endswith("No difference\n")


def test_the_page_says_the_same_and_asks_for_nothing(model, tmp_path):
    page = tmp_path / "page.html"
    odd = tmp_path / "odd.ir"
    odd.write_text(model.read_text().replace('"model.py":3', '"<script>x()</script>.py":3'))
    run = depute("diff", odd, odd, "--backend", "xnnpack", "--to-backend", "xnnpack:off=op:relu", "--page", page)
    assert run.code == 3
    with Browser(390, 844) as browser:
        browser.driver.get(page.as_uri())
        rows = browser.script("return [...document.querySelectorAll('#moved tbody tr')].map((row) => row.innerText)")
        assert [row.split()[0] for row in rows] == ["<script>x()</script>.py:3", "model.py:6"]
        assert all("off=op:relu" in row for row in rows)
        assert browser.script("return document.documentElement.scrollWidth") <= 390
        heads = browser.script("return [...document.querySelectorAll('#moved th')].map((head) => head.textContent)")
        cells = browser.script(
            "return [...document.querySelector('#moved tbody tr').cells].map((cell) => [cell.dataset.column,"
            " getComputedStyle(cell, '::before').content, cell.innerText.trim()])"
        )
        assert heads == ["Line", "Node", "Before", "After", "Why"] == [name for name, *_ in cells]
        assert [cell for cell in cells if cell[1] != "none"] == [["Before", '"Before"', "xnnpack"], ["After", '"After"', "portable"]]
        assert browser.script("return document.scripts.length") == 0
        assert browser.requests == [page.as_uri()] and browser.console == []


def damaged(report: dict, **changes) -> str:
    return json.dumps(report | changes)


def test_damaged_reports_are_refused_with_their_place(tmp_path):
    report = json.loads(depute("explain", CONV, "--backend", "xnnpack", "--json").stdout)
    bad = tmp_path / "bad.json"
    for text, cause in [
        (damaged(report, version=3), "version (byte"),
        (damaged(report, nodes=[{"method": 1}]), "nodes[0].method"),
        (damaged(report, nodes={}), "nodes"),
        (damaged(report, delegates=[report["delegates"][0] | {"nodes": -1}]), "delegates[0].nodes"),
        (json.dumps(report)[:-40], "bad.json"),
        ("{}", "the field 'version' is missing"),
        ("{" * 100_000, "bad.json"),
    ]:
        bad.write_text(text)
        run = depute("diff", bad, CONV)
        assert run.code == 1 and not run.stdout and len(run.diagnostics) == 1
        assert cause in run.stderr and "[read_report]" in run.stderr, run.stderr


def test_wrong_words(model, tmp_path):
    assert depute("diff", model).code == 2
    assert depute("diff", model, "-").code == 2
    assert depute("diff", model, model, "--page", tmp_path / "page.txt").code == 2
    assert depute("diff", model, model, "--to-backend", "nosuch").code == 2
    assert depute("diff", model, tmp_path / "absent.pte").code == 1
    page = tmp_path / "model.html"
    page.symlink_to(model)
    before = model.read_text()
    assert depute("diff", model, model, "--page", page).code == 2
    assert model.read_text() == before
