"""PyTorch's own operator samples (OpInfo), exported, lowered and run in the stock runtime, compared with eager.

    .venv/bin/python tests/opinfo/opinfo.py                       every operator, all element types and forms
    .venv/bin/python tests/opinfo/opinfo.py --ops 'nn.functional.*' hstack --dtypes f32,i64 --forms plain,inplace
    .venv/bin/python tests/opinfo/opinfo.py --tenth --json out.json
    .venv/bin/python tests/opinfo/opinfo.py --known tests/opinfo/known.txt         what `make test-ops` runs
    .venv/bin/python tests/opinfo/opinfo.py --complex             of complex numbers, inside a program and at its ends
    .venv/bin/python tests/opinfo/opinfo.py --backend tosa        delegates are validated, and run by Arm's reference model

One line an operator: how many cases equal eager, and of each other outcome the number and the commonest message. Outcomes are
those of tests/models/stock_runtime.py. What torch itself cannot export or run is not a case. Exports are kept in build/opinfo.

Fails when a case crashes, does not load, does not run or is wrong. With --known also when an operator is refused that
the file does not name, and, over all cases, when the file names one that nothing refuses any more.
"""

import argparse
import fnmatch
import hashlib
import json
import multiprocessing
import os
import re
import sys
import tempfile
import textwrap
import warnings
from collections import Counter, defaultdict
from pathlib import Path

warnings.filterwarnings("ignore")
os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch.utils._pytree import tree_flatten, tree_unflatten  # noqa: E402

torch.set_num_threads(1)

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "models"))
from stock_runtime import difference, lower, pairs_of, run_apart  # noqa: E402

CACHE = ROOT / "build" / "opinfo"
DTYPES = {
    "f32": torch.float32, "i64": torch.int64, "bool": torch.bool, "f16": torch.float16, "bf16": torch.bfloat16,
    "i32": torch.int32, "u8": torch.uint8, "f64": torch.float64, "i16": torch.int16, "i8": torch.int8,
    "c64": torch.complex64,
}  # fmt: skip
REAL_DTYPES = ",".join(name for name in DTYPES if name != "c64")
FORMS = ("plain", "dynamic_first", "dynamic_last", "channels_last", "transposed", "strided", "inplace", "reused")
# Between other functions, so that delegates take a view, and lay its operands differently.
TOSA_FORMS = ("plain", "inside_others")
# With inputs and results as pairs of real numbers, and as they are.
COMPLEX_FORMS = ("inside", "ends")
HALVES = ("f16", "bf16")
TIES = re.compile(r"(argsort|sort|kthvalue|median|nanmedian|mode|topk|cummax|cummin|aminmax|(max|min)_reduction.*|max\.|min\.)")
# Random by nature, or on types that the runtime has no tensors of.
LEFT_OUT = re.compile(
    r"fft\.|sparse|nested|jagged|complex|polar|rand|normal$|normal\.|normal_|bernoulli|multinomial|exponential|geometric|cauchy"
    r"|uniform|log_normal|to_sparse|view_as_|empty|dropout|rrelu|stft$|istft|ops\.aten\._(efficient|flash)|jiterator"
    r"|^nn\.functional\.alpha|_segment_reduce|triton|^__getitem__$|^item$|bool$|resize|^equal$|allclose"
)
KEPT = re.compile(r"^(nn\.functional\.dropout\d?|new_empty_strided)$")
# Linear algebra by iteration, which no kernel of the runtime has parts for.
SOLVERS = re.compile(
    r"linalg\.(cholesky|cond|det|eig|eigh|eigvals|eigvalsh|householder|inv|ldl|lstsq|lu|matrix_rank|pinv|qr|slogdet"
    r"|solve|solve_triangular|svd|svdvals|tensorinv|tensorsolve)|^(cholesky|geqrf|inverse|logdet|lu|lu_solve|lu_unpack"
    r"|matrix_exp|ormqr|pca_lowrank|pinverse|qr|svd|svd_lowrank|triangular_solve|symeig|cholesky_.*|linalg\.matrix_exp)$|ormqr"
)


