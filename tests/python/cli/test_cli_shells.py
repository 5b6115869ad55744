"""Completion and the manual page, from the options that --help tells."""

import os
import re
import shutil
import subprocess

import pytest
from harness import DEPUTE, depute

COMMANDS = re.findall(r"^  (\w+) ", depute("--help").stdout.split("Subcommands:")[1], re.MULTILINE)


def options_of(command: str) -> set[str]:
    """As its help lists them."""
    lines = depute(command, "--help").stdout.splitlines()
    spelt = [line.strip().split(" ")[0] for line in lines if line.startswith("  -")]
    return {word for each in spelt for word in re.split(r"[,:]", each) if word.startswith("--")}


def shell(name, script, *words):
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name}")
    environment = {**os.environ, "PATH": f"{DEPUTE.parent}:{os.environ['PATH']}"}
    done = subprocess.run([name, *words, script], capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.splitlines()


def bash(*words):
    quoted = " ".join(f"'{word}'" for word in words)
    script = f"source <(depute completion bash); COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _depute; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return shell("bash", script, "-c")


def fish(line):
    return [each.split("\t")[0] for each in shell("fish", f"depute completion fish | source; complete -C '{line}'", "-N", "-c")]


def test_bash_completes_commands_options_and_backends(tmp_path):
    assert {"lower", "explain", "doctor", "profile", "completion", "man", "--version"} <= set(bash("depute", ""))
    assert bash("depute", "low") == ["lower"]
    assert bash("depute", "lower", "m.pt2", "--back") == ["--backend"]
    assert bash("depute", "lower", "--backend", "x") == ["xnnpack"]
    assert bash("depute", "size", "--back") == [""]
    (tmp_path / "model.pt2").touch()
    assert bash("depute", "lower", f"{tmp_path}/mod") == [f"{tmp_path}/model.pt2"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_the_help_is_completed(command):
    wanted = options_of(command)
    assert "--help" in wanted
    assert wanted <= set(bash("depute", command, "--"))
    if shutil.which("fish"):
        assert wanted - {"--help"} <= set(fish(f"depute {command} --"))


def test_fish_completes_backends():
    assert fish("depute lower --backend x") == ["xnnpack"]
    assert fish("depute doc") == ["doctor"]


def test_backends_of_both_sides_of_a_diff_are_completed():
    assert "xnnpack" in bash("depute", "diff", "a.pte", "b.pte", "--to-backend", "xn")


def test_values_of_closed_lists_are_completed():
    """In each shell's script, as not every machine has the shells."""
    assert bash("depute", "lower", "--color", "a") == ["auto", "always"]
    assert bash("depute", "extract", "--weights", "r") == ["random"]
    words = '-r -f -a "auto always never" -d'
    lines = {name: depute("completion", name).stdout.splitlines() for name in ("fish", "zsh")}
    of_lower = [line for line in lines["fish"] if "from lower'" in line]
    assert any(f"-l color {words}" in line for line in of_lower)
    assert any("-l backend -r -f -a \"(depute backends 2>/dev/null | cut -d' ' -f1)\" -d" in line for line in of_lower)
    assert any("-l quiet -d" in line for line in of_lower)
    assert any("-s o -l output -r -d" in line for line in of_lower)
    zsh = {re.match(r"'\*(--?[\w-]+)\[", line.strip())[1]: line.strip() for line in reversed(lines["zsh"]) if line.strip().startswith("'*-")}  # options of `lower`, which come first
    assert zsh["--color"].endswith("]:value:(auto always never)' \\")
    assert zsh["--backend"].endswith("]:value:_depute_backends' \\")
    assert zsh["--output"].endswith("]:value:_files' \\")
    assert zsh["--quiet"].endswith("]' \\") and ":value:" not in zsh["--quiet"]


def test_schemes_and_names_of_backends_are_completed():
    assert bash("depute", "lower", "--quantize", "conv") == ["conv=8da8w"]
    assert {"static", "linear=8da4w", "embedding=8w"} <= set(bash("depute", "explain", "--quantize", ""))
    assert "embedding=8da8w" not in bash("depute", "explain", "--quantize", "")  # which embeddings do not have
    for word in bash("depute", "explain", "--quantize", ""):
        assert "KIND=SCHEME" not in depute("lower", "m.pt2", "--quantize", word).stderr
    assert bash("depute", "backends", "xn") == ["xnnpack"]
    fish_lines = depute("completion", "fish").stdout.splitlines()
    assert any("from backends' -f -a \"(depute backends" in line for line in fish_lines)
    zsh = depute("completion", "zsh").stdout.split("    backends)\n")[1].split(";;")[0]
    assert "'*:file:_depute_backends'" in zsh


def test_zsh_takes_the_script():
    script = "autoload -U compinit; compinit -u -D; source <(depute completion zsh); print $_comps[depute]; whence -w _depute"
    assert shell("zsh", script, "-f", "-c") == ["_depute", "_depute: function"]


@pytest.mark.parametrize("words", [(), ("csh",), ("bash", "zsh"), ("",)], ids=str)
def test_shells_that_are_none(words):
    run = depute("completion", *words)
    assert run.code == 2 and not run.stdout
    assert "did you mean bash?" in depute("completion", "bsh").stderr


def test_the_manual_has_all_that_the_help_has(tmp_path):
    page = depute("man").stdout
    for command in COMMANDS:
        assert f"\\fBdepute {command}\\fR" in page
        part = page.split(f"\\fBdepute {command}\\fR")[1].split("\n.SS")[0]
        for option in options_of(command) - {"--help"}:
            assert option.replace("-", "\\-") + "\\fR" in part, (command, option)


@pytest.mark.skipif(shutil.which("man") is None, reason="there is no man")
def test_man_renders_it(tmp_path):
    page = tmp_path / "depute.1"
    page.write_text(depute("man").stdout)
    environment = {**os.environ, "MANWIDTH": "80", "MAN_KEEP_FORMATTING": "", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["man", "-l", "--warnings", page], capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0 and not done.stderr, done.stderr
    text = re.sub(r".\x08", "", done.stdout)
    assert "--lock-update" in text and "EXIT STATUS" in text and max(map(len, text.splitlines())) <= 80
