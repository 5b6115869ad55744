"""Samples in comments of C++ files are not wrapped, and samples in the IR's text form parse.

A sample line is a comment line that is indented by three blanks or more, or that starts with a JSON object.

Wraps: a formatter that reflows comments breaks a line where the next word would exceed LIMIT columns, and puts the rest at the
same indentation. wraps() finds lines that break at such a place and are incomplete: they leave a bracket or a quote open, end with
an operator, or have columns that the next line does not continue. A break by hand passes: it indents the rest, or comes earlier.

IR: statements (`%y: f32[2] = aten.relu.default(%x)`), calls without results, inputs with a role, stores, returns and heads of
graphs are found anywhere in a sample line. Each is completed to a method, which depute-text must read: missing types become `none`,
operands become inputs. A sample may leave out arguments (`..`) or the whole node (`%y = ...`), and may write the type of an operand
behind it. Values named by numbers (`%3`) belong to printed plans and payloads, which have other forms.
"""

import re
import subprocess

import pytest
from harness import DEPUTE, ROOT, TIMEOUT

FOLDERS = ("src", "include", "tools", "driver", "backends", "cli", "python")
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in (".cpp", ".h"))
LIMIT = 110
DEPUTE_TEXT = DEPUTE.parent / "tests" / "text" / "tool" / "depute-text"

COMMENT = re.compile(r"^(\s*// *)(\S.*)$")
QUOTED = re.compile(r'"(?:\\.|[^"\\])*"' + r"|'(?:\\.|[^'\\])'")


def comments(text):
    """(number, indentation, text) of each line of a comment."""
    for number, line in enumerate(text.splitlines(), start=1):
        if found := COMMENT.match(line):
            yield number, len(found[1]), found[2]


def is_sample(line):
    return bool(re.match(r'\s*//(?: {3,}\S| \{")', line))


def samples(text):
    """The comments that are lines of samples."""
    lines = text.splitlines()
    return ((number, indent, line) for number, indent, line in comments(text) if is_sample(lines[number - 1]))


def open_brackets(line):
    depth = 0
    for char in QUOTED.sub("", line):
        depth = depth + 1 if char in "([{" else max(depth - 1, 0) if char in ")]}" else depth
    return depth


def columns(line):
    return {found.end() for found in re.finditer(r"\S {2,}(?=\S)", line)}


def is_complete(line, following):
    """Whether the line can end where it does, at the end of a column if it has several."""
    if open_brackets(line) or '"' in QUOTED.sub("", line) or re.search(r"(?:[,=:+|]|->)$", line):
        return False
    if columns(line):
        return bool(columns(line) & columns(following))
    return line[-1] in ";.)}]"


def wraps(text):
    """Lines of samples that continue on the next line without being broken by hand."""
    below = {number: (indent, line) for number, indent, line in comments(text)}
    for number, indent, line in samples(text):
        next_indent, following = below.get(number + 1, (0, ""))
        if not following or next_indent > indent:
            continue
        is_full = next_indent == indent and indent + len(line) + 1 + len(following.split()[0]) > LIMIT
        is_in_brackets = open_brackets(line) and following[0] not in ")]}"
        if is_in_brackets or (is_full and not is_complete(line, following)):
            yield number


def test_there_are_samples():
    assert sum(len(list(samples(path.read_text()))) for path in FILES) > 1000


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_line_of_a_sample_is_wrapped(folder):
    files = [path for path in FILES if path.relative_to(ROOT).parts[0] == folder]
    assert [f"{path.relative_to(ROOT)}:{number}" for path in files for number in wraps(path.read_text())] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_samples_keep_to_the_limit(folder):
    files = [path for path in FILES if path.relative_to(ROOT).parts[0] == folder]
    lines = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files
        for number, indent, line in samples(path.read_text())
        if indent + len(line) > LIMIT
    ]
    assert lines == []


