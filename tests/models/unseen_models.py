#!/usr/bin/env python3
"""Lowers models that no test has, chosen by a seed, with and without the xnnpack backend, and compares them with eager PyTorch in
the stock runtime.

    .venv/bin/python tests/models/unseen_models.py --seed 7 --count 200
    .venv/bin/python tests/models/unseen_models.py bit timm.hrnet_w18_small fsmt:dynamic

Draws from transformers and timm, without the names in architectures.py; every second model of transformers, and every
fourth of timm, has open sizes. A model that eager PyTorch or torch.export fails on is replaced by the next one. Prints a line
for each model that is not right, the outcomes, and the median share of nodes in delegates. --json FILE keeps all of it.
"""

import argparse
import json
import logging
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import warnings
from collections import Counter
from pathlib import Path

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch  # noqa: E402

torch.set_num_threads(1)
ROOT = Path(__file__).resolve().parents[2]
import architectures  # noqa: E402
from stock_runtime import difference, lower, run_apart  # noqa: E402

BACKENDS = ("portable", "xnnpack")
TOLERANCE = 1e-3
MAX_PARAMETERS = 40_000_000  # of a model of timm, which is used as it is
TIMEOUT = 900  # seconds for one model


def candidates() -> list:
    """Every name to draw from: KIND and KIND:dynamic of transformers, timm.NAME and timm.NAME:dynamic."""
    import transformers

    architectures.stub_torchvision()
    import timm

    mapping = transformers.models.auto.modeling_auto.MODEL_MAPPING_NAMES
    kinds = sorted(set(mapping) - set(architectures.TRANSFORMERS) - set(architectures.DYNAMIC))
    families = sorted(set(timm.list_models()) - set(architectures.TIMM))
    names = [f"{kind}:dynamic" if i % 2 else kind for i, kind in enumerate(kinds)]
    names += [f"timm.{name}:dynamic" if i % 4 == 3 else f"timm.{name}" for i, name in enumerate(families)]
    return names


def made(name):
    """The module, its calls and the dynamic shapes, as architectures.made() has them; timm's models with an open batch, too."""
    if not name.startswith("timm."):
        return architectures.made(name)
    name, _, how = name.partition(":")
    architectures.stub_torchvision() if "torchvision" not in sys.modules else None
    import timm

    with torch.device("meta"):
        model = timm.create_model(name.removeprefix("timm."))
    if sum(p.numel() for p in model.parameters()) > MAX_PARAMETERS:
        raise ValueError(f"more than {MAX_PARAMETERS} parameters")
    model, calls, shapes = architectures.from_timm(name.removeprefix("timm."))
    if how:
        size = calls[0][0].shape[1:]
        calls = [(torch.randn(batch, *size),) for batch in (2, 1, 4, 3)]
        shapes = ({0: torch.export.Dim("batch", min=1, max=4)},)
    return model, calls, shapes


def judge(wanted):
    def compare(got) -> str:
        if len(got) != len(wanted):
            return f"{len(got)} results instead of {len(wanted)}"
        return next((text for pair in zip(got, wanted) if (text := difference(*pair, TOLERANCE))), "")

    return compare


def delegated_share(depute, pt2) -> dict:
    """The share of nodes in delegates, in percent, the number of delegates, and the reasons of the others by op."""
    command = [depute, "explain", pt2, "--backend", "xnnpack", "--json"]
    done = subprocess.run(command, capture_output=True, timeout=120)
    if done.returncode:
        return {}
    report = json.loads(done.stdout)
    left = Counter(node["op"] for node in report["nodes"] if not node.get("delegate"))
    totals = report["totals"]
    return {"share": totals["coverage_percent"], "delegates": totals["delegated_subgraphs"], "left": dict(left.most_common(12))}


def outcome_of(name, depute, folder) -> dict:
    try:
        model, calls, shapes = made(name)
        with torch.no_grad():
            program = torch.export.export(model, calls[0], dynamic_shapes=shapes, strict=False)
            wanted = [model(*call) for call in calls]
            again = model(*calls[0])  # with the same inputs
    except BaseException as error:
        return {"not exported": str(error).splitlines()[0][:160] if str(error) else type(error).__name__}
    tensors = lambda result: [result] if isinstance(result, torch.Tensor) else list(result)  # noqa: E731
    if judge(tensors(wanted[0]))(tensors(again)):
        return {"not exported": "random: two calls of eager PyTorch differ"}
    pt2 = folder / "model.pt2"
    torch.export.save(program, pt2)
    judged = [([x.contiguous() for x in call], judge(tensors(result))) for call, result in zip(calls, wanted)]
    answers = {}
    for backend in BACKENDS:
        pte = folder / f"{backend}.pte"
        answers[backend] = lower(depute, pt2, pte, backend) or run_apart(pte, judged, seconds=300)
    return {**answers, **delegated_share(depute, pt2)}


def check(name, depute) -> dict:
    """In a process of its own, which gives its memory back."""
    with tempfile.TemporaryDirectory() as folder:
        fork = multiprocessing.get_context("fork")
        queue = fork.SimpleQueue()
        process = fork.Process(target=lambda: queue.put(outcome_of(name, depute, Path(folder))))
        process.start()
        process.join(TIMEOUT)
        if process.exitcode == 0:
            return queue.get()
        process.kill()
        return {"not exported": f"not within {TIMEOUT} s, or the script died ({process.exitcode})"}


def main() -> int:
    parser = argparse.ArgumentParser(description="Lower and run models that no test has.")
    parser.add_argument("--depute", default=str(ROOT / "build" / "release" / "depute"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200, help="models that torch.export takes")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--json", type=Path, help="file for all outcomes")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    names = options.names or candidates()
    if not options.names:
        random.Random(options.seed).shuffle(names)
        # As many of transformers as of timm.
        names.sort(key=lambda name: name.startswith("timm."))
        cut = next(i for i, name in enumerate(names) if name.startswith("timm."))
        of_transformers, of_timm = names[:cut], names[cut:]
        names = [name for pair in zip(of_transformers, of_timm) for name in pair]
    import transformers  # noqa: F401  (once, for all processes)

    results = {}

    def work_off():
        while names and len(results) < options.count:
            name = names.pop(0)
            answer = check(name, options.depute)
            if "not exported" in answer:
                print(f"  ({name} not exported: {answer['not exported']})", flush=True)
                continue
            results[name] = answer
            for backend in BACKENDS:
                outcome, message = answer[backend]
                if outcome != "ok":
                    print(f"{name} {backend} {outcome}: {message}", flush=True)
            if options.json:
                options.json.write_text(json.dumps(results, indent=1))

    workers = [threading.Thread(target=work_off) for _ in range(options.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    counts = Counter(answer[backend][0] for answer in results.values() for backend in BACKENDS)
    bad = sum(any(answer[backend][0] != "ok" for backend in BACKENDS) for answer in results.values())
    for word, is_dynamic in (("static", False), ("dynamic", True)):
        shares = [a["share"] for name, a in results.items() if "share" in a and name.endswith(":dynamic") == is_dynamic]
        if shares:
            print(f"{word}: {len(shares)} models, median share of nodes in delegates {statistics.median(shares):.1f} %")
    print(f"{len(results)} models, {len(results) - bad} right; " + ", ".join(f"{k} {n}" for k, n in sorted(counts.items())))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
