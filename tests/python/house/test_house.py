"""What may be named where: ops in their records, backends in their folders."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest
from harness import ROOT

OP_NAME = re.compile(r'"(aten|prims|_operator|math|higher_order|executorch_prim|dim_order_ops|quantized_decomposed)(\.|::)\w')
BACKENDS = [path.parent.name for path in (ROOT / "backends").glob("*/CMakeLists.txt")]

# Files beside src/ops (the records, and one kernel an op) and src/kernels that name ops, and why.
NAME_OPS = {
    "src/ir/sym/sym_functions.cpp": "the ops that compute symbolic sizes",
    "src/normalize/drop_softmax_guards.cpp": "the pattern it looks for",
    "src/normalize/drop_layouts.cpp": "the op it makes",
    "src/normalize/functionalize.cpp": "the op it makes",
    "src/normalize/bodies/inline_wrappers.cpp": "the wrappers it removes",
    "src/normalize/sizes/positions.cpp": "the ops whose elements follow from their place",
    "src/normalize/promote_types.cpp": "the ops it makes",
    "src/normalize/sizes/simplify_positions.cpp": "the ops it makes",
    "src/normalize/sizes/split_joined_batches.cpp": "the ops it makes",
    "src/normalize/drop_tokens.cpp": "the wrapper that it removes",
    "src/plan/control_flow.cpp": "the instructions it makes",
    "src/plan/flat/flatten.cpp": "the ops it makes",
    "src/plan/index_copy.cpp": "the instructions it makes",
    "src/plan/kernel_call.cpp": "the instructions it makes",
    "src/plan/method_planner.cpp": "the instructions it makes, and one op with an instruction of its own",
    "src/plan/portable_kernels.cpp": "the kernels of the runtime",
    "src/normalize/bodies/unfold_batches.cpp": "the ops it makes, and those for which a batch is more rows",
    "src/plan/symbolic_call.cpp": "sizes without a kernel, by those that have one",
    "src/lower/graph_carver.cpp": "the conversions at borders",
    "src/quantize/channel_weights.cpp": "the ops it makes",
    "src/quantize/dynamic_convolutions.cpp": "the ops it makes",
    "src/quantize/integer_forms.cpp": "the ops it makes, and those that it makes them of",
    "src/quantize/integer_io.cpp": "the ops it drops",
    "src/quantize/layers.cpp": "the layers it looks for",
    "src/quantize/quantize.cpp": "the ops it makes",
    "src/quantize/static.cpp": "the ops it makes",
    "src/quantize/static_ops.cpp": "the ops that take and give integers",
    "src/taps.cpp": "the ops it makes, and ExecuTorch's taps",
    "src/plan/memory/callers_planner.cpp": "the copies that it describes",
    "src/plan/memory/views.cpp": "numbers that are not copied",
}


def without_comments(text: str) -> str:
    return re.sub(r"//.*", "", text)


def files_of(*folders):
    for folder in folders:
        yield from sorted(path for ending in ("cpp", "h") for path in (ROOT / folder).rglob(f"*.{ending}"))


def test_ops_are_named_in_their_records():
    naming = set()
    for path in files_of("src", "tools", "driver", "cli"):
        name = str(path.relative_to(ROOT))
        if name.startswith(("src/ops/", "src/kernels/")):
            continue
        if OP_NAME.search(without_comments(path.read_text())):
            naming.add(name)
    assert naming == set(NAME_OPS)


@pytest.mark.parametrize("backend", BACKENDS)
def test_backends_are_named_in_their_folders(backend):
    naming = [
        str(path.relative_to(ROOT))
        for path in files_of("src", "tools", "driver", "cli", "tests/conformance")
        if backend in without_comments(path.read_text()).lower()
    ]
    assert naming == []


def test_there_are_backends():
    assert len(BACKENDS) >= 2


# --- walls between the folders of src/: what a file includes, its CMake target links

FOLDERS = sorted(path.parent.name for path in (ROOT / "src").glob("*/CMakeLists.txt"))
PUBLIC = ROOT / "include" / "depute"


def links():
    """Folder -> the folders it links, itself among them, by the lines of CMake."""
    direct = {}
    for folder in FOLDERS:
        text = (ROOT / "src" / folder / "CMakeLists.txt").read_text()
        for words in re.findall(r"depute_library\(([^)]*)\)", text):
            name, *dependencies = words.split()
            direct[name] = {word.removeprefix("depute_") for word in dependencies} & set(FOLDERS)
    whole = {}
    for folder in direct:
        reached, waiting = {folder}, [folder]
        while waiting:
            for other in direct[waiting.pop()] - reached:
                reached.add(other)
                waiting.append(other)
        whole[folder] = reached
    return whole


def includes(path):
    return re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE)


def owner(header, known={}):
    """The folder that a public header belongs to: that of its source file, else the deepest of those it includes."""
    if header not in known:
        source = f"{(PUBLIC / header).stem}.cpp"
        sources = [folder for folder in FOLDERS if any((ROOT / "src" / folder).rglob(source))]
        if sources:
            known[header] = sources[0]
        else:
            inner = {owner(name.removeprefix("depute/")) for name in includes(PUBLIC / header)} - {None}
            depth = links()
            known[header] = max(inner, key=lambda folder: len(depth[folder])) if inner else None
    return known[header]


def test_folders_include_only_what_they_link():
    linked = links()
    assert set(FOLDERS) == set(linked)
    wrong = []
    for folder in FOLDERS:
        for path in files_of(f"src/{folder}"):
            if folder == "ops" and path.name.endswith("_kernels.cpp"):  # a source of the library of src/kernels
                folder = "kernels"
            for name in includes(path):
                first, _, rest = name.partition("/")
                other = owner(rest) if first == "depute" else first if first in FOLDERS else None
                if other is not None and other not in linked[folder]:
                    wrong.append(f"{path.relative_to(ROOT)} includes {name}, which is {other}'s")
    assert wrong == []


# --- walls between the top folders: the compiler knows no tools, tools know no driver, and only commands know the command line

TOPS = ("src", "tools", "driver", "cli")


def top_of(name):
    """The top folder of an included file; for a public header that of its source file."""
    first, _, rest = name.partition("/")
    if first != "depute":
        return first
    source = f"{Path(rest).stem}.cpp"
    return next((top for top in TOPS if any((ROOT / top).rglob(source))), "src")


def test_top_folders_include_only_those_before_them():
    wrong = [
        f"{path.relative_to(ROOT)} includes {name}, which is in {top_of(name)}"
        for number, top in enumerate(TOPS)
        for path in files_of(top)
        if not path.name.endswith("command.cpp")
        for name in includes(path)
        if top_of(name) in TOPS[number + 1 :]
    ]
    assert wrong == []


def test_the_command_line_needs_no_header_of_the_compilers_own():
    named = {name for path in files_of("cli") for name in includes(path)}
    assert {name for name in named if not name.startswith(("depute/", "cli/", "platform/"))} == set()


SYSTEM_HEADER = re.compile(
    r"^ *# *include <((?:sys|linux|netinet|arpa|mach|mach-o)/.*|(?:unistd|fcntl|signal|poll|spawn|pthread|sched|malloc|dlfcn|link"
    r"|termios|dirent|pwd|ucontext|execinfo|io|process|windows|crt_externs|copyfile)\.h|csignal)>",
    re.MULTILINE | re.IGNORECASE,
)


def asks_the_system(path):
    return SYSTEM_HEADER.search(path.read_text()) is not None


def test_the_system_is_asked_in_one_folder():
    """What differs from system to system stands in src/platform/SYSTEM, behind headers without the system's types."""
    asking = {path.relative_to(ROOT) for path in files_of("src", "tools", "driver", "cli", "backends") if asks_the_system(path)}
    places = {path.parts[:2] if len(path.parts) > 3 else path.parts for path in asking}
    # The program of the openvino backend starts processes that have its libraries loaded: Linux alone.
    assert places == {("src", "platform"), ("backends", "openvino", "child_process.cpp")}