# Samples in the broken forms that a formatter left.
WRAPPED = {
    "a grammar": """
//   bytes    = string | "hex" "(" string ")" | "elided" "(" size "," string ")" | "file" "(" string [","
//   start "," size] ")" delegate = "delegate" name "backend" string "{" {entry} "}" entry    = "spec" string
""",
    "a statement": """
//   method    = "method" name "(" [input {"," input}] ")" "{" {statement} "return" [literal {"," literal}]
//   "}" statement = "in_spec" string | "out_spec" string | graph | store | "output" literal | node graph =
""",
    "the right column": """
//   %c = aten.conv2d.default(%x, %w, %b)     ->   %q = quantized_decomposed.quantize_per_tensor.default(%x,
//   ..)
""",
    "below each other": """
//                                               %q = quantized_decomposed.quantize_per_tensor.tensor(%x, %s,
//                                               %z, ..) %d =
""",
    "a body": """
//   %b = mm(%a, %w) ;"fc"      "fc" ->        method forward(%w = param "fc.w", %a) { %b = mm(%a, %w)  return
//   %b }
""",
    "words in a column": """
//   %s, %z = choose_qparams(%x)                           a dynamic input: rows, or images, in integers whose
//   scales are %q = quantize_per_tensor.tensor(%x, %s, %z)           found when the program runs %x' =
""",
    "numbers in columns": """
//   regions    first  second  first         an atom of first may carry 0 or 4, one of second 2; one that
//   stays labels     0      2       4             outside -1, 1, 3 or 5; a neutral one those, and what it may
""",
    "the last word": """
//   _depute                             this module: the public face (include/depute/), one bind_TOPIC.cpp a
//   topic
""",
    "after a comma": """
//   BatchMatrixMultiply(q, k), Softmax, BatchMatrixMultiply(., v)  ->  the same of Slice(q) for each part,
//   Concat
""",
    "after a colon": """
//   ::notice file=model.py,line=12::aten.sort.default (2 nodes) stays on ExecuTorch's kernels: xnnpack:
//   kernel
""",
    "C++": """
//   TRY(auto process, WorkerProcess::start(program, {.whole = "/tmp/depute-worker-x", .work = "..."},
//   limits)); TRY(std::string answer, process->ask(R"({"call": "describe", "protocol": 3})"));
""",
    "an initializer": """
//   static constexpr OpRule rules[] = {{.op = "aten.neg.default", .conditions = "", .translate =
//   unary<Negate>}}; std::span<const OpRule> depute::xnnpack::ops::unary() { return rules; }
""",
    "a comment of C++": """
//   TRY(std::string_view name, graph_name.string());   // or "models/model.json: graph.name (byte 17): not a
//   string"
""",
    "JSON": """
// {"answers": [{"answer": "take", "gain": 1, "nodes": [0, 1]}, {"answer": "refuse", "rule": .., "nodes":
// [2]}],
""",
    "JSON in a string": """
//     ->  {"ruleId": "xnnpack/kernel", "level": "note", "message": {"text": "aten.sort.default (1 node)
//     ..."},
""",
    "a type": """
//   {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "Symbol('s0', ...)"}}, {"as_int": 3}], ...}   ->  f32[s0,
//   3]
""",
    "before the limit": """
//   {.op = "aten.convolution.default", .forms = {limits,
//   more_limits}}
""",
}
WHOLE = {
    "rest is indented": """
//   static constexpr Limit limits[] = {limit::ranks("input", 3, 4), limit::constant("bias"), limit::text("a"),
//                                      limit::ints("stride", 1)};
""",
    "statements": """
//   Node* relu = graph.add(Symbol("aten.relu.default"), {Argument::of(x)}, {}, {{Symbol("relu"), type}});
//   graph.replace_uses(*old, relu->result());
""",
    "columns": """
//   aten.kron.default(f32[2], f32[3])                           ->   mul of [2, 1] and [1, 3], view [6]
//   aten.addmv.default(%y, %m, %x, beta=2)                      ->   2 * y + mv(m, x)
""",
    "blocks": """
//   for (const Node& node : from.nodes()) copier.copy(node, [&](const Value* value) {
//     return Argument::of(copies[value]);
//   });
""",
    "two samples": """
//   %y = aten.add.Tensor(%a_value_with_a_long_name, %another_value_with_a_long_name, %and_a_third_one, alpha=2,
//
//   beta=3)
""",
}


@pytest.mark.parametrize("comment", WRAPPED.values(), ids=WRAPPED)
def test_wraps_are_found(comment):
    assert list(wraps(comment)) != []


