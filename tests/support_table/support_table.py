"""The table of `depute backends xnnpack --json`, run: a module for each combination of element type, rank, layout and
arguments that it accepts, exported, lowered, required to be one delegate and nothing else, run in the stock runtime and
compared with eager PyTorch.

    .venv/bin/python tests/support_table/support_table.py                    all
    .venv/bin/python tests/support_table/support_table.py --every 40         each 40th
    .venv/bin/python tests/support_table/support_table.py --op convolution   those of ops with this in their name

Types, ranks and limits of arguments are the table's; only how the shapes of an op's tensors follow from each other is told
here (SHAPES). An op of the table that cannot be called from here is a failure. What quantized programs do comes with it:
each f32 combination once more with its tensors through integers of 8 bits, which must agree within a quantum.
"""

import argparse
import itertools
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

warnings.filterwarnings("ignore")
os.environ.setdefault("OMP_NUM_THREADS", "1")
import executorch.kernels.quantized  # noqa: E402, F401  (and its operators)
import torch  # noqa: E402

torch.set_num_threads(1)
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "models"), str(ROOT / "tests" / "random_programs")]
from random_programs import through_integers  # noqa: E402
from stock_runtime import difference, run_apart  # noqa: E402

SIZES = [2, 3, 4, 5, 6, 3]  # of the dimensions of a tensor of rank 6; others take the last ones


def sizes(rank):
    return SIZES[len(SIZES) - rank :] if rank else []




# The arguments of ops whose tensors have not all the same sizes: by the rank of the main one, tensors as lists of sizes in
# ("sizes", ...) and what else has no default. One row for each way to call it.
T = lambda *numbers: ("sizes", list(numbers))  # noqa: E731


def flat(rank, *names):
    return [{"self": ("sizes", sizes(rank)), **dict(names)}]


def windows(rank):
    base = {"input": ("sizes", [2, 4, *[7] * (rank - 2)]), "transposed": False, "output_padding": [0] * (rank - 2)}
    plain = base | {"weight": T(6, 4, *[3] * (rank - 2)), "bias": T(6), "groups": 1}
    yield plain
    yield plain | {"bias": None}
    yield plain | {"weight": T(6, 2, *[3] * (rank - 2)), "groups": 2}
    yield plain | {"weight": T(8, 1, *[3] * (rank - 2)), "bias": T(8), "groups": 4}
    yield plain | {"weight": T(4, 6, *[3] * (rank - 2)), "transposed": True}


def norm(rank):
    channels = sizes(rank)[1]
    return [{"input": ("sizes", sizes(rank)), "eps": 1e-5, **{n: T(channels) for n in ("weight", "bias", "running_mean")},
             "running_var": ("positive", [channels]), "momentum": 0.1}]  # fmt: skip


def dims(rank, name="dim"):
    for dim in range(rank):
        yield {"self": ("sizes", sizes(rank)), name: dim}


def reductions(rank):
    for count in (1, 2):
        for chosen in itertools.combinations(range(rank), count):
            for keepdim in (False, True):
                yield {"self": ("sizes", sizes(rank)), "dim": list(chosen), "keepdim": keepdim}


def largest(rank):
    for row in reductions(rank):
        chosen = row["dim"]
        is_run = chosen[-1] - chosen[0] == len(chosen) - 1
        if is_run and (chosen[-1] < rank - 1 or (rank == 4 and chosen == [2, 3])):
            yield row


def products(rank):
    yield {"self": ("sizes", sizes(rank)), "other": ("sizes", [*sizes(rank)[:-2], sizes(rank)[-1], 4])}
    yield {"self": ("sizes", sizes(rank)), "other": T(sizes(rank)[-1], 4)}


