#!/usr/bin/env python3
"""How many small changes to the code do the tests notice?

    mutation.py [--count N] [--seed N] [--list FILE] [--python TEST]... PATH...      PATH: folders or files, like src/lower

Takes a random sample of the changes that universalmutator (PyPI) makes to the files (.cpp and .py), one at a time, in a copy
of the tree below build/mutation. A change that does not compile, that gives the same code, or that lies in a CHECK (a test
itself) does not count. Changes of the Python package need tests that are named with --python; where no other files change, its
module is that of build/release. The others are tried against the text tests and unit tests, those of the changed folder first; what
no test notices is a survivor. Survivors are printed as diffs, and with --list also written to FILE. Give each a test, or one
line why it is the same.
"""

import argparse
import ast
import difflib
import hashlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREE = ROOT / "build" / "mutation"
BUILD = TREE / "build" / "release"
TEST_SECONDS = 120  # a test program that takes longer has noticed the change
# Lines that say nothing at run time.
SILENT = re.compile(r"\s*(//|#|namespace\b|using\b|}\s*//|$)")
PACKAGE = TREE / "build" / "package"  # depute/ with its module, for tests of Python


def run(command, timeout=None, **options):
    """Like subprocess.run; what takes too long is ended with all that it started."""
    options |= {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "start_new_session": True}
    with subprocess.Popen(command, **options) as process:
        try:
            output, _ = process.communicate(timeout=timeout)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output)


def copy_tree():
    """A copy of what git tracks or would track; files that did not change keep their times."""
    names = run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT).stdout.splitlines()
    for name in names:
        source, target = ROOT / name, TREE / name
        if not source.is_file():
            continue
        if not target.exists() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            shutil.copymode(source, target)
    for shared in (".venv", "build/models"):
        if not (TREE / shared).exists() and (ROOT / shared).exists():
            (TREE / shared).parent.mkdir(parents=True, exist_ok=True)
            (TREE / shared).symlink_to(ROOT / shared)


def build_tree(with_package):
    os.environ.update(CCACHE_BASEDIR=str(TREE), CCACHE_NOHASHDIR="1")  # shares what the other trees compiled
    if not (BUILD / "build.ninja").exists():
        linker = ["-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold"] if shutil.which("mold") else []
        python = [f"-DPython_EXECUTABLE={ROOT / '.venv/bin/python'}", "-DDEPUTE_PYTHON=ON"]
        command = ["cmake", "--preset", "release", "-DDEPUTE_UNITY=OFF", *linker, *python]
        subprocess.run(command, cwd=TREE, check=True, stdout=subprocess.DEVNULL)
    targets = ["all", "_depute"] if with_package else ["all"]
    subprocess.run(["cmake", "--build", BUILD, "--target", *targets], check=True, stdout=subprocess.DEVNULL)


def put_package(build):
    """The Python package, as its wheel has it, with the module of a build folder."""
    shutil.rmtree(PACKAGE, ignore_errors=True)
    shutil.copytree(TREE / "python/depute", PACKAGE / "depute")
    modules = list((build / "python").glob("_depute*.so"))
    if not modules:
        sys.exit(f"error: there is no module of Python in {build}: scripts/build_wheel.sh")
    shutil.copy(modules[0], PACKAGE / "depute")
    os.environ.update(PYTHONPATH=str(PACKAGE), DEPUTE_BIN=str(build / "depute"), PYTHONDONTWRITEBYTECODE="1")


class Change:
    def __init__(self, path, text, original):
        self.path = path
        old, new = original.splitlines(), text.splitlines()
        self.line = next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), 0)
        if len(new) == len(old) + 1 and path.suffix != ".py":  # line numbers are part of the code where a CHECK names its place
            new[self.line : self.line + 2] = [" ".join(new[self.line : self.line + 2])]
        self.text = "\n".join(new) + "\n"
        self.is_silent = not old or bool(SILENT.match(old[self.line])) or self.is_in_check(old)

    def is_in_check(self, lines):
        """In the condition or the message of a CHECK, which is a test itself."""
        first = self.line
        while first > 0 and not re.search(r"[;{}]\s*(//.*)?$", lines[first - 1]):
            first -= 1
        return bool(re.match(r"\s*CHECK\(", lines[first]))

    def diff(self):
        lines = difflib.unified_diff(
            (ROOT / self.path).read_text().splitlines(), self.text.splitlines(), str(self.path), str(self.path), n=2, lineterm=""
        )
        return "\n".join(lines)


def mutate_program():
    program = shutil.which("mutate", path=f"{ROOT}/.venv/bin{os.pathsep}{os.environ['PATH']}")
    if program is None:
        sys.exit("error: universalmutator is missing: .venv/bin/python -m pip install universalmutator")
    return program


def changes_of(path):
    original = (ROOT / path).read_text()
    with tempfile.TemporaryDirectory() as folder:
        run([mutate_program(), str(path), "--noCheck", "--mutantDir", folder], cwd=ROOT)
        found = sorted(pathlib.Path(folder).glob("*.mutant.*"))
        changes = [Change(path, mutant.read_text(), original) for mutant in found]
    return [change for change in changes if not change.is_silent]


def object_of(path):
    top, *_ = path.parts
    folder = path.parts[1] if top == "src" else "report" if top == "tools" else "_".join(path.parts[:2])
    places = (f"{path.parent}/CMakeFiles/*.dir/{path.name}.o", f"{top}/CMakeFiles/*.dir/{path.relative_to(top)}.o")
    return next(found for place in (*places, f"cli/CMakeFiles/*.dir/__/{path}.o") for found in BUILD.glob(place)), folder


