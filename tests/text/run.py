#!/usr/bin/env python3
"""Runs the golden tests below this folder: small programs in text form with the whole output expected of one step.

    run.py [--depute PATH] [--runner WORDS] [--update] [FILTER...]     only files whose path contains one of the FILTERs

A test is a file like

    ; RUN: parse --max-inline-bytes 16
    program
    ...
    ; ---- EXPECT
    program
    ...

The text above EXPECT is given to `depute-text` with the words behind RUN; its standard output must be the text below.

Of a test of the command line the words behind RUN start with `depute`. The program lies in `model.ir`, what stands below a
line `; ---- FILE NAME` in NAME, and the commands run one after another in a folder that has just these:

    ; RUN: depute lower model.ir --lock model.lock --lock-update --quiet
    ; RUN: depute lower after.ir --lock model.lock
    program
    ...
    ; ---- FILE after.ir
    program
    ...

All that they print is expected, of several commands each below a line `$ depute ...`; `exit code N` ends one that fails.

Files named bad_* must fail. They expect either the whole standard error below EXPECT, or no EXPECT and comments

    %a: f32[2] = aten.relu.default(%x)     ; ERROR: unknown value '%x'

on the lines where diagnostics must appear: as many, each on its line, each with that text in it.
--update writes what the tool says below EXPECT.
"""

import argparse
import concurrent.futures
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
EXPECT = "; ---- EXPECT\n"
RUN = re.compile(r"^; RUN: (.+)$", re.MULTILINE)
FILE = re.compile(r"^; ---- FILE (\S+)\n", re.MULTILINE)
ERROR = re.compile(r"; ERROR: (.+)$")
PLACE = re.compile(r"<stdin>:(\d+):\d+: (.*)")
TIMEOUT_SECONDS = 120


def run_program(words, **options):
    """All that it prints byte for byte: line ends are those that the program writes."""
    result = subprocess.run(words, timeout=TIMEOUT_SECONDS, **options)
    texts = [(printed or b"").decode() for printed in (result.stdout, result.stderr)]
    return subprocess.CompletedProcess(words, result.returncode, *texts)


class Test:
    def __init__(self, path):
        self.path = path
        self.name = str(path.relative_to(HERE))
        self.must_fail = path.name.startswith("bad_")
        self.input, self.mark, self.expected = path.read_text().partition(EXPECT)
        self.run = RUN.search(self.input)
        self.errors = [
            (number, found.group(1).strip())
            for number, line in enumerate(self.input.splitlines(), start=1)
            if (found := ERROR.search(line))
        ]

    def execute(self, tool, command_line):
        if self.run.group(1).startswith("depute "):
            return self.execute_commands(command_line)
        return run_program(
            [*tool, *shlex.split(self.run.group(1))],
            input=self.input.encode(),
            capture_output=True,
            cwd=self.path.parent,
        )

    def execute_commands(self, command_line):
        """One result with all that the commands print."""
        names_and_texts = ["model.ir", *FILE.split(self.input)]
        commands = RUN.findall(self.input)
        output = ""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in zip(names_and_texts[0::2], names_and_texts[1::2]):
                pathlib.Path(folder, name).write_text(text)
            for command in commands:
                result = run_program(
                    [*command_line, *shlex.split(command)[1:]],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    cwd=folder,
                )
                output += f"$ {command}\n" if len(commands) > 1 else ""
                output += result.stdout
                output += f"exit code {result.returncode}\n" if result.returncode else ""
        return subprocess.CompletedProcess(commands, 0, output, "")

    def complaint(self, result):
        """Why the test fails, or None."""
        wanted_code = 1 if self.must_fail else 0
        if result.returncode != wanted_code:
            return f"exit code {result.returncode}, expected {wanted_code}\n{result.stderr}"
        if self.errors:
            return self.complaint_about_errors(result.stderr)
        if not self.mark:
            return "neither '; ---- EXPECT' nor '; ERROR:' (run with --update to write the output)"
        actual = result.stderr if self.must_fail else result.stdout
        if actual == self.expected:
            return None
        lines = difflib.unified_diff(
            self.expected.splitlines(keepends=True), actual.splitlines(keepends=True), "expected", "actual"
        )
        return "".join(lines)

    def complaint_about_errors(self, stderr):
        actual = [(int(line), message) for line, message in PLACE.findall(stderr)]
        unplaced = [line for line in stderr.splitlines() if not PLACE.search(line)]
        matches = len(actual) == len(self.errors) and all(
            place == wanted_place and wanted in message
            for (place, message), (wanted_place, wanted) in zip(sorted(actual), sorted(self.errors))
        )
        if matches and not unplaced:
            return None
        wanted = "".join(f"  line {line}: {text}\n" for line, text in self.errors)
        return f"expected diagnostics:\n{wanted}actual standard error:\n{stderr}"

    def update(self, result):
        """Writes the actual output below EXPECT; true when the file changed."""
        output = result.stderr if self.must_fail else result.stdout
        if self.errors or result.returncode != (1 if self.must_fail else 0) or output == self.expected and self.mark:
            return False
        separator = "" if self.input.endswith("\n") else "\n"
        self.path.write_text(self.input + separator + EXPECT + output)
        return True


def check(test, tool, command_line, update):
    """(complaint or None, updated)"""
    if test.run is None:
        return "no line '; RUN: ...'", False
    try:
        result = test.execute(tool, command_line)
    except subprocess.TimeoutExpired:
        return f"no end after {TIMEOUT_SECONDS} s", False
    if update and test.update(result):
        return None, True
    return test.complaint(result), False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = ROOT / "build/release/tests/text/tool/depute-text"
    parser.add_argument("--depute", default=default, metavar="PATH", help="the depute-text program")
    parser.add_argument("--runner", default="", metavar="WORDS", help="what runs a program of another platform: wine, for example")
    parser.add_argument("--update", action="store_true", help="write the actual output into the tests")
    parser.add_argument("filters", nargs="*", metavar="FILTER")
    options = parser.parse_args()
    tool = pathlib.Path(options.depute).resolve()
    command_line = (tool.parents[3] / "depute").with_suffix(tool.suffix)  # of the same build, which makes both
    runner = shlex.split(options.runner)
    for program in (tool, command_line):
        if not program.is_file():
            sys.exit(f"error: no program {program}; build the target depute_text or give --depute")

    paths = sorted(HERE.rglob("*.ir"))
    tests = [Test(path) for path in paths]
    if options.filters:
        tests = [test for test in tests if any(part in test.name.removesuffix(".ir") for part in options.filters)]
    if not tests:
        sys.exit("error: no tests match")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(lambda test: check(test, [*runner, tool], [*runner, command_line], options.update), tests))

    failures = 0
    for test, (complaint, updated) in zip(tests, outcomes):
        if updated:
            print(f"updated {test.name}")
        if complaint is not None:
            failures += 1
            print(f"FAILED {test.name}\n{complaint}")
    print(f"{len(tests) - failures} of {len(tests)} text tests passed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