@pytest.mark.parametrize("comment", WHOLE.values(), ids=WHOLE)
def test_lines_that_are_broken_by_hand_are_whole(comment):
    assert list(wraps(comment)) == []


TYPE = r'\w+\[[^\]]*\](?:\{strides=\[[^\]]*\]\})?|\w+'
VALUE = r"%(?:\w[\w.']*|\"[^\"]*\")"  # also `%w.0` and `%w'`, which depute-text refuses
RESULT = rf"{VALUE}(?:: (?:{TYPE}))?"
RESULTS = re.compile(rf"{RESULT}(?:, {RESULT})* = ")
NUMBERED = re.compile(r"%\d+\b")
OP = re.compile(r"[A-Za-z_][\w.:]*")
BEHIND_NODE = re.compile(r"(?: !\w+)?(?: #\d+)?")
ROLE = re.compile(r'(?:param|buffer transient|buffer|constant|object|token|input|value)\b(?: "[^"]*"| -?\w+)?')
CALL = re.compile(
    r"(?<![\w.:])(?:aten|control|delegate|depute|dim_order_ops|higher_order|quantized_decomposed|torchao)\.[\w.]+(?=\()"
)
LISTED = re.compile(r"\w+(?:\.\w+)+(?=[:,]| |$)")  # %a = aten.sort.default, model.py:7
STORE = re.compile(rf'\bstore \w+ "[^"]*" = (?:{VALUE}|\S+)')
RETURN = re.compile(rf"\breturn (?:{VALUE}|none)(?:, (?:{VALUE}|none))*")
GRAPH = re.compile(r"\b(?:method \w+|graph @?\w+)\(")


def end_of_call(text, start):
    """The place behind the bracket that closes the one at start; None without one."""
    depth = 0
    for found in re.compile(r'"(?:\\.|[^"\\])*"|[()\[\]{}]').finditer(text, start):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    return None


def statements(text):
    """(number of the line, kind, statement) of the samples in the text of a file; kind: node, call, input, store, return or graph."""
    lines = {number: (indent, line) for number, indent, line in samples(text)}
    for number, (indent, line) in lines.items():
        # A call may end on lines that are indented more.
        rest = line
        following = number + 1
        while open_brackets(rest) and following in lines and lines[following][0] > indent:
            rest += " " + lines[following][1]
            following += 1
        for found in RESULTS.finditer(line):
            if NUMBERED.search(found[0]) or line.startswith("..", found.end()):
                continue
            op = OP.match(line, found.end())
            if role := ROLE.match(line, found.end()):
                yield number, "input", found[0] + role[0]
            elif op and rest.startswith("(", op.end()):
                end = end_of_call(rest, op.end()) or len(rest)
                yield number, "node", rest[found.start() : BEHIND_NODE.match(rest, end).end()]
            elif not LISTED.match(line, found.end()):
                yield number, "node", rest[found.start() :]
        for found in CALL.finditer(line):
            end = end_of_call(rest, found.end()) or len(rest)
            is_numbered = NUMBERED.search(rest, found.end(), end)
            if "%" in rest[found.end() : end] and not is_numbered and not line[: found.start()].endswith(" = "):
                yield number, "call", rest[found.start() : end]
        for found in STORE.finditer(line):
            yield number, "store", found[0]
        for found in RETURN.finditer(line):
            if not NUMBERED.search(found[0]):
                yield number, "return", found[0]
        for found in GRAPH.finditer(line):
            end = end_of_call(rest, found.end() - 1) or len(rest)
            if not NUMBERED.search(rest[found.start() : end]):
                yield number, "graph", rest[found.start() : end]


def with_types(values):
    """Inputs or results, each with a type."""
    return re.sub(rf"({VALUE})(?!\w)(?!:)", r"\1: none", values)