def code_hash(path):
    """Of the machine code and data, without debug information and line numbers."""
    text = subprocess.run(["objcopy", "-O", "binary", "-g", path, "/dev/stdout"], capture_output=True).stdout
    relocations = run(["objdump", "-rdC", "--no-show-raw-insn", "-j", ".text", path]).stdout
    everything = run(["objdump", "-sr", path]).stdout.split("\n", 3)[-1]
    return hashlib.sha256((everything + relocations).encode() + text).hexdigest()


def ninja(*targets):
    return run(["ninja", "-C", BUILD, "-j2", *targets])


def trials(folder, tests):
    """(target to build, command to run): quick ones and those of the folder first; last the tables against the stock
    runtime, when .venv is there. Of tests that are named, those alone."""
    python = ROOT / ".venv/bin/python"
    if tests:
        return [("depute", [str(python), "-m", "pytest", "-q", "-x", *(f"tests/python/{test}" for test in tests)])]
    text = ("depute_text", [sys.executable, "tests/text/run.py", "--depute", str(BUILD / "tests/text/tool/depute-text")])
    names = [path.name for path in sorted(BUILD.glob("tests/**/depute_*_tests"))]
    first = [f"depute_{folder}_tests", "depute_lower_tests", "depute_plan_tests", "depute_compile_tests", "depute_write_tests"]
    order = [name for name in dict.fromkeys(first + names) if name in names]
    programs = {path.name: str(path) for path in BUILD.glob("tests/**/depute_*_tests")}
    units = [(name, [programs[name], "--gtest_fail_fast", "--gtest_brief=1"]) for name in order]
    tables = ("depute", [str(python), "-m", "pytest", "-q", "-x", "tests/python/ops/test_kernel_table.py"])
    return [text, *units] + ([tables] if python.exists() else [])


def who_notices(folder, tests):
    """The first target whose tests fail; None when none does."""
    for target, command in trials(folder, tests):
        if ninja(target).returncode != 0:
            return "invalid"
        try:
            if run(command, cwd=TREE, timeout=TEST_SECONDS).returncode != 0:
                return target
        except subprocess.TimeoutExpired:
            return f"{target} (time)"
    return None


def same_python(one, other):
    return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))


def attempt_python(change, tests):
    """Of a file of the package, which nothing has to compile."""
    original = (ROOT / change.path).read_text()
    try:
        if same_python(original, change.text):
            return "same"
    except SyntaxError:
        return "invalid"
    target = PACKAGE / change.path.relative_to("python")
    (_, command), *_ = trials("", tests)
    try:
        target.write_text(change.text)
        return "survived" if run(command, cwd=TREE, timeout=TEST_SECONDS * len(tests)).returncode == 0 else "noticed"
    except subprocess.TimeoutExpired:
        return "noticed (time)"
    finally:
        target.write_text(original)


def attempt(change, tests):
    """Gives 'invalid', 'same', 'noticed by ...' or 'survived'; leaves the tree as it was."""
    if change.path.suffix == ".py":
        return attempt_python(change, tests)
    target = TREE / change.path
    original = (ROOT / change.path).read_text()
    object_file, folder = object_of(change.path)
    object_name = str(object_file.relative_to(BUILD))
    before = code_hash(object_file)
    try:
        target.write_text(change.text)
        if ninja(object_name).returncode != 0:
            return "invalid"
        if code_hash(object_file) == before:
            return "same"
        if change.path.parts[0] == "python":
            if ninja("_depute").returncode != 0:
                return "invalid"
            put_package(BUILD)
        noticed = who_notices(folder, tests)
        if noticed == "invalid":
            return noticed
        return f"noticed by {noticed}" if noticed else "survived"
    finally:
        target.write_text(original)
        ninja(object_name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", metavar="PATH")
    parser.add_argument("--count", type=int, default=100, help="changes that compile and differ (default 100)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", type=pathlib.Path)
    parser.add_argument("--python", action="append", default=[], metavar="TEST", help="a file of tests/python to try instead")
    options = parser.parse_args()
    files = []
    for path in map(pathlib.Path, options.paths):
        files += sorted(each for kind in ("cpp", "py") for each in path.glob(f"*.{kind}")) if (ROOT / path).is_dir() else [path]
    files = [pathlib.Path(os.path.relpath(ROOT / path, ROOT)) for path in files]
    of_package = [path for path in files if path.parts[0] == "python"]
    if of_package and not options.python:
        parser.error("changes of the Python package need tests: --python package/test_package.py, for one")
    copy_tree()
    is_compiled = any(path.suffix == ".cpp" for path in files)
    if is_compiled:
        build_tree(with_package=bool(of_package))
    if of_package:
        put_package(BUILD if is_compiled else ROOT / "build/release")
    changes = [change for path in files for change in changes_of(path)]
    random.Random(options.seed).shuffle(changes)
    noticed, survivors = 0, []
    for change in changes:
        if noticed + len(survivors) >= options.count:
            break
        verdict = attempt(change, options.python)
        if verdict in ("invalid", "same"):
            continue
        noticed += verdict != "survived"
        if verdict == "survived":
            survivors.append(change)
            if options.list:
                options.list.write_text("\n\n".join(each.diff() for each in survivors) + "\n")
        print(f"{noticed + len(survivors):4} {change.path}:{change.line + 1}: {verdict}", flush=True)
        if verdict == "survived":
            print(change.diff(), flush=True)
    total = noticed + len(survivors)
    print(f"{noticed} of {total} changes noticed ({100 * noticed / max(total, 1):.1f} %), {len(survivors)} survived")


if __name__ == "__main__":
    main()
