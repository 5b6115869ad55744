"""What `cmake --install` puts in place is enough to build on: headers, library, package, program."""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from harness import DEPUTE, ROOT, TIMEOUT, sample

pytestmark = pytest.mark.long

BUILD = DEPUTE.parent
INCLUDE = ROOT / "include"
# Without the one for ExecuTorch's runtime, which needs its headers: the template compiles it.
HEADERS = sorted(path for path in (INCLUDE / "depute").rglob("*.h") if path.name != "runtime_backend.h")
COMPILERS = [name for name in ("g++", "clang++-19", "clang++") if shutil.which(name)]


def run(*words, timeout=TIMEOUT, **options):
    words = [str(word) for word in words]
    done = subprocess.run(words, capture_output=True, text=True, timeout=timeout, **options)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("installed")
    run("cmake", "--install", BUILD, "--prefix", prefix)
    return prefix


def test_an_install_after_make_build_alone_builds_what_is_missing(tmp_path):
    for library in BUILD.glob("libdepute.so*"):
        library.unlink()
    shutil.rmtree(BUILD / "printed", ignore_errors=True)
    run("cmake", "--install", BUILD, "--prefix", tmp_path, timeout=3 * TIMEOUT)
    names = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert {"depute", "libdepute.so", "compiler.h", "depute-config.cmake", "depute.pc", "depute.1", "_depute", "LICENSE"} <= names


def test_pkg_config_finds_the_installed_library_where_it_lies(installed, tmp_path):
    moved = tmp_path / "elsewhere"
    shutil.copytree(installed, moved, symlinks=True)
    env = {**os.environ, "PKG_CONFIG_PATH": str(next(moved.rglob("depute.pc")).parent)}
    version = run("pkg-config", "--modversion", "depute", env=env).strip()
    assert run(moved / "bin" / "depute", "--version").strip() == f"depute {version}"
    flags = run("pkg-config", "--cflags", "--libs", "depute", env=env).split()
    source = tmp_path / "main.cpp"
    source.write_text(
        "#include <depute/compiler/compiler.h>\n#include <cstdio>\n"
        "int main() { std::puts(depute::Compiler().registry().find_backend(\"XnnpackBackend\") ? \"found\" : \"none\"); }\n"
    )
    program = tmp_path / "main"
    run("g++", "-std=c++20", source, *flags, "-o", program)
    library = next(moved.rglob("libdepute.so")).parent
    assert run(program, env={**os.environ, "LD_LIBRARY_PATH": str(library)}).strip() == "found"


@pytest.fixture(scope="module")
def chip(installed, tmp_path_factory):
    """tests/outside, built against the installed tree alone."""
    build = tmp_path_factory.mktemp("chip")
    run("cmake", "-S", ROOT / "tests" / "outside", "-B", build, f"-DCMAKE_PREFIX_PATH={installed}", "-G", "Ninja")
    run("cmake", "--build", build, timeout=3 * TIMEOUT)
    return build


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.ir"
    path.write_text(
        "program\nmethod forward(%x: f32[2], %y: f32[2]) {\n"
        "  %m: f32[2] = aten.mul.Tensor(%x, %y) #1\n"
        "  %r: f32[2] = aten.relu.default(%m) #2\n"
        "  %t: f32[2] = aten.tan.default(%r) #3\n"
        "  %n: f32[2] = aten.neg.default(%t) #4\n"
        "  return %n\n}\n"
    )
    return path


def test_its_command_line_has_the_backend_beside_those_built_in(chip):
    listed = run(chip / "chipc", "backends")
    assert re.findall(r"^(\w+) ", listed, re.MULTILINE) == ["demo", "ethosu", "tosa", "vgf", "xnnpack", "chip"]


