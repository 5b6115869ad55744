"""Names with characters that control a terminal, reorder text or are not allowed in XML: no output contains them."""

import html.parser
import json
import os
import re
import xml.etree.ElementTree
from itertools import count

import pytest
from harness import depute

MARKS = [*range(0xA0), 0x61C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF, 0xFFFE, 0xFFFF, 0x1FFFE]
ODD = [chr(mark).encode() for mark in MARKS]
ODD += [b"\x80", b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf4\x90\x80\x80", b"\xe2\x80", b"]]>", b"</script>", b"<!--"]
FINE = ["é", "中", "😀", "\u200d"]
ALLOWED = re.compile("[\n\x20-\x7e\xa0-\ufffd\U00010000-\U0010ffff]*")
UNSEEN = re.compile("[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\U0001fffe]")
COLORS = re.compile("\x1b\\[(0|1|3[123])m")


def quoted(name):
    return '"' + "".join(f"\\x{byte:02x}" for byte in name) + '"'


def program():
    """A node for each name, which is also that of a source file, a module, a constant and a method."""
    lines, data, names = [], [], count()
    for odd in [*ODD, *(fine.encode() for fine in FINE)]:
        i = next(names)
        name = quoted(b"n" + odd + b"%d" % i)
        data.append(f"data {name}: f32[2] = [1.0, {i}.0]")
        source = f'from {quoted(b"f" + odd + b".py")}:{i + 1} {quoted(b"m" + odd + b".%d" % i)}'
        operand = "%x" if i == 0 else f"%a{i - 1}"
        lines.append(f"  %{name}: f32[2] = aten.tan.default({operand}) #{2 * i} {source}")
        lines.append(f"  %a{i}: f32[2] = aten.add.Tensor(%{name}, %p{i}) #{2 * i + 1} {source}")
    inputs = ", ".join(f"%p{i}: f32[2] = param {line.split(' ')[1][:-1]}" for i, line in enumerate(data))
    first = next(names) - 1
    return "\n".join(["program", *data, f"method forward(%x: f32[2], {inputs}) {{", *lines, f"  return %a{first}", "}", ""])


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    (folder / "m.ir").write_text(program())
    # The name of a file comes back in nearly every output.
    name = os.path.join(os.fsencode(folder), b"m\x1b[2J\xc2\x9b\xe2\x80\xae\xff<&>.ir")
    with open(name, "w") as file:
        file.write(program())
    for ending in ("pte", "ptd", "json", "html", "md", "sarif", "annotations", "lock"):
        (folder / f"o.{ending}").touch()
    options = [f"--report={folder / name}" for name in ("o.json", "o.html", "o.md", "o.sarif", "o.annotations")]
    done = depute("lower", name.decode(errors="surrogateescape"), "--backend", "xnnpack", *options, "--lock-update", "--lock", folder / "o.lock", "--ptd", folder / "o.ptd", "-o", folder / "o.pte")
    assert done.code == 0, done.stderr
    (folder / "lower.txt").write_text(done.stdout)
    return folder


def check(text, has_color=False):
    if has_color:
        text = COLORS.sub("", text)
    assert ALLOWED.fullmatch(text), ascii([c for c in text if not ALLOWED.fullmatch(c)][:10])
    assert not UNSEEN.search(text), ascii(UNSEEN.search(text))


def check_html(text):
    check(text)
    assert html.parser.HTMLParser(convert_charrefs=True).feed(text) is None
    assert text.count("<script") == text.count("</script>")


def odd_model(place):
    return next(path for path in place.iterdir() if path.suffix == ".ir" and path.name != "m.ir")


TEXTS = ["show", "show --sources --data --originals", "explain --backend xnnpack", "explain --backend xnnpack --color always", "doctor", "doctor --color always --top 0", "graph --format dot"]


@pytest.mark.parametrize("words", TEXTS)
def test_texts(place, words):
    done = depute(*words.split(), odd_model(place))
    assert done.code == 0, done.stderr
    check(done.stdout, "always" in words)
    check(done.stderr)


@pytest.mark.parametrize("words", ["show --json", "explain --json --backend xnnpack", "graph"])
def test_json(place, words):
    done = depute(*words.split(), odd_model(place))
    assert done.code == 0, done.stderr
    check(done.stdout)
    found = json.dumps(json.loads(done.stdout), ensure_ascii=False)
    assert all(fine in found for fine in FINE)
    assert "\u202e" in found and "\x9b" in found  # escaped, not lost


def test_svg(place):
    done = depute("graph", "--format", "svg", odd_model(place))
    assert done.code == 0, done.stderr
    check(done.stdout)
    xml.etree.ElementTree.fromstring(done.stdout)


def test_reports(place):
    for ending in ("json", "sarif"):
        text = (place / f"o.{ending}").read_bytes().decode()
        check(text)
        json.loads(text)
    for name in ("o.md", "o.annotations", "o.lock", "lower.txt"):
        check((place / name).read_bytes().decode())
    check_html((place / "o.html").read_bytes().decode())


@pytest.mark.parametrize("words", ["show o.pte", "show o.ptd", "size o.pte", "size o.pte --json", "size o.ptd --top 0"])
def test_lowered_files(place, words):
    done = depute(*[place / word if word.startswith("o.") else word for word in words.split()])
    assert done.code == 0, done.stderr
    check(done.stdout)
    if "--json" in words:
        json.loads(done.stdout)


def test_diff(place):
    page = place / "diff.html"
    for more in ([], ["--json"], ["--top", "0"]):
        done = depute("diff", place / "m.ir", odd_model(place), "--to-backend", "xnnpack", "--page", page, *more)
        assert done.code in (0, 1, 3), done.stderr
        check(done.stdout)
        check_html(page.read_bytes().decode())
        if "--json" in more:
            json.loads(done.stdout)


def test_the_text_form_is_read_back(place):
    done = depute("show", "--sources", "--data", place / "m.ir")
    (place / "again.txt").write_text(done.stdout)
    assert depute("show", "--sources", "--data", place / "again.txt").stdout == done.stdout


def test_errors(place):
    for odd in ODD:
        text = f"program\nmethod forward(%x: f32[2]) {{\n  %y: f32[2] = aten.tan.default(%{quoted(b'n' + odd)})\n  return %y\n}}\n"
        (place / "wrong.txt").write_text(text)
        done = depute("lower", place / "wrong.txt", "-o", place / "wrong.pte")
        assert done.code == 1
        check(done.stderr)


def test_a_worker(place, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(place))  # its request is kept
    worker = place / "depute-backend-odd"
    odd = b"".join(each for each in ODD).decode(errors="replace")
    describe = {"protocol": 3, "id": f"Odd{odd}", "description": odd, "version": odd, "options": [[odd, odd]], "support": [{"op": odd}]}
    worker.write_text(
        "#!/usr/bin/env python3\nimport json, sys\n"
        f"describe = {describe!r}\nodd = {odd!r}\n"
        "for line in sys.stdin:\n"
        "    call = json.loads(line)['call']\n"
        "    print(odd, file=sys.stderr, flush=True)\n"
        "    print(json.dumps(describe if call == 'describe' else {} if call == 'options' else {'error': {'message': odd, 'where': odd, 'hint': odd, 'source': odd}}), flush=True)\n"
    )
    worker.chmod(0o755)
    for words in (["backends", f"exec:{worker}"], ["backends", "--json", f"exec:{worker}"], ["test-backend", f"exec:{worker}"], ["lower", place / "m.ir", "--backend", f"exec:{worker}"]):
        done = depute(*words)
        check(done.stdout)
        check(done.stderr)