def as_method(name, kind, statement):
    """A method in one line that holds the statement."""
    if kind == "graph":
        word, found, inputs = re.match(r"(method|graph) ([^(]*)(\(.*)$", statement).groups()
        head = with_types(inputs)
        if word == "method":
            return f"method {name}{head} {{ return }}"
        return f"method {name}() {{ graph {found}{head} {{ return }} return }}"
    if kind == "input":
        return f"method {name}({with_types(statement)}) {{ return }}"
    results = RESULTS.match(statement)[0] if kind == "node" else ""
    operands = statement.removeprefix(results)
    operands = re.sub(r"(?<=[(\[, ])\.{2,3}(?=[,)\]])", "none", operands)  # left out
    operands = re.sub(rf"({VALUE}): (?:{TYPE})", r"\1", operands)
    operands = re.sub(r"%_(?!\w)", "%operand", operands)  # %_ stands for any value
    if kind in ("node", "call"):
        # Keyword arguments come last; an ellipsis behind them leaves out more of them.
        operands = re.sub(r"(=[^=]*), none\)", r"\1)", operands)
    unquoted = re.sub(r'(%"[^"]*")|"(?:\\.|[^"\\])*"', r"\1", operands)
    inputs = ", ".join(f"{value}: none" for value in dict.fromkeys(re.findall(VALUE, unquoted)))
    graphs = "".join(f"graph {graph}() {{ return }} " for graph in dict.fromkeys(re.findall(r"@\w+", unquoted)))
    end = "" if kind == "return" else " return"
    return f"method {name}({inputs}) {{ {graphs}{with_types(results)}{operands}{end} }}"


def unread(methods):
    """(index, message) of each method that depute-text does not read."""
    left = dict(enumerate(methods))
    errors = []
    while left:
        text = "program\n" + "\n".join(left.values())
        run = subprocess.run([DEPUTE_TEXT, "hash"], input=text, capture_output=True, text=True, timeout=TIMEOUT)
        if run.returncode == 0:
            break
        place = re.search(r"<stdin>:(\d+):\d+: (.*)", run.stderr)
        assert place, run.stderr
        index = list(left)[int(place[1]) - 2]
        errors.append((index, place[2]))
        del left[index]
    return errors


def test_ir_in_samples_parses():
    places, methods = [], []
    for path in FILES:
        for number, kind, statement in statements(path.read_text()):
            places.append(f"{path.relative_to(ROOT)}:{number}: {statement}")
            methods.append(as_method(f"m{len(methods)}", kind, statement))
    assert len(methods) > 250
    assert [f"{places[index]}  {message}" for index, message in unread(methods)] == []


READ = """
//   %y: f32[2] = aten.relu.default(%x: f32[2])        uses of %y become uses of %x
//   %a, %b = aten.split.Tensor(%x, 2) !t0 #1   ->     %c = aten.add.Tensor(%x, ..., alpha=2)
//   method forward(%w = param "fc.w", %x: f32[s0, 2]{strides=[1, 2]}) {
//     %z: f32[2, 3] = ...
//     store buffer "count" = %n
//     return %"a b", none
//   %c = higher_order.cond(%p, @yes, @no, [%x])
//   graph @yes(%a) { %s = aten.sin.default(%a)  return %s }
//   %d = quantized_decomposed.dequantize_per_channel.default(
//       %"w.int8.0", %scales, 0, ..)
//   control.set(%v, %x)                               a value
"""
NOT_READ = [
    "//   %y = aten.relu.default(%x'",
    "//   %w' = aten.relu.default(%x)",
    "//   %w.int8 = aten.relu.default(%x)",
    "//   %y: f32 = aten.relu.default(%x)",
    "//   %c = aten._to_copy.default(%x, dtype=f32)",
    "//   %i = %k - run * n",
    "//   %r = sub(mul(%a, %b), 1)",
    "//   graph body(%x) { return %x }",
    "//   %two: f32[] = constant",
    "//   %a = delegate_call xnnpack0(%x)",
    "//   aten.mul.Tensor(%x, %rows[1])",
]


def test_statements_are_found():
    kinds = [kind for _, kind, _ in statements(READ)]
    assert sorted(kinds) == sorted(["node"] * 6 + ["graph"] * 2 + ["input", "store", "call"] + ["return"] * 2)
    assert unread([as_method(f"m{i}", *found[1:]) for i, found in enumerate(statements(READ))]) == []


@pytest.mark.parametrize("comment", NOT_READ)
def test_what_does_not_parse_is_found(comment):
    found = [as_method(f"m{i}", *found[1:]) for i, found in enumerate(statements(comment))]
    assert unread(found) != []