SHAPES = {
    "aten.amax.default": largest,
    "aten._native_batch_norm_legit_no_training.default": norm,
    "aten.cat.default": lambda rank: ({"tensors": [("sizes", sizes(rank))] * n, "dim": d} for n in (1, 2, 5, 6) for d in range(rank)),
    "aten.stack.default": lambda rank: ({"tensors": [("sizes", sizes(rank - 1))] * 2, "dim": d} for d in range(rank) if rank > 1),
    "aten.convolution.default": windows,
    "aten.prelu.default": lambda rank: [{"self": ("sizes", sizes(rank)), "weight": T(n)} for n in {1, sizes(rank)[1] if rank > 1 else 1}],
    "aten.expand.default": lambda rank: [{"self": ("sizes", [1, *sizes(rank)[1:]]), "size": sizes(rank)}] if rank else [],
    "aten.repeat.default": lambda rank: [{"self": ("sizes", sizes(rank)), "repeats": [2, *[1] * (rank - 1)]}] if 0 < rank < 6 else [],
    "aten.native_group_norm.default": lambda rank: [{"input": ("sizes", [2, 4, *[3] * (rank - 2)]), "weight": T(4), "bias": T(4), "N": 2, "C": 4,
                                                     "HxW": 3 ** (rank - 2), "group": g, "eps": 1e-5} for g in (1, 2, 4)],
    "aten.addmm.default": lambda rank: [{"self": T(*bias), "mat1": T(3, 5), "mat2": T(5, 4)} for bias in ((4,), (3, 4), (1, 4))],
    "aten.bmm.default": lambda rank: [{"self": T(2, 3, 5), "mat2": T(2, 5, 4)}],
    "aten.mm.default": lambda rank: [{"self": T(3, 5), "mat2": T(5, 4)}],
    "aten.linear.default": lambda rank: [{"input": ("sizes", sizes(rank)), "weight": T(4, sizes(rank)[-1]), "bias": b} for b in (T(4), None)],
    "aten.matmul.default": products,
    "aten.mean.dim": reductions,
    "aten.sum.dim_IntList": reductions,
    "aten.var.correction": lambda rank: [row | {"correction": c} for row in reductions(rank) for c in (0, 1, None)],
    "aten.flip.default": lambda rank: [{"self": ("sizes", sizes(rank)), "dims": list(dims)} for n in (1, 2)
                                       for dims in itertools.combinations(range(rank - 1), n)],
    "aten.constant_pad_nd.default": lambda rank: [{"self": ("sizes", sizes(rank)), "pad": p, "value": v} for v in (0.0, 0.5)
                                                  for p in ([1, 2], [0, 1, 1, 0], [-1, 1]) if len(p) <= 2 * rank],
    "aten.permute.default": lambda rank: [{"self": ("sizes", sizes(rank)), "dims": list(p)} for p in itertools.islice(itertools.permutations(range(rank)), 24)],
    "aten.t.default": lambda rank: flat(rank) if rank <= 2 else [],
    "aten.transpose.int": lambda rank: [{"self": ("sizes", sizes(rank)), "dim0": a, "dim1": b} for a, b in itertools.combinations(range(rank), 2)],
    "aten.pixel_shuffle.default": lambda rank: [{"self": T(2, 8, 3, 5), "upscale_factor": 2}],
    "aten.pixel_unshuffle.default": lambda rank: [{"self": T(2, 3, 4, 6), "downscale_factor": 2}],
    "aten._adaptive_avg_pool2d.default": lambda rank: [{"self": T(2, 3, 6, 4), "output_size": o} for o in ([1, 1], [3, 2], [6, 1])],
    "aten.avg_pool2d.default": lambda rank: pools(divisor_override=[None]),
    "aten.max_pool2d.default": lambda rank: pools(dilation=[[1, 1], [2, 1]]),
    "aten.max_pool2d_with_indices.default": lambda rank: pools(dilation=[[1, 1], [2, 1]]),
    "aten.select.int": lambda rank: [row | {"index": i} for row in dims(rank) for i in (0, 1, -1)],
    "aten.slice.Tensor": lambda rank: [row | {"start": a, "end": b} for row in dims(rank) for a, b in ((0, 1), (1, 9), (-2, -1))],
    "aten.split.Tensor": lambda rank: [row | {"split_size": 2} for row in dims(rank)],
    "aten.split_with_sizes.default": lambda rank: [row | {"split_sizes": [1, sizes(rank)[row["dim"]] - 1]} for row in dims(rank)],
    "aten.unbind.int": dims,
    "aten._softmax.default": lambda rank: [row | {"half_to_float": False} for row in dims(rank)],
    "aten._log_softmax.default": lambda rank: [row | {"half_to_float": False} for row in dims(rank)],
    "aten.upsample_bilinear2d.vec": lambda rank: [{"input": T(2, 3, 4, 5), "output_size": [7, 8], "align_corners": a, "scale_factors": None} for a in (False, True)],
    "aten.upsample_nearest2d.vec": lambda rank: [{"input": T(2, 3, 4, 5), "output_size": [8, 15], "scale_factors": None}],
    "aten.view.default": lambda rank: flat(rank, ("size", [-1])),
    "aten._unsafe_view.default": lambda rank: flat(rank, ("size", [-1])),
    "aten.reshape.default": lambda rank: flat(rank, ("shape", [-1])),
    "aten.flatten.using_ints": flat,
    "aten.squeeze.default": lambda rank: [{"self": ("sizes", [1, *sizes(rank)[1:]])}] if rank else [],
    "aten.squeeze.dim": lambda rank: [{"self": ("sizes", [1, *sizes(rank)[1:]]), "dim": 0}] if rank else [],
    "aten.squeeze.dims": lambda rank: [{"self": ("sizes", [1, *sizes(rank)[1:]]), "dim": [0]}] if rank else [],
    "aten.unflatten.int": lambda rank: [row | {"sizes": [1, -1]} for row in dims(rank) if rank < 6],
    "aten.unsqueeze.default": lambda rank: [row for row in dims(rank) if rank < 6],
    "aten.clamp.default": lambda rank: [{"self": ("sizes", sizes(rank)), **bounds} for bounds in (
        {"min": -0.5, "max": 0.75}, {"min": 0.25}, {"max": -0.25})],
    "aten.native_layer_norm.default": lambda rank: [{"input": ("sizes", sizes(rank)), "normalized_shape": sizes(rank)[-1:],
                                                     "weight": T(sizes(rank)[-1]), "bias": T(sizes(rank)[-1]), "eps": 1e-5}],
    "aten._to_copy.default": lambda rank: flat(rank, ("dtype", torch.float16)) + flat(rank, ("dtype", torch.float32)),
}  # fmt: skip


