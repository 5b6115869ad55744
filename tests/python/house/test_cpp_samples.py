"""C++ samples in comments of public headers and on pages compile.

A sample of a header is a run of comment lines that are indented by three blanks; one of a page is a block marked cpp. Each becomes
a function, or a namespace where it declares classes, in one file that g++ checks once. GIVEN declares the names that a sample
takes for granted, by header or page.
"""

import re
import subprocess
from importlib.util import find_spec

from harness import ROOT, TIMEOUT

HEADERS = sorted((ROOT / "include" / "depute").rglob("*.h"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "backends").glob("*/README.md"))]

GIVEN = {
    "backend.h": "BackendEntry& entry, const Node* conv, const Node* relu, PreprocessResult& result, std::shared_ptr<const Storage> storage",
    "backend_op.h": "Program& program, InferFunction scaled_types",
    "builder.h": "Graph& graph, Node& before, Node& node, Value* x",
    "bundle.h": "std::vector<RuntimeValue> inputs, const Executable& executable",
    "byte_ledger.h": "std::span<const std::byte> bytes, Compiler& compiler, std::uint64_t total, std::uint64_t waste",
    "data.h": "const TensorData& data",
    "load_memory.h": "std::span<const std::byte> bytes",
    "etrecord.h": "const Exported& exported, const Delegated& delegated, const Executable& executable",
    "verify.h": "const Program& model, std::vector<RuntimeValue> inputs, const PteRunner& run, std::span<const std::byte> bytes, "
    "const Executable& executable, const Compiler& compiler",
    "graph.h": "Graph& graph, Value* x, const Type& type, Value* old, Node* dead",
    "inspect.h": "const Program& program",
    "memory_planner.h": "WriteOptions& options",
    "interpret.h": "const Program& program, const Method& method, std::vector<RuntimeValue> inputs, const Program& lowered, "
    "const Node& relu_node",
    "partitioners.h": "SupportFunction check_add, std::string text, const Program& program, const Method& method, "
    "const Proposal& gpu, const Proposal& cpu",
    "pins.h": "KeyValues& options, const BackendEntry& entry",
    "profile.h": "std::span<const std::byte> bytes, std::span<const std::byte> json, std::uint64_t total",
    "program.h": "const Type& type",
    "result.h": "std::string_view text",
    "sym.h": "const Ranges& ranges",
    "name.h": "const Node& node",
    "to_backend.h": "const Program& program, const Partitioner& partitioner, const std::vector<CompileSpec>& specs, "
    "const Registry& registry, const Partitioner& a, const Partitioner& b",
    "worker.h": "Compiler& compiler",
    "docs/backends.md": "BackendEntry& entry, std::string scaled_pattern, InferFunction scaled_types",
    "docs/partitioners.md": "SupportFunction check_add, SupportFunction check, std::shared_ptr<const Partitioner> gpu, "
    "std::shared_ptr<const Partitioner> cpu",
}
BACKEND = [
    "struct MyPartitioner : Partitioner { Result<PartitionResult> partition(const Program&, const Method&) const override; };",
    "struct MyBackend : Backend { std::string_view id() const override; static std::string description(); "
    "Result<PreprocessResult> preprocess(const Program&, std::span<const CompileSpec>) const override; };",
]
# Declared before a sample that does not have them itself.
DECLARED = {
    "command_line.h": ["BackendEntry my_chip_backend();"],
    "serve_backend.h": BACKEND,
    "result.h": ["struct Count { int nodes; };"],
    "docs/backends.md": [*BACKEND, "NodeSupport support(const Node& node);"],
}

STATEMENT = r";\s*(?://.*)?$"
DECLARES = re.compile(r"^(?:class|namespace|int main)\b|^\w[\w:<>]*(?: [\w:<>]+)* \w[\w:]*\([^;]*\) (?:const )?\{$", re.MULTILINE)
CODE = re.compile(rf"{STATEMENT}|^#include|^[A-Z]\w+[({{]|^\w+(?:<\w+>)?\((?!.*[^)]$)|^\w+\($", re.MULTILINE)
IR = re.compile(r"^(?:program|method)\b")


def header_samples(text):
    """Runs of comment lines that are indented by three blanks or more."""
    runs = re.findall(r"(?:^ *//   .*\n)+", text, re.MULTILINE)
    return [re.sub(r"^ *//   ", "", run, flags=re.MULTILINE) for run in runs]


def samples():
    """(header or page, the text) of each sample in C++."""
    for header in HEADERS:
        for sample in header_samples(header.read_text()):
            if CODE.search(sample) and not IR.search(sample):
                yield header.name, sample
    for page in PAGES:
        for sample in re.findall(r"^```cpp\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
            yield str(page.relative_to(ROOT)), sample


def as_function(number, place, sample):
    """C++ that holds the sample, with #line, so that errors name the header or page."""
    declares = DECLARES.search(sample)
    includes = "".join(re.findall(r"^#include.*\n", sample, re.MULTILINE))
    sample = re.sub(r"^#include.*\n", "\n", sample, flags=re.MULTILINE)
    own = set(re.findall(r"^(?:class|NodeSupport) (\w+)", sample, re.MULTILINE))
    declared = " ".join(text for text in DECLARED.get(place, []) if text.split()[1].split("(")[0] not in own)
    if declares:
        body = sample
    else:
        body = f"Result<PartitionResult> sample({GIVEN.get(place, '')}) {{\n#line 1 \"{place}\"\n{sample}; return {{}}; }}"
    return f'{includes}namespace sample_{number} {{ using namespace depute; {declared}\n#line 1 "{place}"\n{body}\n}}\n'


def test_every_header_with_a_sample_in_cpp_is_found():
    found = {place for place, _ in samples()}
    assert len(found) >= 25
    assert set(GIVEN) | set(DECLARED) <= found


def test_cpp_samples_compile(tmp_path):
    program = tmp_path / "samples.cpp"
    headers = "".join(f"#include <{header.relative_to(ROOT / 'include')}>\n" for header in HEADERS)
    program.write_text(headers + "\n".join(as_function(number, *sample) for number, sample in enumerate(samples())))
    runtime = f"{find_spec('executorch').submodule_search_locations[0]}/include"
    ours = ["-std=c++20", "-fsyntax-only", "-Werror", "-Wno-return-type", f"-I{ROOT}/include"]
    theirs = ["-DC10_USING_CUSTOM_GENERATED_MACROS", "-isystem", runtime, "-isystem", f"{runtime}/executorch/runtime/core/portable_type/c10"]
    command = ["g++", *ours, *theirs, program]
    run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    assert run.returncode == 0, run.stderr

