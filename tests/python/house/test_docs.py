"""What README and docs/cli.md show is what happens."""

import re
import shlex
import subprocess
from collections import Counter
from pathlib import Path

import pytest
import torch
from depute._verify_command import _parser
from harness import DEPUTE, ROOT, TIMEOUT, commands, depute, sample

README = (ROOT / "README.md").read_text()
CLI = (ROOT / "docs" / "cli.md").read_text()


def shown_commands(text: str) -> list[tuple[str, str]]:
    """Commands after "$ " in indented blocks, each with the lines that follow it there."""
    found = re.findall(r"^    \$ (depute .+)\n((?:    (?!\$).*\n)+)", text, re.MULTILINE)
    return [(command, "".join(line[4:] for line in output.splitlines(keepends=True))) for command, output in found]


def without_times(text: str) -> str:
    return re.sub(r"\d+\.\d( ms|(?=[,)]))", r"0.0\1", re.sub(r"\d+(\.\d)? KB", "KB", text))


@pytest.fixture
def folder(tmp_path):
    """A folder where paths of the repository can be named and files can be written."""
    for name in ("examples", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def test_there_are_commands_in_the_readme():
    assert len(shown_commands(README)) >= 2


@pytest.mark.parametrize("command, output", shown_commands(README), ids=lambda text: text.split("\n")[0][:40])
def test_readme_shows_what_is_printed(command, output, folder):
    words = [str(DEPUTE), *shlex.split(command)[1:]]
    run = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT, cwd=folder)
    assert run.returncode == 0, run.stderr
    assert without_times(run.stdout) == without_times(output)


def test_readme_runs_from_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    export, lower, run = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    scope = {"torch": torch, "model": torch.nn.Linear(3, 2), "example": torch.ones(1, 3)}
    exec(export, scope)
    assert depute("lower", tmp_path / "model.pt2", "--backend", "xnnpack", "-o", tmp_path / "command.pte").code == 0
    exec(lower, scope)
    exec(run, scope)
    assert torch.allclose(scope["outputs"][0], scope["model"](scope["example"]), atol=1e-5)


COMMANDS = [name for name in commands() if name != "verify"]


def options_of(command: str) -> set[str]:
    return set(re.findall(r"--[a-z][a-z-]*", depute(command, "--help").stdout)) - {"--help"}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_documented(command):
    assert options_of(command) <= set(re.findall(r"--[a-z][a-z-]*", CLI))


def test_every_documented_option_exists():
    known = set().union(*map(options_of, COMMANDS), options_of_verify())
    assert set(re.findall(r"--[a-z][a-z-]*", CLI)) <= known


def options_of_verify():
    """With --torch, in the Python package."""
    return set(re.findall(r"--[a-z][a-z-]*", _parser().format_help())) - {"--help"}


def test_the_options_of_verify_are_documented():
    section = re.search(r"^## depute verify\n(.+?)^## ", CLI, re.MULTILINE | re.DOTALL).group(1)
    written = set(re.findall(r"--[a-z][a-z-]*", section))
    assert "--torch" in options_of_verify() and options_of_verify() - {"--torch"} <= options_of("verify")
    assert written - {"--torch", "--random"} <= options_of("verify")
    assert options_of("verify") - options_of("lower") <= written


@pytest.mark.parametrize("command", ["lower", "explain"])
def test_the_synopsis_names_the_options_of_the_command(command):
    synopsis = re.search(rf"^    depute {command} MODEL\.pt2 (.+?)\n\n", CLI, re.MULTILINE | re.DOTALL).group(1)
    assert set(re.findall(r"--[a-z][a-z-]*", synopsis)) == options_of(command) - {"--output"}


def test_the_commands_are_those_documented():
    listed = re.findall(r"^    depute ([\w-]+)", CLI.split("\n\n")[1], re.MULTILINE)
    assert listed == list(commands())


