"""The HTML report in a real browser: it opens from disk on all screens, asks for nothing, and what it says holds."""

import json
import re
import time

import architectures
import depute as package
import numpy
import pytest
from harness import MODELS, ROOT, depute, page_data, sample
from report_pages import Browser, write_page, write_program

SIZES = {"phone": (390, 844), "desktop": (1440, 900)}
NODES = (9, 500, 20_000)
ADVISED = ("convnext_tiny", "regnet", "lstm")
SAMPLES = ("conv_relu_tan", "attn", "cond", "dynamic", "mutbuf", "multi", "tied")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page for each number of nodes."""
    folder = tmp_path_factory.mktemp("pages")
    digits = ROOT / "examples" / "digits" / "digits.pt2"
    programs = {n: write_program(folder / f"nodes{n}.ir", n) for n in (500, 20_000)}
    return {n: write_page(model, folder) for n, model in {9: digits, **programs}.items()}


def details_of(browser) -> str:
    """What is shown of what is chosen, with plain blanks."""
    return browser.script("return document.getElementById('details').innerText").replace("\u00a0", " ")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("nodes", NODES)
def test_opens_on_all_screens(pages, nodes, dark, size):
    page = pages[nodes]
    assert page.stat().st_size < 2_000_000
    with Browser(*SIZES[size], dark=dark) as browser:
        browser.open(page)
        assert browser.script("return nodes.name.length") == nodes
        assert browser.script("return document.querySelectorAll('#figures .figure').length") >= 5
        # Nothing is wider than the screen, but for what scrolls by itself.
        assert browser.script("return document.documentElement.scrollWidth") <= SIZES[size][0]
        background = browser.script("return getComputedStyle(document.body).backgroundColor")
        assert (int(re.search(r"\d+", background)[0]) < 80) == dark
        # The graph is drawn: some pixel of its canvas is not clear.
        browser.script("paintGraph()")
        assert browser.is_painted("#graph")
        assert browser.requests == [page.resolve().as_uri()]
        assert browser.console == []


def test_quantized_layers_are_listed_worst_first(tmp_path):
    page = write_page(MODELS / "mlp10.pt2", tmp_path, "--quantize", "linear=8da8w")
    layers = sorted(page_data(page)["quantized"], key=lambda layer: layer["sqnr_db"])
    with Browser(1440, 900) as browser:
        browser.open(page)
        rows = browser.script("return [...document.querySelectorAll('#quantized-table tr')].slice(1).map((row) => row.innerText)")
        assert len(rows) == len(layers) > 1
        for row, layer in zip(rows, layers, strict=True):
            assert "%" + layer["node"] in row and f"{layer['sqnr_db']:.1f}" in row


def test_measured_plans_and_regions_are_listed_fastest_first(tmp_path):
    plan = {
        "version": 1, "backends": ["xnnpack:off=op:relu"], "together": False, "runner": "adb shell run", "ns": 2_000_000, "static_ns": 3_000_000,
        "tried": [
            {"backends": ["xnnpack"], "together": False, "program": "a", "ns": [3_100_000, 3_000_000]},
            {"backends": ["xnnpack", "openvino"], "together": True, "program": "b", "left_out": "it took too long"},
            {"backends": ["xnnpack:off=op:relu"], "together": False, "program": "c", "ns": [2_000_000]},
        ],
        "regions": [{"module": "layers.0", "lines": "m.py:3", "ns": {"XnnpackBackend": 900_000, "kernels": 500_000}}, {"lines": "m.py:7", "ns": {"XnnpackBackend": 100_000}}],
    }  # fmt: skip
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    model = write_program(tmp_path / "m.ir", 30)
    page = tmp_path / "m.html"
    run = depute("lower", model, "--plan", tmp_path / "plan.json", "--report", page, "-o", tmp_path / "m.pte")
    assert run.code == 0, run.stderr
    with Browser(1440, 900) as browser:
        browser.open(page)
        rows = lambda table: browser.script(f"return [...document.querySelectorAll('#{table} tbody tr')].map((row) => row.innerText.split(/\\s*[\\t\\n]\\s*/))")  # noqa: E731
        assert rows("plan-table") == [["xnnpack:off=op:relu", "2.00", "1.00"], ["xnnpack", "3.00", "1.50"], ["xnnpack + openvino, together", "it took too long", "\u2013", "\u2013"]]
        assert rows("region-table") == [["layers.0", "m.py:3", "0.900", "0.500"], ["m.py:7", "0.100", "\u2013"]]
        assert browser.script("return [...document.querySelectorAll('#region-table b')].map((cell) => cell.innerText)") == ["0.500", "0.100"]
        assert "adb shell run" in browser.script("return document.getElementById('plans-lead').innerText")
        assert browser.console == []


def test_the_curve_of_measured_precision(tmp_path):
    samples = tmp_path / "x.npz"
    numpy.savez(samples, arg0=numpy.random.default_rng(0).standard_normal((1, 200)).astype("f4"))
    page = write_page(MODELS / "mlp10.pt2", tmp_path, "--quantize", "auto:sqnr>=20", "--calibrate", samples)
    rules = page_data(page)["chosen_rules"]
    with Browser(1440, 900) as browser:
        browser.open(page)
        shown = browser.script("return [...document.querySelectorAll('#curve-plot code')].map((rule) => rule.innerText)")
        assert shown == [f"--quantize {rule}" for rule in rules["rules"]]
        browser.script("document.getElementById('curve').scrollIntoView()")
        assert any(browser.is_painted("#curve canvas") or time.sleep(0.1) for _ in range(50))
        assert browser.console == []


def test_keyboard_goes_from_module_to_node_to_line(pages):
    with Browser(1440, 900) as browser:
        browser.open(pages[500])
        press = (
            "const row = document.activeElement;"
            "row.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}));"
        )
        browser.script("document.querySelector('#tree [tabindex=\"0\"]').focus()")
        for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowDown", "ArrowRight", "ArrowDown", "Enter"):
            browser.script(press, key)
        details = details_of(browser)
        assert "%v0" in details and "aten.sigmoid.default" in details and "model.py:20" in details
        browser.script("graphCanvas.focus()")
        for _ in range(2):
            browser.script(press, "ArrowDown")
        assert browser.script("return chosen.kind") in ("node", "delegate")
        assert "xnnpack1" in details_of(browser)
        before = browser.script("return view.scale")
        browser.script(press, "+")
        assert browser.script("return view.scale") > before
        assert browser.console == []


def test_goes_from_reason_to_node_to_border(pages):
    """What a user does: the first reason, its node, the line, the value that crosses, the delegate beyond."""
    with Browser(1440, 900) as browser:
        browser.open(pages[500])
        browser.script("document.querySelector('#reason-table tbody button').click()")
        details = details_of(browser)
        assert "%v7" in details and "model.py:27" in details and "crosses a border" in details
        assert "xnnpack: op: aten.tan.default" in details
        browser.script("select({kind: 'delegate', id: delegateOf(inputsOf[7][0][0])})")
        details = details_of(browser)
        assert "Outputs: 1 value, 256 B" in details and "row-major" in details
        assert browser.script("return location.hash") == "#delegate=xnnpack0"
        assert browser.console == []


def test_borders_are_those_of_the_report(tmp_path, pages):
    """The page finds what crosses borders in its graph; the report counts the arguments of the calls."""
    models = [pages[500], *(write_page(sample(name), tmp_path) for name in SAMPLES)]
    with Browser(1440, 900) as browser:
        for page in models:
            browser.open(page)
            counts = "data.delegates.map((d, i) => [d.inputs, d.outputs])"
            found = "data.delegates.map((d, i) => [borderOf(i).into.length, borderOf(i).out.length])"
            assert browser.script(f"return {found}") == browser.script(f"return {counts}"), page.name


def test_text_of_a_model_is_no_script(tmp_path):
    model = tmp_path / "bad.ir"
    evil = "</script><img src=x onerror=window.evil=1><script>window.evil=1</script>"
    model.write_text(
        "program\nmethod forward(%x: f32[4]) {\n"
        f'  %a: f32[4] = aten.tan.default(%x) #1 from "{evil}":3 "{evil}"\n'
        "  %b: f32[4] = aten.relu.default(%a) #2\n  return %b\n}\n"
    )
    page = write_page(model, tmp_path)
    with Browser(1440, 900) as browser:
        browser.open(page)
        browser.script("select({kind: 'node', id: 0}); select({kind: 'module', id: data.strings[data.sources[0][2]]});")
        browser.script("find('script')")
        assert evil in browser.script("return JSON.stringify(data.strings)")
        assert browser.script("return window.evil") is None
        assert browser.script("return document.querySelectorAll('img').length") == 0
        assert browser.console == []
        assert browser.requests == [page.resolve().as_uri()]


def test_tables_are_cards_on_phones(pages):
    """Nothing of a table has to be found by scrolling sideways, and each number has the name of its column."""
    with Browser(*SIZES["phone"]) as browser:
        browser.open(pages[500])
        for table in ("reason-table", "delegate-table"):
            heads = browser.script(f"return [...document.querySelectorAll('#{table} th')].map((head) => head.textContent)")
            width, room = browser.script(f"const t = document.getElementById('{table}'); return [t.scrollWidth, t.parentElement.clientWidth]")
            assert 0 < width <= room
            row = browser.script(
                f"return [...document.querySelector('#{table} tbody tr').cells].map((cell) => [cell.dataset.column,"
                " cell.classList.contains('number') && getComputedStyle(cell, '::before').content, cell.getBoundingClientRect().right])"
            )
            assert [name for name, *_ in row] == heads
            assert all(shown is False or shown == f'"{name}"' for name, shown, _ in row) and any(shown for _, shown, _ in row)
            assert max(right for *_, right in row) <= SIZES["phone"][0]
        # Blocks that repeat one another stand in one row.
        own = browser.script("return data.delegates.filter((each) => !each.repeats).length")
        rows = browser.script("return [...document.querySelectorAll('#delegate-table tbody tr')].map((row) => row.cells[0].innerText)")
        assert len(rows) == own == 3 and sum("\u00d7" in row for row in rows) == 1
        browser.script("document.querySelector('#reason-table .more button')?.click()")
        assert browser.console == []


def test_a_tap_tells_what_a_box_is(tmp_path):
    """A box shows the end of its name, in which it differs from others; a finger sees all of it, until it does something else."""
    page = write_page(MODELS / "convnext_tiny.pt2", tmp_path)
    with Browser(*SIZES["phone"]) as browser:
        browser.open(page)
        shown = browser.script("return document.querySelector('.entry span').textContent")
        name = browser.script("return data.ledger.entries[0][3]")
        assert len(name) > 30 and shown.startswith("\u2026") and name.endswith(shown[1:]) and len(shown) > 5
        touch = "document.querySelector(arguments[0]).dispatchEvent(new PointerEvent(arguments[1], {pointerType: 'touch', bubbles: true}))"
        tip = "const tip = document.getElementById('tip'); return tip.hidden ? '' : tip.innerText"
        for event in ("pointerdown", "pointerleave"):
            browser.script(touch, ".entry", event)
        assert browser.script(tip).splitlines()[0] == name
        browser.script(touch, "h1", "pointerdown")
        assert browser.script(tip) == ""
        browser.script(touch, ".entry", "pointerdown")
        browser.script("scrollBy(0, 50)")
        time.sleep(0.3)
        assert browser.script(tip) == ""


def test_what_is_chosen_is_in_sight_on_phones(pages):
    """From a reason to its node, and from there to another by the graph: the line is on the screen each time."""
    with Browser(*SIZES["phone"]) as browser:
        browser.open(pages[500])
        browser.script("const b = document.querySelector('#reason-table tbody button'); b.scrollIntoView(); b.click()")
        seen = "const box = document.getElementById('details').getBoundingClientRect(); return [box.top, box.bottom, innerHeight]"
        for chosen in ("%v7", "%v17"):
            time.sleep(0.3)
            top, bottom, height = browser.script(seen)
            assert 0 < top < bottom <= height and bottom - top > 100 and chosen in details_of(browser)
            browser.script("document.getElementById('graph').scrollIntoView({block: 'start'}); select({kind: 'node', id: 17})")
        browser.command("Emulation.setEmulatedMedia", {"media": "print", "features": []})
        assert browser.script("return getComputedStyle(document.getElementById('details')).position") == "static"


def test_quantized_values_tell_their_scales(tmp_path):
    """At their nodes, and where they cross a border."""
    page = write_page(sample("qconv"), tmp_path, "--backend", "xnnpack:off=op:mean")
    told = page_data(page)["nodes"]
    scale = told["quantization"][str(told["name"].index("quantize_per_tensor_1"))]
    with Browser(1440, 900) as browser:
        browser.open(page)
        for name, has in (("quantize_per_tensor_1", True), ("convolution", False)):
            browser.script(f"select({{kind: 'node', id: nodes.name.indexOf('{name}')}})")
            assert (scale in details_of(browser)) == has == ("Quantization" in details_of(browser))
        borders = browser.script("return data.delegates.flatMap((_, i) => borderOf(i).out.map((value) => value.quantization))")
        assert any("scale=" in (each or "") for each in borders), borders


def test_ops_that_stand_in_one_line_are_advised_together(tmp_path):
    notes = notes_of_advice(architectures.path("bert.dynamic"), tmp_path)
    assert "All are on this line." in notes and any(note.startswith("Rejected because of ") for note in notes)


def test_what_would_be_slower_is_not_advised(tmp_path):
    advice = page_data(write_page(MODELS / "convnext_tiny.pt2", tmp_path))["advice"]
    assert not any("layer_norm" in each["what"] and each["flags"] for each in advice), advice


def test_bounds_are_advised_with_what_they_save(tmp_path):
    model = tmp_path / "open.ir"
    model.write_text(
        "program\ndim s0 in [1, 1000000]\nmethod forward(%x: f32[s0, 64]) {\n"
        "  %a: f32[s0, 64] = aten.tan.default(%x)\n  %b: f32[s0, 64] = aten.acos.default(%a)\n  return %b\n}\n"
    )
    page = write_page(model, tmp_path)
    (advice,) = [each for each in page_data(page)["advice"] if "--bound" in each["flags"]]
    assert advice["flags"] == "--backend xnnpack --bound s0=..2048" and advice["effect"].startswith("planned memory 256.0 MB -> ")
    assert any(note.startswith("Note: larger sizes") for note in notes_of_advice(model, tmp_path))
    assert_promise_is_kept(model, advice)


def notes_of_advice(model, folder):
    page = write_page(model, folder)
    with Browser(*SIZES["phone"]) as browser:
        browser.open(page)
        return browser.script("return [...document.querySelectorAll('#advice .note')].map((note) => note.textContent)")


def test_the_same_input_gives_the_same_page(tmp_path):
    texts = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        page = tmp_path / name / "page.html"
        assert depute("explain", sample("attn"), "--backend", "xnnpack", "--report", page).code == 0
        texts.append(re.sub(r'"times_ms":\{.*?\}', "", page.read_text()))
    assert texts[0] == texts[1]


def test_the_head_tells_the_command_the_version_and_the_day(tmp_path, monkeypatch):
    digits = ROOT / "examples" / "digits" / "digits.pt2"
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    made = page_data(write_page(digits, tmp_path, "--quantize", "linear=8da8w"))["made"]
    assert made["command"] == f"depute lower {digits} --quantize linear=8da8w --backend xnnpack" and made["date"] == ""
    assert made["version"] == depute("--version").stdout.strip()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1772323200")
    page = write_page(digits, tmp_path)
    with Browser(1440, 900) as browser:
        browser.open(page)
        assert browser.script("return document.getElementById('made').innerText").endswith(", 2026-03-01")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "today")
    assert page_data(write_page(digits, tmp_path))["made"]["date"] == ""


def test_only_parts_that_are_there_are_linked(tmp_path, pages):
    page = tmp_path / "explained.html"
    assert depute("explain", sample("mlp"), "--report", page).code == 0  # no file, so no bytes
    with Browser(1440, 900) as browser:
        for each in (page, pages[9]):
            browser.open(each)
            shown = browser.script("return [...document.querySelectorAll('nav a')].filter((a) => !a.hidden).map((a) => a.hash.slice(1))")
            there = browser.script("return ['todo', 'picture', 'reasons', 'delegates', 'memory', 'bytes'].filter((id) => !document.getElementById(id).hidden)")
            assert shown == there and ("bytes" in shown) == (each is not page)


def test_the_tree_follows_the_selection_and_the_sheet_closes(pages):
    with Browser(*SIZES["phone"]) as browser:
        browser.open(pages[500])
        for name in ("v333", "v12"):
            browser.script(f"select({{kind: 'node', id: nodes.name.indexOf('{name}')}})")
            assert browser.script("return document.querySelector('#tree .row.chosen .label').textContent") == name
            visible = "const row = document.querySelector('#tree .row.chosen').getBoundingClientRect(), tree = document.getElementById('tree').getBoundingClientRect(); return row.top >= tree.top - 1 && row.bottom <= tree.bottom + 1"
            assert browser.script(visible)
        assert browser.script("return document.getElementById('details').classList.contains('full')")
        browser.script("document.querySelector('#details .close').click()")
        assert not browser.script("return document.getElementById('details').classList.contains('full') || document.querySelector('#tree .row.chosen') || chosen")
        assert browser.console == []


def test_edges_tell_their_shapes(pages):
    with Browser(1440, 900) as browser:
        browser.open(pages[500])
        labels = browser.script("return layout.labels.map(([, label]) => label)")
        assert labels and set(labels) == {"f32[1, 64]"}


LONG_EDGES = """program