def test_its_op_takes_the_place_of_its_pattern(chip, model, tmp_path):
    out = tmp_path / "m.pte"
    conditions = ("--require", "partitions==2,delegated==2")
    run(chip / "chipc", "lower", model, "--backend", "chip:fast=1", *conditions, "-o", out)
    shown = run(chip / "chipc", "show", out)
    assert "ChipBackend" in shown
    assert b"fast=1!mul_relu;" in out.read_bytes() and b"fast=1!neg;" in out.read_bytes()


def test_its_refusals_are_told_with_the_place(chip, model):
    done = subprocess.run([chip / "chipc", "lower", model, "--backend", "chip:slow=1"], capture_output=True, text=True)
    assert done.returncode == 2 and "unknown option 'slow'" in done.stderr


def test_in_memory_gives_the_bytes_of_the_file(chip, model, tmp_path):
    file, memory = tmp_path / "file.pte", tmp_path / "memory.pte"
    run(chip / "chipc", "lower", model, "--backend", "chip", "-o", file)
    assert run(chip / "in_memory", model, memory).split() == ["chip0", "chip1"]
    assert file.read_bytes() == memory.read_bytes()


def test_in_memory_reads_archives(chip, tmp_path):
    file, memory = tmp_path / "file.pte", tmp_path / "memory.pte"
    run(chip / "chipc", "lower", sample("mlp"), "--backend", "chip", "-o", file)
    run(chip / "in_memory", sample("mlp"), memory)
    assert file.read_bytes() == memory.read_bytes()


def test_the_installed_program_runs(installed, tmp_path):
    out = tmp_path / "m.pte"
    run(installed / "bin" / "depute", "lower", sample("mlp"), "-o", out)
    assert out.stat().st_size > 0


def test_the_library_exports_its_own_names_only(installed):
    library = next(installed.rglob("libdepute.so"))
    names = [line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()]
    assert len(names) > 100
    assert [name for name in names if not re.match(r"_Z(N|NK|TVN|TIN|TSN|TTN)6depute", name)] == []
    # Functions behind the face stay inside.
    assert not [name for name in names if re.search(r"6depute(4text6Parser|8internal|13MethodPlanner)", name)]


def test_the_headers_install_no_source_and_need_none_of_others(installed):
    folder = installed / "include" / "depute"
    names = [path.relative_to(INCLUDE / "depute") for path in sorted((INCLUDE / "depute").rglob("*.h"))]
    assert sorted(path.relative_to(folder) for path in folder.rglob("*.h")) == names
    for header in HEADERS:
        included = re.findall(r'#include ([<"][^>"]+[>"])', header.read_text())
        assert all("/" not in name or name.startswith('"depute/') for name in included), header.name


def test_no_macro_of_the_headers_can_clash():
    for header in HEADERS:
        for macro in re.findall(r"^\s*#define (\w+)", header.read_text(), re.MULTILINE):
            assert macro.startswith("DEPUTE_"), f"{header.name}: {macro}"


def test_the_demo_backend_needs_the_public_headers_alone(installed, model, tmp_path):
    for path in sorted((ROOT / "backends" / "demo").glob("demo_backend.*")):
        shutil.copy(path, tmp_path)
    (tmp_path / "main.cpp").write_text(
        "#include <depute/compiler.h>\n"
        "namespace depute::demo { void register_backend(Registry& registry); }\n"
        "int main(int argc, char** argv) {\n"
        "  depute::Registry registry;\n"
        "  depute::demo::register_backend(registry);\n"
        "  depute::Compiler compiler(std::move(registry));\n"
        "  return depute::run_command_line(argc, argv, compiler);\n"
        "}\n"
    )
    library = next(installed.rglob("libdepute.so")).parent
    warnings = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror")
    sources = sorted(tmp_path.glob("*.cpp"))
    run("g++", "-std=c++20", *warnings, f"-I{installed}/include", *sources, f"-L{library}", f"-Wl,-rpath,{library}", "-ldepute", "-o", tmp_path / "main")
    assert re.findall(r"^(\w+) ", run(tmp_path / "main", "backends"), re.MULTILINE) == ["demo"]
    run(tmp_path / "main", "lower", model, "--backend", "demo", "--require", "partitions==1,delegated==1", "-o", tmp_path / "m.pte")
    assert b"sin_decomp_from_tan" in (tmp_path / "m.pte").read_bytes()