COMPLEX = re.compile(r"fft\.|complex|polar|view_as_|stft$|istft")


def is_covered(op, of_complex=False) -> bool:
    name = full_name(op)
    if of_complex and COMPLEX.match(name):
        return True
    if SOLVERS.search(name):
        return False
    return bool(KEPT.search(name)) or not LEFT_OUT.search(name)


def full_name(op) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


class Call(torch.nn.Module):
    """op(*args, **kwargs) with the tensors among them as inputs."""

    def __init__(self, op, spec, leaves, slots, form):
        super().__init__()
        self.op, self.spec, self.leaves, self.slots, self.form = op, spec, leaves, slots, form

    def forward(self, *tensors):
        leaves = list(self.leaves)
        for slot, tensor in zip(self.slots, tensors):
            leaves[slot] = tensor
        first, args, kwargs = tree_unflatten(leaves, self.spec)
        if self.form == "inplace":
            copy = first.clone()
            self.op(copy, *args, **kwargs)
            return (copy,)
        result = self.op(first, *args, **kwargs)
        if self.form == "reused":
            return tuple(torch.cat([t.reshape(-1), t.reshape(-1)]) for t in tree_flatten(result)[0] if isinstance(t, torch.Tensor))
        return result


def samples_of(op, dtype, count):
    torch.manual_seed(0)
    found = []
    for sample in op.sample_inputs("cpu", dtype, requires_grad=False):
        found.append(sample)
        if len(found) == count:
            break
    return found


def relaid(tensor, form):
    if form == "channels_last" and tensor.dim() == 4:
        return tensor.contiguous(memory_format=torch.channels_last)
    if form == "transposed" and tensor.dim() >= 2:
        return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)
    if form == "strided" and tensor.dim() >= 1:
        return torch.stack([tensor, tensor], dim=-1)[..., 0]
    return tensor


def make_case(op, sample, form):
    """The module and its inputs, or None when the form does not fit the sample."""
    function = op.op
    if form == "inplace":
        function = op.inplace_variant
        if function is None or not isinstance(sample.input, torch.Tensor):
            return None
    leaves, spec = tree_flatten((sample.input, list(sample.args), dict(sample.kwargs)))
    slots = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    if not slots:
        return None if form != "plain" else (Call(function, spec, leaves, slots, form), ())
    tensors = [leaves[i].detach().clone() for i in slots]
    if form == "inside":
        return Inside(Call(function, spec, leaves, slots, "plain")), tuple(pairs_of(t) for t in tensors)
    if form == "inside_others":
        # Indices become constants, which delegates can have.
        slots = [i for i in slots if leaves[i].dtype != torch.int64]
        if not slots:
            return None
        return InsideOthers(Call(function, spec, leaves, slots, "plain")), tuple(before(leaves[i].detach()) for i in slots)
    if form in ("channels_last", "transposed", "strided"):
        laid = [relaid(t, form) for t in tensors]
        if all(a is b or a.is_contiguous() for a, b in zip(laid, tensors)):
            return None
        # the strided tensors are made inside, from contiguous ones: the runtime takes dense inputs
        return Relaid(Call(function, spec, leaves, slots, "plain"), form), tuple(tensors)
    return Call(function, spec, leaves, slots, form), tuple(tensors)


class Relaid(torch.nn.Module):
    def __init__(self, call, form):
        super().__init__()
        self.call, self.form = call, form

    def forward(self, *tensors):
        return self.call(*(relaid(t, self.form) for t in tensors))


def before(tensor):
    """Of which inside() makes the tensor."""
    if tensor.dtype in (torch.float32, torch.float16, torch.int32):
        tensor = -tensor
    return tensor.transpose(0, -1).contiguous() if tensor.dim() > 1 else tensor


def inside(tensor):
    tensor = tensor.transpose(0, -1) if tensor.dim() > 1 else tensor
    return -tensor if tensor.dtype in (torch.float32, torch.float16, torch.int32) else tensor