def test_tops_of_public_headers_are_found():
    assert [top_of(f"depute/{name}.h") for name in ("compiler", "report", "lock", "compile", "command_line", "serve_backend")] == [
        "src",
        "tools",
        "tools",
        "driver",
        "cli",
        "src",
    ]


# --- folders that a reader can take in, and one entity a name

MAX_FILES = 40  # side by side in a folder
PRODUCT = ("src", "include", "backends", "tools", "driver", "cli", "python")


def test_folders_have_few_files():
    paths = [path for top in (*PRODUCT, "tests") for path in (ROOT / top).rglob("*")]
    counts = Counter(path.parent for path in paths if path.is_file() and path.suffix != ".pyc" and "corpus" not in path.parts)
    assert {str(folder.relative_to(ROOT)): count for folder, count in counts.items() if count > MAX_FILES} == {}


ENTITY = re.compile(
    r"namespace\s*([\w:]*)\s*\{|\b(?:struct|class|enum class)\s+(?:[A-Z]+_API\s+)?(\w+(?:::\w+)*)\s*(?:final\s*)?(?::(?!:)[^;{}()]*)?\{|\{|\}"
)


def entities(text):
    """The types that a file defines in named namespaces, as written there: `depute::Graph`."""
    text = re.sub(r'"(\\.|[^"\\\n])*"|\'(\\.|[^\'\\\n])*\'', "", without_comments(text))
    scopes = []  # names of open namespaces; None for an unnamed one and for every other brace
    for match in ENTITY.finditer(text):
        if match[0] == "}":
            if scopes:
                scopes.pop()
        elif match[0].startswith("namespace"):
            scopes.append(match[1] or None)
        else:
            if match[2] and "::" not in match[2] and None not in scopes:  # not Outer::Inner
                yield "::".join([*scopes, match[2]])
            scopes.append(None)