# A declaration at the outermost level without a body: a function that the library has.
FUNCTION = re.compile(r"^(?!template|using|inline|constexpr|enum|struct|class|namespace|static|friend|#|\s|\}|//)[^=;{}\n]*\([^;]*\)[^;]*;", re.MULTILINE)


def test_every_function_of_the_headers_is_exported():
    for header in HEADERS:
        text = re.sub(r"//.*", "", header.read_text())
        text = re.sub(r"^template.*\n(?:.+\n)+", "", text, flags=re.MULTILINE)
        missing = [found[0] for found in FUNCTION.finditer(text) if "DEPUTE_API " not in found[0]]
        assert missing == [], header.name
        assert "#pragma GCC visibility" not in text, header.name


@pytest.mark.parametrize("compiler", COMPILERS)
def test_every_header_compiles_alone(compiler, installed, tmp_path):
    def compile_one(header):
        name = header.relative_to(INCLUDE)
        source = tmp_path / f"{'_'.join(name.with_suffix('').parts)}.cpp"
        source.write_text(f"#include <{name}>\n#include <{name}>\n")
        flags = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
        command = [compiler, *flags, f"-I{installed}/include", source]
        return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT).stderr

    # One compiler reports what a header lacks; the other compiles the three headers that include all.
    headers = HEADERS if compiler == COMPILERS[0] else [header for header in HEADERS if header.parent.name == "depute"]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for header, said in zip(headers, pool.map(compile_one, headers)):
            assert said == "", header.name


@pytest.mark.parametrize("chosen, built", [("demo", ["demo"]), ("xnnpack;demo", ["demo", "xnnpack"])])
def test_backends_are_chosen_when_it_is_built(chosen, built, tmp_path):
    run("cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", "-DDEPUTE_TESTS=OFF", f"-DDEPUTE_BACKENDS={chosen}")
    calls = (tmp_path / "backends" / "registry.cpp").read_text()
    assert re.findall(r"  depute::(\w+)::register_backend\(", calls) == built


def test_a_backend_that_is_not_there_is_refused(tmp_path):
    words = ["cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", "-DDEPUTE_TESTS=OFF", "-DDEPUTE_BACKENDS=nothing"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode != 0 and "there is no backend 'nothing'" in " ".join(done.stderr.split())


def test_the_version_is_the_same_everywhere(installed):
    text = (INCLUDE / "depute" / "api.h").read_text()
    version = ".".join(re.findall(r"#define DEPUTE_VERSION_\w+ (\d+)", text))
    assert run(installed / "bin" / "depute", "--version").strip() == f"depute {version}"
    package = next(installed.rglob("depute-config-version.cmake")).read_text()
    assert f'set(PACKAGE_VERSION "{version}")' in package


def block(language, opening):
    """The block of docs/backends.md that begins so."""
    found = re.findall(rf"```{language}\n({re.escape(opening)}.*?)```", (ROOT / "docs" / "backends.md").read_text(), re.DOTALL)
    assert len(found) == 1, opening
    return found[0]


TANGENTS = """program
method forward(%x: f32[2]) {
  %t: f32[2] = aten.tan.default(%x) #1
  %r: f32[2] = aten.relu.default(%t) #2
  %u: f32[2] = aten.tan.default(%r) #3
  return %u
}
"""


def is_lowered(depute, folder, path):
    (folder / "m.ir").write_text(TANGENTS)
    env = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}
    told = run(depute, "lower", folder / "m.ir", "--backend", "mine", "-o", folder / "m.pte", "--dump-after", "lower", env=env)
    assert told.count('backend "MyBackend"') == 2 and "Number of non-delegated nodes: 1" in told
    tried = run(depute, "test-backend", "mine", "--model", folder / "m.ir", env=env)
    assert [line.split()[0] for line in tried.splitlines()] == ["ok"] * 4
    return told


