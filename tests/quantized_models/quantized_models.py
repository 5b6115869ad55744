#!/usr/bin/env python3
"""The architectures of tests/models/architectures.py, quantized in each scheme of tests/models/quantizers.py, lowered with and
without the xnnpack backend, run in the stock runtime and compared with what eager PyTorch gives for the quantized model.

    .venv/bin/python tests/quantized_models/quantized_models.py                          all
    .venv/bin/python tests/quantized_models/quantized_models.py --schemes static bert timm.test_vit

Roundings grow through layers: what is right may differ from eager by as much as eager differs from fp32, and half of it more
(relative to the norm of each result). What the quantizer or torch.export does not take is told, and no failure.
"""

import argparse
import logging
import multiprocessing.pool
import os
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch  # noqa: E402

torch.set_num_threads(1)
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "models"))
from architectures import NAMES, import_exporter, made  # noqa: E402
from quantizers import OF_PT2E, SCHEMES, quantized  # noqa: E402
from stock_runtime import lower, run_apart  # noqa: E402

BACKENDS = ("portable", "xnnpack")
LEAST = 0.02  # of the norm: what may differ where quantization changes nothing
TIMEOUT = 900  # seconds for one model in one scheme
KNOWN = {  # differ, and why
    ("parakeet_encoder", "dynamic"): "eager's results are all 0: PT2E's dynamic scales are never below 2^-12",
}


def relative(got, want) -> float:
    """How far a result is off, as a part of the norm of what is wanted; infinite where that cannot be said."""
    if got.shape != want.shape or got.dtype != want.dtype or not torch.equal(got.isfinite(), want.isfinite()):
        return float("inf")
    got, want = (t[want.isfinite()].double() for t in (got, want))
    off, norm = float((got - want).norm()), float(want.norm())
    return off / norm if norm else float("inf" if off else 0)


def leaves(result) -> list:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def floats(results) -> list:
    return [leaf for result in results for leaf in result if leaf.is_floating_point()]


class Judge:
    """Says what is wrong with the results of a call. Integers may differ: they come from numbers that do."""

    def __init__(self, wanted, allowed):
        self.wanted, self.allowed = wanted, allowed

    def __call__(self, got) -> str:
        if len(got) != len(self.wanted):
            return f"{len(got)} results instead of {len(self.wanted)}"
        pairs = [(a, b) for a, b in zip(got, self.wanted) if b.is_floating_point()]
        worst = max((relative(a, b) for a, b in pairs), default=0)
        return "" if worst <= self.allowed else f"off by {worst:.2g} of the norm, {self.allowed:.2g} are allowed"


def outcomes(name, scheme, depute, folder) -> list:
    """(backend, outcome, message) of one model in one scheme."""
    try:
        model, calls, shapes = made(name)
        with torch.no_grad():
            exact = [leaves(model(*call)) for call in calls]
            model = quantized(model, calls, scheme, shapes)
            if shapes and scheme in OF_PT2E:
                (shapes,) = shapes  # PT2E's module has a parameter for each input, the model one for all
            program = torch.export.export(model, calls[0], dynamic_shapes=shapes, strict=False)
            wanted = [leaves(model(*call)) for call in calls]
    except Exception as error:
        return [("", "not exported", str(error).splitlines()[0][:160])]
    torch.export.save(program, folder / "model.pt2")
    by_quantization = max((relative(a, b) for a, b in zip(floats(wanted), floats(exact))), default=0)
    allowed = 1.5 * max(LEAST, by_quantization)
    judged = [([x.contiguous() for x in call], Judge(result, allowed)) for call, result in zip(calls, wanted)]
    answers = []
    for backend in BACKENDS:
        pte = folder / f"{backend}.pte"
        answer = lower(depute, folder / "model.pt2", pte, backend) or run_apart(pte, judged)
        answers.append((backend, *answer))
    return answers


def check(work):
    """In a process of its own, which gives its memory back."""
    name, scheme, depute = work
    with tempfile.TemporaryDirectory() as folder:
        fork = multiprocessing.get_context("fork")
        queue = fork.SimpleQueue()
        process = fork.Process(target=lambda: queue.put(outcomes(name, scheme, depute, Path(folder))))
        process.start()
        process.join(TIMEOUT)
        if process.exitcode == 0:
            return name, scheme, queue.get()
        if process.exitcode is not None:
            return name, scheme, [("", "script", f"exit code {process.exitcode}")]
        process.kill()  # what depute and the runtime may take is bounded by lower and run_apart
        return name, scheme, [("", "not exported", f"not within {TIMEOUT} s")]


def main() -> int:
    parser = argparse.ArgumentParser(description="Lower and run quantized models of many architectures.")
    parser.add_argument("--depute", default=str(ROOT / "build" / "release" / "depute"))
    parser.add_argument("--schemes", nargs="+", default=SCHEMES, choices=SCHEMES, metavar="SCHEME", help=" ".join(SCHEMES))
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("names", nargs="*", metavar="NAME", default=NAMES)
    options = parser.parse_args()
    import_exporter()
    works = [(name, scheme, options.depute) for name in options.names for scheme in options.schemes]
    counts, failed = Counter(), 0
    with multiprocessing.pool.ThreadPool(options.jobs) as pool:
        for name, scheme, answers in pool.imap(check, works):
            for backend, outcome, message in answers:
                counts[outcome] += 1
                if outcome == "ok":
                    continue
                is_failure = outcome != "not exported" and not (outcome == "wrong" and (name, scheme) in KNOWN)
                failed += is_failure
                words = ["FAIL"] * is_failure + [name, scheme, backend, f"{outcome}: {message}"]
                print(" ".join(word for word in words if word), flush=True)
    print(", ".join(f"{outcome} {count}" for outcome, count in sorted(counts.items())))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
