"""What each kernel of the stock runtime makes of each element type, against eager PyTorch.

    .venv/bin/python tests/kernels/probe_kernels.py                 every op of record_kernel_cases.py
    .venv/bin/python tests/kernels/probe_kernels.py 'aten.g*' -v    some, and each call that fails

The calls of tests/models/record_kernel_cases.py are made as they are; the first of each op also in every element type
that torch computes it in, with its integer tensors in i32 and u8, with tensors of no dimension and with empty ones. One node, one program; a child
process runs it, since a failed check of the runtime aborts. What `.accepts` of an op's row says comes from here:
a line per op and outcome is printed, and nothing but `ok` and `refused` may stand there.
"""

import argparse
import fnmatch
import subprocess
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/models"), str(ROOT / "tests/opinfo")]
warnings.filterwarnings("ignore")
import record_kernel_cases as cases  # noqa: E402
import torch  # noqa: E402
from opinfo import execute  # noqa: E402

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
ALL = [*FLOATS, *INTS, torch.bool]


def literal(value, slots):
    """The argument in the text form; tensors become inputs."""
    if isinstance(value, torch.Tensor):
        slots.append(value.contiguous())
        return f"%x{len(slots) - 1}"
    if isinstance(value, torch.dtype):
        return f".{cases.NAMES[value]}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(literal(v, slots) for v in value)}]"
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    return repr(value)


def type_of(tensor):
    return f"{cases.NAMES[tensor.dtype]}[{', '.join(map(str, tensor.shape))}]"


def overload(op):
    namespace, name, variant = op.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), name), variant)


def program_of(op, args, kwargs):
    """(text, inputs, wanted outputs); raises what torch raises."""
    want = overload(op)(*[clone(a) for a in args], **kwargs)
    want = list(want) if isinstance(want, (tuple, list)) else [want]
    slots = []
    texts = [literal(a, slots) for a in args] + [f"{k}={literal(v, slots)}" for k, v in kwargs.items()]
    inputs = ", ".join(f"%x{i}: {type_of(t)}" for i, t in enumerate(slots))
    results = ", ".join(f"%y{i}: {type_of(t)}" for i, t in enumerate(want))
    outputs = ", ".join(f"%y{i}" for i in range(len(want)))
    if overload(op)._schema.returns[0].type.kind() == "ListType":
        results = ", ".join(f"%y{i}: {type_of(t)}" for i, t in enumerate(want))
    text = f"program\n\nmethod forward({inputs}) {{\n  {results} = {op}({', '.join(texts)})\n  return {outputs}\n}}\n"
    return text, slots, [t.contiguous() for t in want]


def clone(value):
    if isinstance(value, torch.Tensor):
        return value.clone()
    return [clone(v) for v in value] if isinstance(value, list) else value


def mapped(value, change):
    if isinstance(value, torch.Tensor):
        return change(value)
    return [mapped(v, change) for v in value] if isinstance(value, (list, tuple)) else value


def variants(args, place):
    """(name, args) with other element types and ranks; those that torch refuses fall away later."""
    yield "as is", args
    if place > 1:
        return
    tensors = []
    mapped(list(args), lambda t: tensors.append(t) or t)
    if not tensors:
        return
    own = tensors[0].dtype
    for dtype in ALL:
        yield cases.NAMES[dtype], mapped(list(args), lambda t, d=dtype: t.to(d) if t.dtype == own else t)
    for dtype in (torch.int32, torch.uint8, torch.int16):
        others = [t for t in tensors[1:] if t.dtype == torch.int64]
        if others and own != torch.int64:
            yield f"indices {cases.NAMES[dtype]}", mapped(
                list(args), lambda t, d=dtype: t.to(d) if t.dtype == torch.int64 else t
            )
    yield "0-d", mapped(list(args), lambda t: t.reshape(-1)[0].clone() if t.numel() else t)
    yield "empty", mapped(list(args), lambda t: t.reshape(-1)[:0].clone())
    yield "empty rows", mapped(list(args), lambda t: t[:0].clone() if t.dim() else t)
    if place > 0:
        return
    for rank in (1, 3, 4, 5, 6):
        yield f"rank {rank}", mapped(list(args), lambda t, r=rank: t.reshape([1] * (r - t.dim()) + list(t.shape)) if t.dim() < r else t)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ops", nargs="*", default=["*"])
    parser.add_argument("--depute", default=str(ROOT / "build/release/depute"))
    parser.add_argument("-v", action="store_true", help="each call that is not ok, with its program")
    options = parser.parse_args()
    calls = []
    cases.record = lambda op, *args, **kwargs: calls.append((op, args, kwargs))
    for family in cases.FAMILIES:
        family()
    outcomes = defaultdict(lambda: defaultdict(set))
    seen, made = set(), Counter()
    bad = 0
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        for op, args, kwargs in calls:
            if not any(fnmatch.fnmatchcase(op, p) for p in options.ops):
                continue
            made[op] += 1
            for variant, changed in variants(args, made[op] - 1):
                try:
                    text, inputs, want = program_of(op, changed, kwargs)
                except Exception:  # no such call in torch
                    continue
                if any(t.dtype not in cases.NAMES for t in want):
                    continue
                if text in seen:
                    continue
                seen.add(text)
                outcome, message = run(op, options.depute, Path(folder), text, inputs, want)
                outcomes[op][outcome].add((variant, message))
                if outcome not in ("ok", "refused"):
                    bad += 1
                if options.v and outcome not in ("ok", "refused"):
                    print(f"{outcome} {variant}: {message}\n{text}", flush=True)
    for op, by_outcome in outcomes.items():
        for outcome, found in sorted(by_outcome.items()):
            names = sorted({variant for variant, _ in found})
            said = sorted({message for _, message in found})[0]
            print(f"{op}\t{outcome}\t{', '.join(names)}" + (f"\t{said[:200]}" if said else ""))
    return 1 if bad else 0


def run(op, depute, folder, text, inputs, want):
    source, pte, io = folder / "m.ir", folder / "m.pte", folder / "io"
    source.write_text(text)
    done = subprocess.run([depute, "lower", source, "-o", pte], capture_output=True, text=True, timeout=60)
    if done.returncode:
        return "refused" if done.returncode == 1 else "crash", (done.stderr.splitlines() or [""])[0]
    torch.save((inputs, want), io)
    return execute(op, pte, io)


if __name__ == "__main__":
    sys.exit(main())