def after(tensor):
    if tensor.dtype == torch.bool:
        return ~tensor
    return -tensor if tensor.dtype in (torch.float32, torch.float16, torch.int32) else tensor


class InsideOthers(torch.nn.Module):
    """A call between negations, on tensors whose first and last dimensions are exchanged."""

    def __init__(self, call):
        super().__init__()
        self.call = call

    def forward(self, *tensors):
        results = self.call(*(inside(t) for t in tensors))
        return tuple(after(t) for t in tree_flatten(results)[0] if isinstance(t, torch.Tensor))


class Inside(torch.nn.Module):
    """A call on complex tensors that come and go as pairs of real numbers."""

    def __init__(self, call):
        super().__init__()
        self.call = call

    def forward(self, *tensors):
        results = self.call(*(torch.view_as_complex(t) if t.dtype == torch.float32 else t for t in tensors))
        return tuple(pairs_of(t) for t in tree_flatten(results)[0] if isinstance(t, torch.Tensor))


def dynamic_shapes(tensors, form):
    place = 0 if form == "dynamic_first" else -1
    shapes = []
    for tensor in tensors:
        shape = {}
        if tensor.dim() > 0 and tensor.shape[place] > 1:
            shape[place % tensor.dim()] = torch.export.Dim.AUTO(min=1, max=max(16, 2 * tensor.shape[place]))
        shapes.append(shape)
    return (tuple(shapes),) if any(shapes) else None


def export(op_index, dtype_name, form, sample_index, count):
    """(pt2 path, io path), or None when it is not a case. Cached."""
    op = op_db[op_index]
    version = f"{VERSION}, exact" if dtype_name in HALVES else VERSION
    text = f"{torch.__version__}|{version}|{full_name(op)}|{dtype_name}|{form}|{sample_index}|{count}"
    key = hashlib.sha256(text.encode()).hexdigest()[:24]
    pt2, io, skip = (CACHE / f"{key}.{end}" for end in ("pt2", "io", "skip"))
    if skip.exists():
        return None
    if io.exists():
        return pt2, io
    made = None
    try:
        samples = samples_of(op, DTYPES[dtype_name], count)
        if sample_index < len(samples):
            made = make_case(op, samples[sample_index], form)
    except Exception:
        made = None
    if made is None:
        skip.touch()
        return None
    module, tensors = made
    shapes = None
    if form.startswith("dynamic"):
        shapes = dynamic_shapes(tensors, form)
        if shapes is None:
            skip.touch()
            return None
    try:
        with torch.no_grad():
            want = module(*[t.clone() for t in tensors])
            want = [t for t in tree_flatten(want)[0]]
            if any(isinstance(t, torch.Tensor) and t.is_sparse for t in want) or not want:
                raise ValueError("sparse")
            if form not in COMPLEX_FORMS and any(isinstance(t, torch.Tensor) and t.is_complex() for t in want):
                raise ValueError("complex")
            program = torch.export.export(module, tensors, dynamic_shapes=shapes, strict=False)
            if shapes is not None and not program.range_constraints:
                raise ValueError("not dynamic")
            with tempfile.TemporaryDirectory(dir=CACHE) as folder:
                torch.export.save(program, Path(folder) / "m.pt2")
                torch.save((list(tensors), want, exact_results(module, tensors, dtype_name)), Path(folder) / "io")
                os.replace(Path(folder) / "m.pt2", pt2)
                os.replace(Path(folder) / "io", io)
    except Exception:
        skip.touch()
        return None
    return pt2, io


def exact_results(module, tensors, dtype_name):
    """What f64 gives where eager computes in half precision, which may be further from it than the runtime is."""
    if dtype_name not in HALVES:
        return None
    wide = [t.double() if t.is_floating_point() else t.clone() for t in tensors]
    try:
        return tree_flatten(module(*wide))[0]
    except Exception:
        return None