def test_the_backend_in_the_docs_is_a_whole_one(installed, tmp_path):
    (tmp_path / "main.cpp").write_text(block("cpp", "#include <depute/program.h>"))
    (tmp_path / "CMakeLists.txt").write_text(block("cmake", "cmake_minimum_required"))
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", tmp_path / "build", timeout=3 * TIMEOUT)
    told = is_lowered(installed / "bin" / "depute", tmp_path, tmp_path / "build")
    assert "%t: f32[2] = aten.tan.default(%x)" in told  # in the blob


def test_the_backend_in_python_in_the_docs_is_a_whole_one(installed, tmp_path):
    import depute

    text = block("python", "#!/usr/bin/env python3").removeprefix("#!/usr/bin/env python3\n")
    # A script's first line may be too long for the system: a program that starts it has no such limit.
    (tmp_path / "mine.py").write_text(text)
    program = tmp_path / "depute-backend-mine"
    folder = os.path.dirname(os.path.dirname(depute.__file__))
    program.write_text(f"#!/bin/sh\nPYTHONPATH={folder} exec {sys.executable} {tmp_path}/mine.py\n")
    program.chmod(0o755)
    is_lowered(installed / "bin" / "depute", tmp_path, tmp_path)


@pytest.fixture(scope="module")
def template(installed, tmp_path_factory):
    """examples/backend_template, built as its own first lines say."""
    build = tmp_path_factory.mktemp("template")
    environment = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}"}
    executorch = Path(find_spec("executorch").submodule_search_locations[0])
    options = [f"-DCMAKE_PREFIX_PATH={installed}", f"-DEXECUTORCH={executorch}"]
    run("cmake", "-S", ROOT / "examples" / "backend_template", "-B", build, *options, env=environment)
    run("cmake", "--build", build, timeout=3 * TIMEOUT)
    return build


def test_the_template_of_a_backend_passes_its_own_test(template):
    """Both halves, where depute-run is built."""
    done = run("ctest", "--test-dir", template, "--output-on-failure")
    assert re.search(rf"100% tests passed.* out of {3 if (BUILD / 'depute-run').exists() else 1}\n", done)


def test_the_template_is_found_on_path(installed, template, tmp_path):
    env = {**os.environ, "PATH": f"{template}:{os.environ['PATH']}"}
    depute = installed / "bin" / "depute"
    listed = run(depute, "backends", "mine", env=env)
    assert listed.startswith("mine (MyBackend): A chip that adds and rectifies (mine 0.1)\n")
    model = ROOT / "examples" / "backend_template" / "test.ir"
    told = run(depute, "lower", model, "--backend", "mine", "-o", tmp_path / "m.pte", "--dump-after", "lower", env=env)
    assert 'blob "add 0 1;relu 2;#3;"' in told and 'blob "add 0 1;#2;"' in told and "debug 1 = #2" in told
    assert run(template / "depute-backend-mine", "--version") == "mine mine 0.1\n"


def test_the_templates_runtime_half_works_in_python(template, tmp_path):
    """In this release of ExecuTorch, whichever it is; in a process of its own, since a backend stays registered."""
    model = ROOT / "examples" / "backend_template" / "test.ir"
    run(DEPUTE, "lower", model, "--backend", f"exec:{template / 'depute-backend-mine'}", "-o", tmp_path / "m.pte")
    script = """
import sys
import depute, torch
from executorch.runtime import Runtime
depute.load_runtime_plugin(sys.argv[1])
program = Runtime.get().load_program(sys.argv[2])
x, y = torch.randn(2), torch.randn(2)
torch.testing.assert_close(program.load_method("forward").execute([x, y])[0], torch.tan(torch.relu(x + y)) + y)
"""
    run(sys.executable, "-W", "ignore", "-c", script, template / "libmine_runtime.so", tmp_path / "m.pte")
