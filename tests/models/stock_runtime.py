"""Lowers a program by the CLI and runs it in the stock runtime, as scripts that try thousands of programs need it: an outcome
and a message instead of an exception.

Outcomes: ok; refused (by depute, with a reason); crash (of depute, or an error that says it is one of its own); load, run (the
runtime fails); wrong (values, shapes or types differ).
"""

import gc
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import executorch.kernels.quantized  # noqa: F401  (registers kernels for the operators that it names)
import torch
from executorch.runtime import Runtime


def pairs_of(tensor):
    """Complex numbers as pairs in a last dimension."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def difference(got, want, tolerance: float, exact=None) -> str:
    """Empty when equal: to `tolerance` of the largest value, or of 1; integers, types, shapes, infinities and NaNs exactly.
    Numbers are compared with those of `exact`, if given."""
    if not isinstance(want, torch.Tensor):
        return "" if got == want or (got != got and want != want) else f"{got} instead of {want}"
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{tuple(got.shape)} instead of {want.dtype}{tuple(want.shape)}"
    if not want.numel():
        return ""
    if not want.dtype.is_floating_point and not want.is_complex():
        wrong = (got != want).nonzero()
        if not len(wrong):
            return ""
        at = tuple(wrong[0].tolist())
        return f"{len(wrong)} of {want.numel()} differ, {got[at].item()} instead of {want[at].item()}"
    got, want = (pairs_of(t).double() for t in (got, want if exact is None else exact))
    odd = ~want.isfinite() | ~got.isfinite()
    unequal = got[odd].nan_to_num(7e77) != want[odd].nan_to_num(7e77)
    if unequal.any():
        return f"{int(unequal.sum())} of {want.numel()} infinities or NaNs differ"
    if odd.all():
        return ""
    scale = max(1.0, want[~odd].abs().max().item())
    error = (got - want)[~odd].abs().max().item()
    return "" if error <= tolerance * scale else f"off by {error:.3g}, the largest value is {scale:.3g}"


def lower(depute, pt2, pte, backend="portable"):
    """None when the program lowers, else (outcome, message)."""
    command = [depute, "lower", pt2, "-o", pte]
    if backend != "portable":
        command += ["--backend", backend]
    try:
        done = subprocess.run(command, capture_output=True, timeout=120, text=True)
    except subprocess.TimeoutExpired:
        return "crash", "timeout"
    if done.returncode == 0:
        return None
    first = next((line for line in done.stderr.splitlines() if line.strip()), "nothing")
    is_bug = done.returncode != 1 or "[internal]" in first
    return "crash" if is_bug else "refused", re.sub(r"^error[: ]*", "", first)[:240]


def run_apart(pte, calls, seconds=60):
    """(outcome, message) of calls on one load of the program, each (inputs, judge): what the judge says of the outputs is what
    is wrong. In a process of its own, since the runtime aborts when a check fails."""
    reader, writer = os.pipe()
    log = Path(f"{pte}.log")
    child = os.fork()
    if child == 0:
        gc.freeze()  # a collection looks at what is made from here on, and copies no page of the parent
        os.close(reader)
        said = os.open(log, os.O_WRONLY | os.O_CREAT)
        os.dup2(said, 1)
        os.dup2(said, 2)
        answer = ("load", "")
        try:
            signal.alarm(seconds)
            program = Runtime.get().load_program(str(pte))
            method = program.load_method("forward")
            for inputs, judge in calls:
                answer = ("run", "")
                message = judge(method.execute(inputs))
                answer = ("wrong", message) if message else ("ok", "")
                if message:
                    break
            del method, program  # what is freed wrongly ends the process here
            gc.collect()
        except BaseException as error:
            answer = (answer[0], str(error)[:300])
        os.write(writer, json.dumps(answer).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    said = re.findall(r"\[(\w+\.(?:cpp|h):\d+)\] (.*)", log.read_text(errors="replace"))
    said = [f"[{place}] {text}" for place, text in said if "failed" in text or "rror" in text]
    hint = f": {said[0][:160]}" if said else ""
    if not answer:
        return "run", f"died, status {status}{hint}"
    outcome, message = json.loads(answer)
    return outcome, message + (hint if outcome in ("load", "run") else "")