method forward(%x: f32[2, 4], %m: f32[2, 4]) {{
  %mask: bool[2, 4] = aten.gt.Scalar(%m, 0)
  %skip: f32[2, 4] = aten.sigmoid.default(%x)
  %v0: f32[2, 4] = aten.relu.default(%x)
{layers}
  return %v{count}
}}
"""

# Upright parts of lines that pass over a box or a node which they do not end at, and places of their ends.
OVER_BOXES = """
const boxes = layout.leaves.map(([, at]) => at).concat(layout.boxes.filter(([, , isOpen]) => !isOpen).map(([, at]) => at));
return layout.edges.flatMap(({ start, end, route }) => {
  const over = route.flatMap(([x, from, to]) => boxes.filter((at) => at !== start && at !== end && x > at.x && x < at.x + at.width && Math.max(from, at.y) < Math.min(to, at.y + at.height)));
  const [[firstX, first], [lastX, , last]] = [route[0], route[route.length - 1]];
  const joins = Math.abs(first - start.y - start.height) < 1 && Math.abs(last - end.y) < 1 && firstX > start.x && firstX < start.x + start.width && lastX > end.x && lastX < end.x + end.width;
  const isDownwards = route.every(([, from, to], i) => to >= from - 1e-6 && (i === 0 || from >= route[i - 1][2] - 1e-6));
  return over.length || !joins || !isDownwards ? [[over.length, joins, isDownwards, route]] : [];
});
"""


def test_edges_pass_beside_boxes(tmp_path, pages):
    """Skips, a mask that each layer reads, and rows of many nodes; delegates open and closed."""
    layers = []
    for i in range(8):
        layers += [f"  %t{i}: f32[2, 4] = aten.tan.default(%v{i})", f"  %n{i}: f32[2, 4] = aten.add.Tensor(%t{i}, %skip)"]
        layers += [f"  %w{i}_{j}: f32[2, 4] = aten.mul.Scalar(%n{i}, {j + 2}.0)" for j in range(4)]
        layers += [f"  %s{i}: f32[2, 4] = aten.add.Tensor(%w{i}_0, %w{i}_1)", f"  %u{i}: f32[2, 4] = aten.add.Tensor(%s{i}, %w{i}_2)"]
        layers += [f"  %q{i}: f32[2, 4] = aten.add.Tensor(%u{i}, %w{i}_3)", f"  %v{i + 1}: f32[2, 4] = aten.where.self(%mask, %q{i}, %v{max(0, i - 2)})"]
    model = tmp_path / "long.ir"
    model.write_text(LONG_EDGES.format(layers="\n".join(layers), count=8))
    with Browser(1440, 900) as browser:
        for page in (write_page(model, tmp_path), pages[500], pages[9]):
            browser.open(page)
            edges = 0
            for _ in range(2):
                edges += browser.script("return layout.edges.length")
                assert browser.script(OVER_BOXES) == []
                browser.script("document.getElementById('open-all').click()")
            assert edges > 0
        assert browser.console == []


def test_edges_of_what_is_chosen_stand_out(pages):
    with Browser(1440, 900) as browser:
        browser.open(pages[500])
        browser.script("select({kind: 'node', id: 7})")
        strokes = """
            const strokes = [], context = graphCanvas.getContext('2d');
            let curves = 0;
            context.beginPath = function () { curves = 0; return CanvasRenderingContext2D.prototype.beginPath.call(this); };
            context.bezierCurveTo = function (...where) { ++curves; return CanvasRenderingContext2D.prototype.bezierCurveTo.apply(this, where); };
            context.stroke = function () { if (curves) strokes.push([this.strokeStyle, curves]); return CanvasRenderingContext2D.prototype.stroke.call(this); };
            paintGraph();
            for (const each of ['beginPath', 'bezierCurveTo', 'stroke']) delete context[each];
            context.strokeStyle = cssColor('--accent');
            return [Object.fromEntries(strokes), context.strokeStyle];"""
        used, accent = browser.script(strokes)
        assert used.get(accent) == 2, used


REPEATS = """program
data "w": f32[512, 512] = random(1)