def picks_the_same(name, tensors, got, want) -> bool:
    """Of equal elements any may be chosen, and torch's choice has no rule: the chosen elements agree."""
    if not TIES.match(name) or not tensors:
        return False
    for a, b in zip(got, want):
        if torch.equal(a, b) or a.dtype != torch.int64:
            continue
        if a.shape != b.shape or not any(picked_along(tensors[0], a, b, dim) for dim in range(tensors[0].dim())):
            return False
    return not compare([a for a in got if a.dtype != torch.int64], [b for b in want if b.dtype != torch.int64])


def picked_along(x, a, b, dim) -> bool:
    for index in (lambda i: i, lambda i: i.unsqueeze(dim)):
        try:
            one, other = x.gather(dim, index(a)), x.gather(dim, index(b))
        except (RuntimeError, IndexError):
            continue
        if torch.equal(one.nan_to_num(), other.nan_to_num()):
            return True
    return False


TOLERANCE = 2e-3  # of scale; --tolerance


def compare(got, want, exact=None) -> str:
    """Empty when equal: to the tolerance (half precision 2e-2). Values are those of `exact`, if given."""
    if len(got) != len(want):
        return f"{len(got)} outputs instead of {len(want)}"
    for place, (a, b, right) in enumerate(zip(got, want, exact or want)):
        is_half = isinstance(b, torch.Tensor) and b.dtype in (torch.float16, torch.bfloat16)
        message = difference(a, b, 2e-2 if is_half else TOLERANCE, right)
        if message:
            return f"output {place}: {message}"
    return ""


def execute(name, pte, io):
    """(outcome, message) of the stock runtime."""
    tensors, want, *exact = torch.load(io, weights_only=False)
    # the Python module aborts on strides of empty tensors that are not the usual ones
    tensors = [t if t.numel() else torch.empty(t.shape, dtype=t.dtype) for t in tensors]

    def judge(got):
        message = compare(got, want)
        if message and exact and exact[0] is not None:
            message = compare(got, want, exact[0])
        if message and picks_the_same(name, tensors, got, want):
            message = ""
        return message or (tosa_delegates.complaints() if tosa_delegates else "")

    return run_apart(pte, [(tensors, judge)])


def executorch_flow(name, pt2, io, pte):
    """(outcome, message) of ExecuTorch's own flow without a backend."""
    from executorch.exir import to_edge

    try:
        to_edge(torch.export.load(pt2)).to_executorch().save(str(pte))
    except Exception as error:
        return "refused", f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return execute(name, pte, io)


tosa_delegates = None


def use_tosa() -> None:
    global tosa_delegates
    sys.path.insert(0, str(ROOT / "tests" / "arm"))
    import tosa_delegates

    tosa_delegates.register()


def check(work):
    op_index, dtype, form, sample, options = work
    made = export(op_index, dtype, form, sample, options.samples)
    name = full_name(op_db[op_index])
    if made is None:
        return None
    pt2, io = made
    case = case_name(work)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        pte = Path(folder) / "m.pte"
        if options.executorch:
            outcome, message = executorch_flow(name, pt2, io, pte)
        else:
            outcome, message = lower(options.depute, pt2, pte, options.backend) or execute(name, pte, io)
        if outcome == "ok" and tosa_delegates and tosa_delegates.has_delegates(pte):
            outcome = "ok in delegates"
    return name, case, outcome, message, str(pt2)


def case_name(work) -> str:
    op_index, dtype, form, sample, _ = work
    return f"{full_name(op_db[op_index])}[{dtype},{form},{sample}]"


def is_in_tenth(work) -> bool:
    op_index, dtype, form, sample, _ = work
    text = f"{full_name(op_db[op_index])}|{dtype}|{form}|{sample}"
    return hashlib.sha256(text.encode()).digest()[0] < 26


def known_refusals(path):
    """{operator: reason} of lines like "histc  the runtime has no kernel that counts"."""
    lines = [line for line in Path(path).read_text().splitlines() if line.strip() and not line.startswith("#")]
    return dict(line.split(None, 1) for line in lines)


