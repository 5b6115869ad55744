"""What depends on a terminal: colors, and the line that tells what a long run has done."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest
from harness import DEPUTE, ROOT, depute, sample

ESCAPE = "\033["
END = b"\0end"
EXPLAIN = "explain", sample("conv_relu_tan"), "--backend", "xnnpack"


def on_terminal(*words, streams=("stdout", "stderr"), **environment) -> str:
    """What is printed when these streams are a terminal."""
    main, terminal = os.openpty()
    given = {name: terminal if name in streams else subprocess.PIPE for name in ("stdout", "stderr")}
    clean = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    run = subprocess.Popen([DEPUTE, *map(str, words)], **given, env={**clean, **environment})

    def end():
        try:
            run.communicate(timeout=60)
        finally:
            os.write(terminal, END)  # a terminal that is closed may lose what was written last

    text = b""
    with ThreadPoolExecutor(1) as threads:
        ended = threads.submit(end)
        while not text.endswith(END):
            text += os.read(main, 65536)
        ended.result()
    os.close(main)
    os.close(terminal)
    return text.removesuffix(END).decode()


@pytest.mark.parametrize("command", ["lower", "explain", "doctor", "profile"])
def test_colors_on_a_terminal_alone(command, tmp_path):
    words = [command, *EXPLAIN[1:], *(["-o", tmp_path / "m.pte"] if command == "lower" else [])]
    if command == "profile":
        words = [command, ROOT / "tests" / "profile" / "vision.etdp"]
    assert ESCAPE not in depute(*words).stdout
    colored = on_terminal(*words)
    assert ESCAPE in colored
    assert ESCAPE not in on_terminal(*words, NO_COLOR="1")
    assert ESCAPE in on_terminal(*words, NO_COLOR="")
    assert ESCAPE in depute(*words, "--color=always").stdout
    assert ESCAPE not in on_terminal(*words, "--color", "never")


def test_choices_of_color():
    run = depute(*EXPLAIN, "--color=nevr")
    assert run.code == 2 and "'nevr' is invalid; expected one of auto, always, never; did you mean never?" in run.stderr
    assert depute(*EXPLAIN, "--color").code == 2


def test_a_long_run_tells_what_it_has_done(tmp_path):
    slow = tmp_path / "depute-backend-slow"
    listing = ROOT / "examples" / "backend_in_python" / "depute-backend-listing"
    slow.write_text(
        "#!/bin/sh\n"
        "while read -r line; do\n"
        """  case $line in *'"call":"partition"'*) sleep 1.1 ;; esac\n"""
        """  printf '%s\\n' "$line"\n"""
        f"done | {listing}\n"
    )
    slow.chmod(0o755)
    words = "lower", sample("mlp"), "-o", tmp_path / "m.pte", "--quiet", "--backend", f"exec:{slow}"
    told = on_terminal(*words, streams=("stderr",))
    assert " s, lower is done" in told and told.endswith("\r\033[K")
    assert depute(*words).stderr == ""
    assert on_terminal("lower", sample("mlp"), "-o", tmp_path / "s.pte", "--quiet", streams=("stderr",)) == ""


def test_calibration_tells_how_many_samples_are_done(tmp_path):
    model = tmp_path / "m.ir"
    model.write_text(
        'program\ndata "w": f32[8, 4] = random(1)\nmethod forward(%w: f32[8, 4] = param "w", %x: f32[2, 4]) {\n'
        "  %y: f32[2, 8] = aten.linear.default(%x, %w)\n  return %y\n}\n"
    )
    numpy.savez(tmp_path / "x.npz", x=numpy.ones((3, 2, 4), numpy.float32))
    words = "lower", model, "-o", tmp_path / "m.pte", "--quiet", "--quantize", "static", "--calibrate", tmp_path / "x.npz"
    told = on_terminal(*words, streams=("stderr",))
    assert " s, calibrate: 0 of 3 samples" in told and told.endswith("\r\033[K")
    assert depute(*words).stderr == ""