def test_report_has_the_keys_documented():
    import json

    section = CLI.split("## The JSON report")[1].split("\n## ")[0]
    report = json.loads(depute("explain", sample("cond"), "--backend", "xnnpack", "--json").stdout)
    pairs = json.loads(depute("explain", sample("attn"), "--backend", "xnnpack:max_nodes=1", "--json").stdout)["apart"]
    for keys in (report, report["totals"], report["nodes"][0], report["delegates"][0], pairs[0]):
        for key in keys:
            assert re.search(rf"\b{key}\b", section), key


def test_pages_that_are_named_exist():
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")):
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (page.parent / target).exists(), target
        for target in re.findall(r"(?<![\w/])(?:include/depute|src|tools|driver|docs|tests|bench|examples)/[\w./-]+\.(?:h|cpp|md|py|pt2|ir)\b", text):
            assert (ROOT / Path(target)).exists(), target


def test_the_index_lists_every_page():
    index = (ROOT / "docs" / "README.md").read_text()
    pages = {path.name for path in (ROOT / "docs").iterdir() if path.is_file()} - {"README.md"}
    assert pages == set(re.findall(r"\]\(([\w.-]+\.(?:md|json))\)", index))


def tests_by_name() -> Counter:
    """How often each test occurs: SUITE.NAME in C++, FILE.NAME in Python."""
    names = []
    for folder in ("unit", "conformance"):
        for path in (ROOT / "tests" / folder).rglob("*.cpp"):
            names += map(".".join, re.findall(r"\bTEST(?:_F|_P)?\((\w+), (\w+)\)", path.read_text()))
    for path in (ROOT / "tests" / "python").rglob("test_*.py"):
        names += [f"{path.stem}.{name}" for name in re.findall(r"^def (test_\w+)\(", path.read_text(), re.MULTILINE)]
    return Counter(names)


def rows_of_features() -> list[list[str]]:
    """The cells of each row: number, feature, Depute, tests."""
    page = (ROOT / "docs" / "features.md").read_text()
    return [row.split(" | ") for row in re.findall(r"^\| (\d.*) \|$", page, re.MULTILINE)]


def test_each_feature_has_a_test_or_no_place():
    known, rows = tests_by_name(), rows_of_features()
    assert [int(number) for number, *_ in rows] == list(range(1, 104))
    for number, _feature, answer, tests in rows:
        assert re.match(r"yes|–: |–, as row", answer), number
        if tests == "–":
            assert answer.startswith("–"), number
            continue
        for test in tests.split(", "):
            there = (ROOT / test.strip("`")).is_file() if test.startswith("`") else known[test] == 1
            assert there, f"row {number}: {test}"


def test_the_page_on_dependencies_lists_what_is_installed():
    script = (ROOT / "scripts" / "install_system.sh").read_text()
    installed = set(re.findall(r"\blib[\w-]+-dev\b|\bflatbuffers-compiler\b|\b[\w-]+-json3?-dev\b", script))
    listed = (ROOT / "docs" / "dependencies.md").read_text()
    assert {package for package in installed - {"libclang-rt-19-dev"} if package not in listed} == set()


def test_compatibility_names_the_versions_of_the_code():
    page = (ROOT / "docs" / "compatibility.md").read_text()

    def constant(file, name):
        return re.search(rf'\b{name} = "?([^";]+)', (ROOT / file).read_text()).group(1)

    assert f"`{constant('tools/lock/lock.cpp', 'lock_title')}`" in page
    assert f"`protocol`, {constant('include/depute/compiler/worker.h', 'worker_protocol')} today" in page
    assert f"(schema version {constant('src/read/pt2/read_pt2.cpp', 'schema_major')})" in page


def test_readme_shows_a_program_that_compiles(tmp_path):
    shown = re.findall(r"^```cpp\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert shown
    for text in shown:
        lines = text.splitlines()
        includes = [line for line in lines if line.startswith("#include")]
        body = [line for line in lines if not line.startswith("#include")]
        program = tmp_path / "program.cpp"
        program.write_text("\n".join([*includes, "int main() {", *body, "}", ""]))
        command = ["g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Werror", f"-I{ROOT}/include", program]
        run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
        assert run.returncode == 0, run.stderr