def pools(**more):
    rows = {"kernel_size": [[2, 2], [3, 1]], "ceil_mode": [False, True], **more}
    for values in itertools.product(*rows.values()):
        row = dict(zip(rows, values))
        for padding in ([0, 0], [1, 0]):
            yield {"self": T(2, 3, 7, 8), "padding": padding, **row}


# Ops that are only taken as parts of what others are; they are run by the quantized combinations.
PARTS = ("quantized_decomposed.", "torchao.", "dim_order_ops.")
POSITIVE = ("log", "sqrt", "rsqrt", "reciprocal", "pow", "div")


def schema(op):
    library, name, overload = op.split(".")
    return getattr(getattr(getattr(torch.ops, library), name), overload)


def table(depute, backend):
    done = subprocess.run([depute, "backends", backend, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["support"]


def main_tensor(op):
    return next(a.name for a in schema(op)._schema.arguments if "Tensor" in str(a.type))


def elementwise(op, rank):
    """Arguments of an op whose tensors all have the same sizes; numbers that have no default are 0.5."""
    row = {}
    for argument in schema(op)._schema.arguments:
        kind = str(argument.type)
        if kind == "Tensor":
            row[argument.name] = ("sizes", sizes(rank))
        elif not argument.has_default_value():
            row[argument.name] = 0.5
    return [row]


def rows_of(op, rank):
    return list(SHAPES[op](rank)) if op in SHAPES else elementwise(op, rank)


def ranks_of(form, op):
    limits = [limit for limit in form if limit["kind"] == "rank" and limit["of"] in (main_tensor(op), "result")]
    if not limits:
        return range(0, 7)
    return range(int(max(x["least"] for x in limits)), int(min(x["most"] for x in limits)) + 1)


def has_ranks_of(form, row):
    """True for a row whose tensors all have ranks of this form: an op may have others for its other form."""
    limits = [limit for limit in form if limit["kind"] == "rank" and is_tensor(row.get(limit["of"]))]
    return all(limit["least"] <= len(row[limit["of"]][1]) <= limit["most"] for limit in limits)


def values_of(limit, row):
    """What an argument may be, of the values tried: those of the table's limit."""
    least = limit.get("least", 0)
    if limit["kind"] == "one of":
        return [value_of(text) for text in limit["values"]]
    if limit["kind"] == "above":
        return [least + 0.5, least + 1.0]
    if limit["kind"] == "ints" and limit["of"] not in row and "least" in limit:
        dimensions = len(next(v for v in row.values() if is_tensor(v))[1]) - 2
        return [[int(least) + n] * dimensions for n in (0, 1)]
    return None


def value_of(text):
    try:
        return float(text) if "." in text or "e" in text else int(text)
    except ValueError:
        return text


def is_tensor(value):
    return isinstance(value, tuple) and value[0] in ("sizes", "positive")


def combinations(rows):
    """(op, element type, arguments, constants, whether it is quantized) of all the table accepts."""
    for entry in rows:
        op = entry["op"]
        if op.startswith(PARTS):
            continue
        for form in entry["forms"] or [[]]:
            constants = [limit["of"] for limit in form if limit["kind"].startswith("constant")]
            constants += ["weight"] if op == "aten.convolution.default" else []
            required = {value for limit in form if limit["kind"] == "type" for value in limit["values"]}
            types = [t for t in entry["types"] if not required or t in required]
            for dtype, rank in itertools.product(types, ranks_of(form, op)):
                for row in rows_of(op, rank):
                    if not has_ranks_of(form, row):
                        continue
                    if not all(size > 0 for v in row.values() if is_tensor(v) for size in v[1]):
                        continue
                    choices = {x["of"]: values_of(x, row) for x in form}
                    choices = {name: values for name, values in choices.items() if values}
                    for chosen in itertools.product(*choices.values()):
                        call = row | dict(zip(choices, chosen))
                        yield op, dtype, call, constants, False
                        if dtype == "f32":
                            yield op, dtype, call, constants, True


class Call(torch.nn.Module):
    """The op between two negations, so that one that only moves elements is worth a delegate."""

    def __init__(self, op, dtype, call, constants, is_quantized):
        super().__init__()
        self.op, self.call, self.names, self.is_quantized = schema(op), dict(call), [], is_quantized
        self.scale = 0.0
        generator = torch.Generator().manual_seed(7)
        is_positive = op.split(".")[1] in POSITIVE
        self.inputs = []
        torch_type = {"f32": torch.float32, "f16": torch.float16}[dtype]

        def tensor(value):
            made = torch.randint(-24, 25, value[1], generator=generator) / 16 + 1 / 64
            made = made.abs() + 0.5 if is_positive or value[0] == "positive" else made
            return made.to(torch_type)

        for name, value in call.items():
            if is_tensor(value) and name in constants:
                self.register_buffer(f"c_{name}", tensor(value))
                self.call[name] = None
            elif is_tensor(value):
                self.names.append((name, None))
                self.inputs.append(-tensor(value))
            elif isinstance(value, list) and value and is_tensor(value[0]):
                for place, each in enumerate(value):
                    self.names.append((name, place))
                    self.inputs.append(-tensor(each))

    def through(self, x, scale):
        return through_integers(x, scale, 0) if self.is_quantized and x.dtype == torch.float32 else x

    def forward(self, *inputs):
        call = dict(self.call)
        for (name, place), x in zip(self.names, inputs):
            x = self.through(-x, 1 / 64)
            if place is None:
                call[name] = x
            else:
                call[name] = [*(call[name] if place else []), x]
        for name, buffer in self.named_buffers():
            call[name.removeprefix("c_")] = buffer
        made = self.op(**call)
        made = made[0] if isinstance(made, (tuple, list)) and "pool" in str(self.op) or "norm" in str(self.op) and isinstance(made, tuple) else made
        outputs = made if isinstance(made, (tuple, list)) else [made]
        return tuple(-self.through(out, self.scale or 1 / 64) for out in outputs)


def check(work):
    depute, backend, (op, dtype, call, constants, is_quantized) = work
    place = f"{op} {dtype}{' quantized' * is_quantized} {call}"
    try:
        model = Call(op, dtype, call, constants, False).eval()
        with torch.no_grad():
            wanted = model(*model.inputs)
            if is_quantized:
                largest = max(float(out.abs().max()) for out in wanted)
                model = Call(op, dtype, call, constants, True).eval()
                model.scale = max(largest, 1e-2) / 127
                wanted = model(*model.inputs)
            program = torch.export.export(model, tuple(model.inputs), strict=False)
    except (RuntimeError, NotImplementedError) as error:
        return op, "none", f"{place}: {str(error)[:120]}"  # eager PyTorch has no such call
    with tempfile.TemporaryDirectory() as folder:
        pt2, pte = Path(folder) / "m.pt2", Path(folder) / "m.pte"
        torch.export.save(program, pt2)
        command = [depute, "lower", pt2, "-o", pte, "--backend", backend + ":layer_norm=true"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            return op, "refused", f"{place}: {done.stderr[:300]}"
        undelegated = re.findall(r"^  \d+ x (\S+):", done.stdout, re.MULTILINE)
        if "Total delegated subgraphs: 1\n" not in done.stdout or undelegated:
            return op, "not delegated", f"{place}: {' '.join(undelegated)}"

        def judge(got):
            # one quantum, and a trifle for its own roundings
            close = 1e-3 if dtype == "f32" else 2e-3  # of half floats, two units in the last place
            within = [1.01 * model.scale / max(1.0, float(w.abs().max())) if is_quantized else close for w in wanted]
            return "; ".join(filter(None, (difference(g, w, t) for g, w, t in zip(got, wanted, within))))

        outcome, message = run_apart(pte, [(model.inputs, judge)])
        return op, outcome, f"{place}: {message}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--depute", default=str(ROOT / os.environ.get("DEPUTE_BIN", "build/release/depute")))
    parser.add_argument("--backend", default="xnnpack")
    parser.add_argument("--op", default="", help="only ops with this in their names")
    parser.add_argument("--every", type=int, default=1, help="one of so many")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    rows = [row for row in table(options.depute, options.backend) if options.op in row["op"]]
    works = [(options.depute, options.backend, each) for each in combinations(rows)][:: options.every]
    totals, run = Counter(), Counter()
    with multiprocessing.Pool(options.jobs) as pool:
        for op, outcome, message in pool.imap(check, works, chunksize=4):
            totals[outcome] += 1
            run[op] += outcome == "ok"
            if outcome not in ("ok", "none"):
                print(f"{outcome}: {message}", flush=True)
    missing = [row["op"] for row in rows if not row["op"].startswith(PARTS) and not run[row["op"]]]
    if options.every == 1 and missing:
        print("never run: " + " ".join(missing))
    print(" ".join(f"{outcome} {count}" for outcome, count in totals.most_common()))
    return 0 if set(totals) <= {"ok", "none"} and not (options.every == 1 and missing) else 1


if __name__ == "__main__":
    sys.exit(main())