method forward(%w: f32[512, 512] = param "w", %t0: f32[1, 512]) {{
{steps}
  %a: f32[1, 512] = aten.asin.default(%t6)
  return %a
}}
"""


def test_steps_that_repeat_are_one_box(tmp_path):
    steps = []
    for i in range(6):
        steps += [f"  %l{i}: f32[1, 512] = aten.linear.default(%t{i}, %w)", f"  %n{i}: f32[1, 512] = aten.neg.default(%l{i})", f"  %t{i + 1}: f32[1, 512] = aten.tanh.default(%n{i})"]
    model = tmp_path / "steps.ir"
    model.write_text(REPEATS.format(steps="\n".join(steps)))
    with Browser(1440, 900) as browser:
        browser.open(write_page(model, tmp_path))
        assert browser.script("return layout.boxes.map(([delegate]) => nameOfBox(delegate))") == ["xnnpack0 \u00d7 6"]
        assert browser.script("return layout.leaves.map(([node]) => nodes.name[node])") == ["l0", "n0", "t1", "a"]
        assert browser.script(OVER_BOXES) == []
        apart = browser.script("return document.getElementById('apart').innerText")
        assert "xnnpack0 to xnnpack5, each pair of neighbors: repeated steps with the same constants" in apart and apart.count("\n") <= 3
        assert browser.script("return document.querySelector('#delegate-table tbody tr').innerText").startswith("xnnpack0 \u00d7 6")
        browser.script("select({kind: 'delegate', id: 4})")
        assert "xnnpack0, which the runtime loads once for all" in details_of(browser)
        assert browser.script("return isChosen('delegate', 0)")
        browser.script("toggleDelegate(4)")
        assert browser.script("return layout.leaves.map(([node]) => nodes.name[node])") == ["a"]
        browser.script("select({kind: 'node', id: nodes.name.indexOf('n3')})")
        assert browser.console == []


def test_prints_on_white(pages):
    with Browser(1440, 900, dark=True) as browser:
        browser.open(pages[9])
        browser.command("Emulation.setEmulatedMedia", {"media": "print", "features": []})
        assert browser.script("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert browser.script("return getComputedStyle(document.querySelector('nav')).display") == "none"


def assert_promise_is_kept(model, advice, *options):
    """The counts of an advice are those of a plan of the model with the options that it names, or those given."""
    again = json.loads(depute("explain", model, *(options or advice["flags"].split()), "--json").stdout)
    promised = (advice["delegates"], advice["delegated_nodes"], advice["nodes"])
    totals = again["totals"]
    assert promised == (totals["delegated_subgraphs"], totals["delegated_nodes"], len(again["nodes"])), advice


def advised_models():
    yield from (MODELS / f"{name}.pt2" for name in ADVISED)
    yield from (sample(name) for name in SAMPLES)


@pytest.mark.parametrize("model", advised_models(), ids=lambda model: model.stem)
@pytest.mark.parametrize("arguments", ["", ":off=op:relu", ":mode=apart"])
def test_advice_gives_what_it_promises(model, arguments, tmp_path):
    page = tmp_path / "page.html"
    run = depute("explain", model, "--backend", f"xnnpack{arguments}", "--report", page)
    assert run.code == 0, run.stderr
    data = page_data(page)
    flags = [advice for advice in data["advice"] if advice["flags"]]
    if arguments == ":mode=apart" and len(data["delegates"]) > 1:
        assert any(advice["what"] == "leave out mode=apart" for advice in flags)
    if model.stem == "conv_relu_tan" and arguments == ":off=op:relu":
        assert "leave out the pin off=op:relu" in [advice["what"] for advice in flags]
    for advice in flags:
        assert_promise_is_kept(model, advice)


def test_advice_for_architectures_gives_what_it_promises(tmp_path):
    advised = {}
    for name in architectures.NAMES:
        page = tmp_path / "page.html"
        assert depute("explain", architectures.path(name), "--backend", "xnnpack", "--report", page).code == 0, name
        for advice in page_data(page)["advice"]:
            if advice["flags"]:
                assert_promise_is_kept(architectures.path(name), advice)
                advised[name] = advised.get(name, 0) + 1
    assert set(advised) == {"big_bird", "deberta-v2", "ernie4_5_moe", "mra", "opt", "pvt_v2", "videomae", "vivit", "xlm"}


def test_a_rewritten_model_gives_what_was_promised(tmp_path):
    """Where no option helps, the counts are those of a model with an op that is taken in the place of the other."""
    model = write_program(tmp_path / "slow.ir", 58)  # the last one is a tan, which nothing behind it needs
    page = tmp_path / "page.html"
    assert depute("explain", model, "--backend", "xnnpack", "--report", page).code == 0
    (advice,) = [each for each in page_data(page)["advice"] if each["op"] == "aten.tan.default"]
    assert advice["flags"] == "" and advice["concerned"] == 6
    rewritten = tmp_path / "fast.ir"
    rewritten.write_text(model.read_text().replace("aten.tan.", "aten.sigmoid."))
    totals = json.loads(depute("explain", rewritten, "--backend", "xnnpack", "--json").stdout)["totals"]
    assert (advice["delegates"], advice["delegated_nodes"]) == (totals["delegated_subgraphs"], totals["delegated_nodes"])


@pytest.mark.parametrize("name", ["mamba", "falcon_mamba", "bamba"])
def test_a_rewritten_architecture_gives_what_was_promised(name, tmp_path):
    """The same in real models: the log1p that softplus is made of."""
    text = package.to_edge(architectures.path(name)).program.text(data=True)
    model, page = tmp_path / "m.ir", tmp_path / "page.html"
    model.write_text(text)
    assert depute("explain", model, "--backend", "xnnpack", "--report", page).code == 0
    (advice,) = [each for each in page_data(page)["advice"] if each["op"] == "aten.log1p.default"]
    assert advice["concerned"] == text.count("aten.log1p.default(") > 0
    model.write_text(text.replace("aten.log1p.default(", "aten.sigmoid.default("))
    assert_promise_is_kept(model, advice, "--backend", "xnnpack")


def test_nothing_is_planned_again_without_a_page(tmp_path):
    report = tmp_path / "r.json"
    assert depute("explain", sample("attn"), "--backend", "xnnpack", "--report", report).code == 0
    assert "advise" not in json.loads(report.read_text())["times_ms"]


def test_costs_are_those_of_the_formulas(tmp_path):
    model = tmp_path / "cost.ir"
    model.write_text(
        "program\n\ndim s0 in [1, 32]\n"
        "method forward(%x: f32[s0, 16], %i: f32[1, 3, 8, 8], %m: f32[16, 4], %w: f32[6, 3, 3, 3]) {\n"
        "  %a: f32[s0, 4] = aten.mm.default(%x, %m) #1\n"
        "  %c: f32[1, 6, 6, 6] = aten.convolution.default(%i, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) #2\n"
        "  %r: f32[s0, 4] = aten.relu.default(%a) #3\n"
        "  return %r, %c\n}\n"
    )
    page = tmp_path / "page.html"
    run = depute("explain", model, "--backend", "xnnpack", "--report", page)
    assert run.code == 0, run.stderr
    data = page_data(page)
    macs = dict(zip(data["nodes"]["name"], data["nodes"]["macs"]))
    assert macs == {"a": 32 * 4 * 16, "c": 6 * 6 * 6 * 3 * 3 * 3, "r": 0}
    assert dict(map(tuple, data["types"]))["f32[s0, 4]"] == 32 * 4 * 4


def test_lines_of_the_model_are_shown(tmp_path):
    data = page_data(write_page(sample("conv_relu_tan"), tmp_path))
    tan = data["nodes"]["op"].index(data["strings"].index("aten.tan.default"))
    file, line, _, op, text = data["sources"][data["nodes"]["source"][tan]]
    assert data["strings"][file].endswith("make_samples.py") and line == 39
    assert "tan" in data["strings"][text]


@pytest.mark.parametrize("name", SAMPLES)
def test_memory_and_bytes_are_those_of_the_file(name, tmp_path):
    data = page_data(write_page(sample(name), tmp_path))
    program = tmp_path / f"{name}.pte"
    shown = depute("show", program).stdout
    assert [size for method in data["memory"] for size in method["sizes"] if size] == [
        int(size) for size in re.findall(r"memory \d+: (\d+) bytes", shown) if int(size)
    ]
    for method in data["memory"]:
        for first, last, memory, offset, size, _ in method["blocks"]:
            assert first <= last < max(len(method["instructions"]), 1)
            assert offset + size <= method["sizes"][memory - 1]
    ledger = data["ledger"]
    assert sum(entry[0] for entry in ledger["entries"]) + ledger["rest"] == program.stat().st_size