def check_known(results, path, is_whole):
    """What contradicts the file of known refusals, a line each."""
    known = known_refusals(path)
    refused = {name for name, cases in results.items() if any(outcome == "refused" for _, outcome, _, _ in cases)}
    complaints = [f"{name} is refused, and {path} does not name it" for name in sorted(refused - set(known))]
    if is_whole:
        complaints += [f"{path} names {name}, which nothing refuses" for name in sorted(set(known) - refused)]
    return complaints


KNOWN_HEADER = """# Operators of PyTorch's samples that are refused, in some of their cases, and why. The list may only become shorter:
# `make test-ops` fails for a line that nothing refuses any more. Nothing that fails in the runtime or is wrong belongs here.
"""


def write_known(results, path):
    """Keeps the reasons that are there; new ones are the commonest message."""
    known = known_refusals(path) if Path(path).exists() else {}
    lines = []
    for name, cases in sorted(results.items()):
        said = Counter(message for _, outcome, message, _ in cases if outcome == "refused").most_common(1)
        if said:
            lines.append(f"{name}  {known.get(name, re.sub(r'^.*?: ', '', said[0][0]))}\n")
    Path(path).write_text(KNOWN_HEADER + "".join(lines))


PAGE = """# Operators that run

PyTorch's own operator samples (OpInfo), by element type, with dynamic sizes, transposed, strided and in place: each is
exported, lowered without a backend, run in the stock ExecuTorch runtime, and compared with eager PyTorch in values and
result types. Sparse and random operators and most matrix decompositions are not among them. `make test-ops` runs all,
and `tests/opinfo/opinfo.py --page docs/coverage.md` writes this page. Complex numbers have forms of their own
(`--complex`), which the numbers below leave out.

{ok:,} of {all:,} cases equal eager ({share:.1f} %), in {refused:,} the compiler refuses the program with a reason, {bad} are
wrong or fail in the runtime. ExecuTorch's own flow, tried on the refused ones (`--executorch --cases`), gives none of
them right.

## Refused, at least in some of their cases

| operator | equal | refused | why, in most of them |
|---|---:|---:|---|
{table}

## Equal in all of their cases

{others}
"""