def test_a_type_is_defined_once():
    defined = {}
    for path in files_of(*PRODUCT):
        for name in set(entities(path.read_text())):
            defined.setdefault(name, []).append(str(path.relative_to(ROOT)))
    assert len(defined) > 300
    assert {name: places for name, places in defined.items() if len(places) > 1} == {}


def test_entities_are_found():
    text = "namespace a { struct B { enum class C { X }; }; namespace { class D {}; } class E : public B { void f() {} }; struct F; struct B::G {}; }"
    assert list(entities(text)) == ["a::B", "a::E"]


# --- layers of the Python package

PACKAGE = ROOT / "python" / "depute"


def is_for_types_only(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imported(path):
    """Modules of the package that a module imports, also inside of functions. The package itself is nobody's layer: it
    finds names for users, and methods that are short for a later step call that step by its public name."""
    found, waiting = set(), [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        waiting += [] if is_for_types_only(node) else ast.iter_child_nodes(node)
        if not isinstance(node, ast.ImportFrom) or node.level == 0:
            continue
        folder = path.parents[node.level - 1]
        place = folder.joinpath(*(node.module or "").split("."))
        names = [place / alias.name for alias in node.names] if place.is_dir() else [place]
        found |= {name.with_suffix(".py") for name in names if name.with_suffix(".py").exists()}
    return found


def test_modules_of_the_package_are_layers():
    left = {path: imported(path) for path in PACKAGE.rglob("*.py")}
    assert PACKAGE / "graph.py" in left[PACKAGE / "program.py"]
    while free := [path for path, needed in left.items() if not needed & set(left)]:
        for path in free:
            del left[path]
    assert not left, f"some of these import each other in a circle: {sorted(path.name for path in left)}"


def test_commands_of_make_are_no_files():
    """A folder with the name of a command (runtime/) would stop it from doing anything."""
    makefile = (ROOT / "Makefile").read_text()
    commands = set(re.findall(r"^([a-z-]+):.*##", makefile, re.MULTILINE))
    phony = set(re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[1].split())
    assert commands - phony == set()