def write_page(results, file):
    totals = Counter(outcome for cases in results.values() for _, outcome, _, _ in cases)
    rows, others = [], []
    for name in sorted(results):
        reasons = Counter(message for _, outcome, message, _ in results[name] if outcome == "refused")
        equal = sum(outcome == "ok" for _, outcome, _, _ in results[name])
        if reasons:
            place = r"^(\[[^\]]*\]: )?(method )?forward(, node \w+|, %\w+( \([^)]*\))?)?: "
            why = re.sub(place, "", reasons.most_common(1)[0][0]).replace("|", "\\|")
            rows.append(f"| `{name}` | {equal} | {reasons.total()} | {why} |")
        elif equal == len(results[name]):
            others.append(f"`{name}`")
    text = PAGE.format(
        ok=totals["ok"],
        all=totals.total(),
        share=100 * totals["ok"] / totals.total(),
        refused=totals["refused"],
        bad=totals.total() - totals["ok"] - totals["ok in delegates"] - totals["refused"],
        table="\n".join(rows),
        others=textwrap.fill(", ".join(others), 120, break_long_words=False, break_on_hyphens=False),
    )
    Path(file).write_text(text)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--depute", default=str(ROOT / os.environ.get("DEPUTE_BIN", "build/release/depute")))
    parser.add_argument("--ops", nargs="*", default=["*"], help="patterns of operator names")
    parser.add_argument("--dtypes", default=REAL_DTYPES)
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--complex", action="store_true", help="complex numbers, by forms of their own")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--backend", default="portable")
    parser.add_argument("--tolerance", type=float, help="of scale; default: 2e-3, of backend tosa 1e-5")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tenth", action="store_true", help="a fixed tenth of the cases")
    parser.add_argument("--known", help="a file of operators that may be refused: name, then why")
    parser.add_argument("--update", action="store_true", help="rewrite --known: what is refused now, with the message")
    parser.add_argument("--json", help="write each case's outcome here")
    parser.add_argument("--page", help="write a page with what runs and what is refused here")
    parser.add_argument("-v", action="store_true", help="each case that does not equal eager, with its file")
    parser.add_argument("--executorch", action="store_true", help="by ExecuTorch's own flow, to compare with")
    parser.add_argument("--cases", help="only those that this --json of another run has as refused")
    parser.add_argument("--list", action="store_true", help="the names of the operators")
    options = parser.parse_args()
    global TOLERANCE
    is_tosa = options.backend.partition(":")[0] == "tosa"
    TOLERANCE = options.tolerance or (1e-5 if is_tosa else TOLERANCE)
    if is_tosa:
        use_tosa()
        options.forms = ",".join(TOSA_FORMS) if options.forms == ",".join(FORMS) else options.forms
    if options.complex:
        options.dtypes, options.forms = "c64", ",".join(COMPLEX_FORMS)
    CACHE.mkdir(parents=True, exist_ok=True)
    chosen = [i for i, op in enumerate(op_db) if is_covered(op, options.complex) and any(fnmatch.fnmatchcase(full_name(op), p) for p in options.ops)]
    if options.list:
        print("\n".join(full_name(op_db[i]) for i in chosen))
        return 0
    work = []
    for i in chosen:
        for dtype in options.dtypes.split(","):
            if DTYPES[dtype] not in op_db[i].dtypes:
                continue
            # Forms other than the plain one are about layout and sizes: one element type is enough.
            for form in options.forms.split(","):
                if form not in ("plain", "inplace", *TOSA_FORMS, *COMPLEX_FORMS) and dtype not in ("f32", "i64"):
                    continue
                if form not in ("plain", "inplace") and dtype == "i64" and torch.float32 in op_db[i].dtypes:
                    continue
                has_all = form == "inside" or (form == "plain" and dtype in ("f32", "i64")) or is_tosa
                for sample in range(options.samples if has_all else 1):
                    work.append((i, dtype, form, sample, options))
    if options.cases:
        refused = {case for cases in json.loads(Path(options.cases).read_text()).values() for case, outcome, *_ in cases if outcome == "refused"}
        work = [each for each in work if case_name(each) in refused]
    if options.tenth:
        work = [each for each in work if is_in_tenth(each)]
    results = defaultdict(list)
    with multiprocessing.Pool(options.jobs) as pool:
        for result in pool.imap(check, work, chunksize=4):
            if result is None:
                continue
            name, case, outcome, message, file = result
            results[name].append(result[1:])
            if options.v and not outcome.startswith("ok"):
                print(f"{outcome} {case} {message}\n    {file}", flush=True)
    totals = Counter()
    for name, cases in results.items():
        counts = Counter(outcome for _, outcome, _, _ in cases)
        totals.update(counts)
        line = f"{name}: {counts['ok']} ok"
        line += f", {counts['ok in delegates']} ok in delegates" if counts["ok in delegates"] else ""
        for outcome in ("refused", "crash", "load", "run", "wrong"):
            if counts[outcome]:
                said = Counter(message for _, o, message, _ in cases if o == outcome).most_common(1)[0][0]
                line += f"; {outcome} {counts[outcome]}: {said}"
        print(line)
    print(" ".join(f"{outcome} {count}" for outcome, count in totals.most_common()))
    if options.json:
        Path(options.json).write_text(json.dumps({n: c for n, c in results.items()}, indent=1))
    if options.page:
        write_page(results, options.page)
    complaints = []
    if options.known and options.update:
        write_known(results, options.known)
    elif options.known:
        is_whole = not options.tenth and options.ops == ["*"] and options.dtypes == REAL_DTYPES
        complaints = check_known(results, options.known, is_whole and options.forms == ",".join(FORMS))
        print("\n".join(complaints))
    is_right = totals["crash"] + totals["load"] + totals["run"] + totals["wrong"] == 0
    return 0 if is_right and not complaints else 1


VERSION = 1  # of how cases are made: change it when they change

if __name__ == "__main__":
    sys.exit(main())
