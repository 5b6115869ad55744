"""Programs of one operator each, made at random from the op table's schemas, lowered and run in the stock runtime, compared with
eager PyTorch.

    .venv/bin/python tests/one_op/one_op.py                                      200,000 programs, what `make test-one-op` runs
    .venv/bin/python tests/one_op/one_op.py --count 5000 --seed 7 --ops '*scatter*' -v
    .venv/bin/python tests/one_op/one_op.py --show 1234                          one program, its outcome and both results
    .venv/bin/python tests/one_op/one_op.py --depute build/asan/depute --count 500 --lower-only

Program number i is call i // N of operator i % N of N. It is lowered without a backend and for XNNPACK, by the Python package in
process, or by the command line with --depute. What torch takes must give the same numbers or be refused with a reason; what
torch refuses must be refused or lowered, without a crash. Processes that do the work are replaced when one dies.

Outcomes: ok; refused (by depute, with a reason); by-torch (torch refuses, and nothing bad happens); crash (of depute, or an error
that says it is one of its own); load, run (the runtime fails); wrong; hang. Random results and those that C++ leaves undefined
are not compared. Fails for each crash, load, run, wrong and hang that tests/one_op/known.txt does not list.
"""

import argparse
import fnmatch
import importlib.util
import json
import math
import mmap
import os
import re
import resource
import selectors
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

warnings.filterwarnings("ignore")
os.environ.setdefault("OMP_NUM_THREADS", "1")
import executorch.exir.dialects._ops  # noqa: E402, F401  (registers the operators of dim_order_ops)
import torch  # noqa: E402
import torch.ao.quantization.fx._decomposed  # noqa: E402, F401  (registers quantized_decomposed)

torch.set_num_threads(1)
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "models")]
from calls import LEFT_OUT, Program, make_call, results_of, seed_of, torch_op, type_text  # noqa: E402
from stock_runtime import Runtime, difference, lower  # noqa: E402

FAULTS = ("crash", "load", "run", "wrong", "hang")
BACKENDS = ("portable", "xnnpack")
STAGES = ("torch", "lower", "run")
SECONDS = 30  # for one program before it counts as hanging
CHUNK = 4000  # programs of one process
STATE = struct.Struct("qqqd")  # program, stage, backend, since when


def operators(depute_text, patterns):
    """(name, operator, flags) of the table's operators that torch has, in the table's order."""
    done = subprocess.run([depute_text, "ops"], input="program\n", capture_output=True, text=True, check=True)
    found = []
    for line in done.stdout.splitlines():
        schema, flags, _ = line.split("\t")
        name = schema.partition("(")[0]
        if LEFT_OUT.match(name) or "random" in flags.split() or not any(fnmatch.fnmatchcase(name, p) for p in patterns):
            continue
        op = torch_op(name)
        if op is not None and all("Tensor" in str(r.type) for r in op._schema.returns) and op._schema.returns:
            found.append((name, op, flags.split()))
    return found


# --- what the results should be

HALVES = (torch.float16, torch.bfloat16)
# Recurrent layers, where each step takes on what the one before it rounded: torch keeps more digits of the sums of a step.
STEPS = re.compile(r"aten\.(lstm|gru|rnn_(tanh|relu))\.")
# Sums of f32 in other orders differ; so do infinities and NaNs in them, and in products with 0 (Case.settled).
# Which of equal elements an operator picks has no rule in torch: their values are compared, and what the indices point to.
PICKS = re.compile(r"aten\.(topk|kthvalue|median|nanmedian|mode)\.")
# Sums of products with weights, even where one weight is 1 and the others are 0, or padding alone is read.
SUMS = re.compile(r"aten\.(_?upsample_(linear|bilinear|trilinear|bicubic|lanczos)|conv)")
# LAPACK gives what its pivots happen to be where a matrix holds an infinity or NaN.
FACTORS = re.compile(r"aten\.linalg_(solve|inv|det|slogdet|cholesky|qr)|aten\.(inverse|det|logdet|slogdet|cholesky)")
# torch's loop ends at NaN before it has set the variable that it gives.
UNSTABLE = re.compile(r"aten\.(special_airy_ai|special_\w+_polynomial_\w+|(linalg_)?matrix_exp)\.")
# Losses that torch gives the mean of nothing of leave their result unset.
LOSSES = re.compile(r"aten\.(multi_margin_loss|multilabel_margin_loss|binary_cross_entropy)")
POLYNOMIALS = re.compile(r"aten\.special_\w+_polynomial_\w+\.")


def compare(got, want, exact=None, half_tolerance=2e-2):
    if len(got) != len(want):
        return f"{len(got)} outputs instead of {len(want)}"
    for place, (a, b, right) in enumerate(zip(got, want, exact or want)):
        message = difference(a, b, half_tolerance if b.dtype in HALVES else 2e-3, right)
        if message:
            return f"output {place}: {message}"
    return ""


def is_finite(value):
    if isinstance(value, list):
        return all(is_finite(v) for v in value)
    if isinstance(value, torch.Tensor):
        return bool(value.isfinite().all())
    return not isinstance(value, float) or abs(value) < 2.0**128  # beyond it f32 has infinity


def finite(value, rng):
    """A random tensor of f64 like a float one; others, which may be indices, as they are."""
    if isinstance(value, list):
        return [finite(v, rng) for v in value]
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return torch.randn(value.shape, generator=rng, dtype=torch.float64)
    return value if is_finite(value) else 0.5


def without(value, lost):
    if isinstance(value, list):
        return [without(v, lost) for v in value]
    return torch.where(torch.isin(value, lost), math.nan, value) if isinstance(value, torch.Tensor) and value.dtype == torch.float64 else value


def is_wild(tensor):
    return tensor.is_floating_point() and bool((~(tensor.abs() < 1e4)).any())


def tensors_of(arguments):
    for _, value in arguments:
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, torch.Tensor):
                yield each


def is_open_power(arguments, is_whole):
    """Whether a logspace holds numbers beyond 32 bits, which C++ leaves open as integers, or the powers of a negative number,
    whose sign changes with each exponent."""
    start, end, base = (complex(told(arguments, name, 10.0)) for name in ("start", "end", "base"))
    if told(arguments, "dtype") == torch.uint8:
        start, end = start.real % 256, end.real % 256
    if not all(abs(n.real) < 1e4 for n in (start, end)):
        return is_whole or base.real < 0
    return is_whole and not all(n.real * math.log10(abs(base.real) or 1) < 9 for n in (start, end))


def is_undefined(arguments, results):
    """Whether C++ leaves open what integers come from infinities, NaNs and floats beyond their range, or a search in rows that
    are not sorted has no meaning."""
    if all(r.is_floating_point() or r.is_complex() or r.dtype == torch.bool for r in results):
        return False
    given = {argument.name: value for argument, value in arguments}
    rows = given.get("sorted_sequence", given.get("boundaries"))
    if isinstance(rows, torch.Tensor) and not rows.is_complex():
        rows = rows if given.get("sorter") is None else rows.gather(-1, given["sorter"])
        if not bool((rows[..., 1:] >= rows[..., :-1]).all()):
            return True
    numbers = [n for _, value in arguments for n in (value if isinstance(value, list) else [value]) if isinstance(n, float)]
    return any(is_wild(t) for t in tensors_of(arguments)) or any(not abs(n) < 1e4 for n in numbers)


def told(arguments, name, default=None):
    return next((value for argument, value in arguments if argument.name == name), default)


def is_repeated(arguments):
    """Whether an argument is told to be without equal elements, and has some: isin gives what its sort makes of them."""
    return told(arguments, "assume_unique") is True and any(len(t.unique()) < t.numel() for t in tensors_of(arguments))


def without_factor(results, info):
    """Cholesky's factors, of which LAPACK leaves those as they are that it did not get to."""
    lost = (info != 0)[..., None, None]
    return [torch.where(lost, 0, t) if t.dim() > info.dim() else t for t in results]


def open_scores(arguments):
    """Rows of attention with a score that is not finite: torch's two implementations give NaN or 0 for them."""
    query, key = (told(arguments, name).double() for name in ("query", "key"))
    if told(arguments, "enable_gqa"):
        key = key.repeat_interleave(query.shape[-3] // max(1, key.shape[-3]), -3)
    mask = told(arguments, "attn_mask")
    added = mask.double() if mask is not None and mask.is_floating_point() else torch.zeros(())
    return ~((query @ key.transpose(-1, -2)).float() + added).isfinite().all(-1, keepdim=True)


def whole_steps(arguments):
    """The places where a range of integers is at an integer exactly: torch truncates what a fused sum of products makes of it,
    which is one less where the step was rounded down."""
    ends = [v.to(torch.float64).item() if isinstance(v, torch.Tensor) else float(v) for v in (told(arguments, "start"), told(arguments, "end"))]
    steps = told(arguments, "steps")
    return (torch.arange(steps) * (math.trunc(ends[1]) - math.trunc(ends[0]))) % max(1, steps - 1) == 0


def without_open(got, want, exact):
    """The results with torch's elements where torch's own results in f32 and f64 have little in common, and with torch's
    integers where they are torch's in f64."""
    made = []
    for a, b, c in zip(got, want, exact):
        if a.shape != c.shape:
            return got
        if is_whole(b):
            made.append(torch.where(a == c, b, a))
            continue
        if b.is_floating_point():
            gap = (b.double() - c.double()).abs() / c.double().abs().clamp(min=1)
            is_open = gap > 0.2 if b.dtype in HALVES else ~(gap <= 0.2)
            a = torch.where(is_open & ((b != c) | ~b.isfinite()) & ~(b.isnan() & c.isnan()), c.to(a.dtype), a)
        made.append(a)
    return made


def is_whole(tensor):
    return not tensor.is_floating_point() and not tensor.is_complex() and tensor.dtype != torch.bool


def wider(value):
    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, list):
        return [wider(v) for v in value]
    return torch.float64 if isinstance(value, torch.dtype) and value.is_floating_point else value


def picks_the_same(arguments, got, want):
    """Of equal elements any may be chosen: the chosen ones agree."""
    source = next(tensors_of(arguments))
    dim = next((value for argument, value in arguments if argument.name == "dim"), -1)
    source = source if source.dim() else source.reshape(1)
    is_unordered = any(argument.name == "sorted" and value is False for argument, value in arguments)
    ordered = lambda t: t.sort(dim).values if is_unordered and t.dim() else t  # noqa: E731
    for a, b in zip(got[1:], want[1:]):  # indices stand behind the values
        if torch.equal(a, b) or a.shape != b.shape:
            continue
        if not bool(((a >= 0) & (a < source.shape[dim])).all()):
            return False
        chosen = [ordered(source.gather(dim, i if i.dim() == source.dim() else i.unsqueeze(dim))) for i in (a, b)]
        if difference(*chosen, 0.0):
            return False
    return not compare([ordered(got[0])], [ordered(want[0])])


class Case:
    """A program, what torch gives for it, and how its results are judged."""

    def __init__(self, number, options):
        self.number = number
        self.name, self.op, self.flags = options.operators[number % len(options.operators)]
        self.seed = seed_of(options.seed, self.name, number // len(options.operators))
        self.arguments, self.want = make_call(self.op, self.seed)
        self.program = Program(self.op, self.name, self.arguments, self.seed)
        if self.want is not None and self.want != []:
            again = self.results(lambda value: value)
            is_open = is_undefined(self.arguments, self.want) or is_repeated(self.arguments) or self.is_unset()
            is_open |= bool(FACTORS.match(self.name)) and not all(is_finite(value) for _, value in self.arguments)
            self.is_judged = not is_open and not compare(again, self.want) and self.is_same_elsewhere()
            self.want_tensors = [t for t in self.want if t is not None]
            self.types = [type_text(t) for t in self.want]
        else:
            self.want = None

    def is_same_elsewhere(self):
        """Whether torch gives the same for the same number in another place: where it does not, it read memory that nobody wrote."""
        if "pointwise" not in self.flags:
            return True
        turn = lambda t: t.flip(list(range(t.dim()))) if isinstance(t, torch.Tensor) else t  # noqa: E731
        turned = self.results(lambda value: [turn(v) for v in value] if isinstance(value, list) else turn(value))
        return len(turned) == len(self.want) and not compare([turn(t) for t in turned], self.want)

    def is_unset(self):
        """Whether torch gives a variable that it did not set, or numbers of other rows: its transforms take no negative
        dimension, and do not say so."""
        if LOSSES.match(self.name) and any(t.numel() == 0 for t in tensors_of(self.arguments)):
            return True
        if "logspace" in self.name and is_open_power(self.arguments, any(is_whole(t) for t in self.want)):
            return True
        if STEPS.match(self.name) and any(t.dtype in HALVES and is_wild(t) for t in tensors_of(self.arguments)):
            return True  # differences of sums without digits
        if self.name.startswith("aten._fft_") and any(dim < 0 for dim in told(self.arguments, "dim", ())):
            return True
        signs = {"aten.copysign.": self.arguments[1:], "aten.signbit.": self.arguments}.get(self.name[: self.name.rindex(".") + 1], [])
        if any(bool(t.isnan().any()) for t in tensors_of(signs)):
            return True  # a NaN has a sign that conversions change
        if "matrix_exp" in self.name and any(bool(t.isnan().any()) for t in tensors_of(self.arguments)):
            return True  # of several matrices, torch skips those whose norm is no number
        if told(self.arguments, "alpha") == -(2**63):
            return True  # torch negates it
        variable = self.arguments[0][1]
        if bool(POLYNOMIALS.match(self.name)) and any(bool((torch.as_tensor(n).double().abs() > 1 << 20).any()) for _, n in self.arguments[1:2]):
            return True  # the angle has no digits left
        return bool(POLYNOMIALS.match(self.name)) and bool(torch.as_tensor(variable).isnan().any())

    def is_sum(self):
        """Whether sums of products are computed, in which a factor 0 leaves out what it stands before, or makes NaN of it."""
        return bool(SUMS.match(self.name)) or told(self.arguments, "alpha") == 0 or (not self.is_picked() and self.is_linear())

    def is_picked(self):
        """Whether results of other numbers are some of those that went in, and NaNs those that were NaN: nothing is computed."""
        rng = torch.Generator().manual_seed(8)
        base = [(argument, finite(value, rng)) for argument, value in self.arguments]
        given = torch.cat([t.flatten() for t in tensors_of(base) if t.dtype == torch.float64] or [torch.zeros(0)])
        lost = given[: len(given) // 2]
        holed = [(argument, without(value, lost)) for argument, value in base]
        floats = lambda results: [t for t in results or [] if isinstance(t, torch.Tensor) and t.is_floating_point()]  # noqa: E731
        results, rest = floats(results_of(self.op, base)), floats(results_of(self.op, holed))
        return bool(results) and len(results) == len(rest) and all(
            bool(a.count_nonzero()) and bool((torch.isin(a.double(), given) | (a == 0)).all()) and torch.equal(torch.isin(a.double(), lost), b.isnan())
            for a, b in zip(results, rest)
        )  # fmt: skip

    def is_linear(self):
        """Whether the results are sums of products with each tensor that is not finite: f(a + b) + f(0) = f(a) + f(b)."""
        rng = torch.Generator().manual_seed(7)
        base = [(argument, finite(value, rng)) for argument, value in self.arguments]
        for place, (argument, value) in enumerate(self.arguments):
            if not isinstance(value, torch.Tensor) or is_finite(value):
                continue
            a, b = finite(value, rng), finite(value, rng)
            results = [results_of(self.op, [*base[:place], (argument, t), *base[place + 1 :]]) for t in (a, b, a + b, torch.zeros_like(a))]
            if any(r is None for r in results):
                return False
            for fa, fb, fab, f0 in zip(*results):
                if isinstance(fa, torch.Tensor) and not torch.allclose(fab + f0, fa + fb, 1e-6, 1e-9):
                    return False
        return True

    def settled(self, got, backend):
        """The results with torch's elements where it is open which infinity or NaN they are.

        Of numbers that are not finite, sums and products in another order make other ones, unless the results are computed
        element by element, or picked. A product with the weight 0 is left out by some forms of a sum of products. XNNPACK's
        kernels are made for finite numbers."""
        want = self.want_tensors
        if all(is_finite(value) for _, value in self.arguments):
            is_open = lambda a, b: ~(a.isfinite() | b.isfinite())  # noqa: E731
            if backend != "xnnpack" and not any(t.is_complex() for t in want):  # all complex infinities are one
                return got
        elif backend == "xnnpack" and self.name.startswith("aten.renorm"):
            return want  # XNNPACK's root of infinity is NaN, which is not above the limit of the norm
        elif self.name.startswith("aten.scaled_dot_product_attention"):
            rows = open_scores(self.arguments)
            is_open = lambda a, b: rows | ~(a.isfinite() & b.isfinite())  # noqa: E731
        elif backend == "xnnpack" or (not {"pointwise", "view"} & set(self.flags) and self.is_sum()):
            is_open = lambda a, b: ~(a.isfinite() & b.isfinite())  # noqa: E731
        elif not any(t.is_complex() for t in want) and ("pointwise" in self.flags or (self.is_picked() and not self.is_linear())):
            return got
        else:
            is_open = lambda a, b: ~(a.isfinite() | b.isfinite())  # noqa: E731
        return [torch.where(is_open(a, b), b, a) if b.is_floating_point() or b.is_complex() else a for a, b in zip(got, want)]

    def results(self, change):
        return [t for t in results_of(self.op, [(a, change(value)) for a, value in self.arguments]) or [] if t is not None]

    def guessed_types(self):
        """Of a call that torch refuses: those of its first tensor."""
        count = max(1, len(self.op._schema.returns))
        tensor = next(tensors_of(self.arguments), None)
        return [type_text(tensor) if tensor is not None else "f32[2]"] * count

    def overflows(self):
        """Whether integers are computed from the least or largest of their type: C leaves signed overflow open."""
        limits = lambda t: torch.iinfo(t.dtype) if is_whole(t) and t.dtype != torch.uint8 else None  # noqa: E731
        ends = any(limits(t) and bool(((t == limits(t).min) | (t == limits(t).max)).any()) for t in tensors_of(self.arguments))
        return ends and not self.is_picked() and not any(t.dtype == torch.bool for t in self.want_tensors)

    def nudged_results(self):
        """What torch gives for numbers that differ in their last bits."""
        rng = torch.Generator().manual_seed(9)
        nudge = lambda t: t * (1 + 2e-7 * torch.randn(t.shape, generator=rng)).to(t.dtype) if isinstance(t, torch.Tensor) and t.is_floating_point() else t  # noqa: E731
        return [self.results(nudge) for _ in range(8)]

    def without_unstable(self, got):
        """Torch's elements where its own differ for numbers that differ in their last bits, as sines of large angles do."""
        nudged = torch.stack([results[0] for results in self.nudged_results()])
        low, high = nudged.amin(0), nudged.amax(0)
        is_open = (got[0] >= low - (high - low)) & (got[0] <= high + (high - low))
        return [torch.where(is_open, self.want_tensors[0], got[0])]

    def judge(self, got, backend):
        want = self.want_tensors
        message = compare(got, want, half_tolerance=4e-2 if STEPS.match(self.name) else 2e-2)
        if not message:
            return ""
        if "linalg_cholesky" in self.name and len(want) == 2:
            got, want = without_factor(got, want[1]), without_factor(want, want[1])
        if any(a.shape != b.shape or a.dtype != b.dtype for a, b in zip(got, want)) or len(got) != len(want):
            return message
        given, got = got, self.settled(got, backend)
        if not compare(got, want):
            return ""
        as_floats = lambda value: value.double() if isinstance(value, torch.Tensor) and is_whole(value) else wider(value)  # noqa: E731
        of_wholes = [self.results(as_floats)] if "pointwise" in self.flags and all(t.is_floating_point() for t in want) else []
        if UNSTABLE.match(self.name):
            got = self.without_unstable(got)
            if not compare(got, want):
                return ""
        ties = self.nudged_results() if self.name.startswith("quantized_decomposed.") else []  # of which either integer is right
        for exact in (self.results(wider), *of_wholes, *ties):
            near = [c.to(b.dtype) for b, c in zip(want, exact)]
            if len(exact) == len(got) and not (compare(got, near) and compare(given, near)):
                return ""  # as near to the number as torch in f64
            if len(exact) == len(want) and not compare(without_open(got, want, exact), want, exact):
                return ""
        if self.overflows():
            return ""
        if self.name.startswith("aten.linspace.") and is_whole(want[0]):
            return "" if bool(((got[0] - want[0]).abs() <= whole_steps(self.arguments)).all()) else message
        if PICKS.match(self.name) and picks_the_same(self.arguments, got, want):
            return ""
        return message


# --- lowering and running

TYPES_TOLD = re.compile(r"the file declares type (.*?) for this node, but its op returns (.*?)$", re.MULTILINE)


def lower_in_process(text, backend):
    """(bytes, None) or (None, (outcome, message))."""
    import depute

    try:
        partitioner = None if backend == "portable" else backend
        edge = depute.to_edge_transform_and_lower(depute.parse(text), partitioner=partitioner, progress=False)
        return edge.to_executorch().buffer, None
    except depute.Error as error:
        message = str(error)
        return None, ("crash" if "[internal]" in message else "refused", message[:400])
    except Exception as error:
        return None, ("crash", f"{type(error).__name__}: {error}"[:400])


def lower_by_command(depute, text, backend, folder):
    source, target = folder / "m.ir", folder / "m.pte"
    source.write_text(text)
    failed = lower(depute, source, target, backend)
    return (None, failed) if failed else (target.read_bytes(), None)


class Worker:
    """Does programs first to last in a process of its own, and writes a line of JSON for each that is not ok."""

    def __init__(self, options, state, log, answers):
        self.options, self.state, self.log, self.answers = options, state, log, answers
        self.folder = Path(tempfile.mkdtemp(dir="/dev/shm"))
        self.counts = Counter()

    def note(self, number, stage, backend=0):
        self.state[: STATE.size] = STATE.pack(number, stage, backend, time.monotonic())

    def lowered(self, text, backend):
        if self.options.depute:
            return lower_by_command(self.options.depute, text, backend, self.folder)
        return lower_in_process(text, backend)

    def hint(self):
        text = os.pread(self.log, 20000, 0).decode(errors="replace")
        said = [f"[{place}] {rest}" for place, rest in re.findall(r"\[(\w+\.(?:cpp|h):\d+)\] (.*)", text) if "ailed" in rest or "rror" in rest]
        return f": {said[0][:200]}" if said else ""

    def outcome(self, case, backend):
        types = case.types if case.want is not None else case.guessed_types()
        self.note(case.number, 1, BACKENDS.index(backend))
        made, failed = self.lowered(case.program.text(types), backend)
        told = failed and case.want is None and TYPES_TOLD.search(failed[1])
        if told:  # a call that torch refuses, with the type that the compiler would give it
            made, failed = self.lowered(case.program.text([told[2].strip()] * len(types)), backend)
        if failed and (failed[0] == "crash" or case.want is not None):
            return failed
        if case.want is None:
            return "by-torch", ""
        if self.options.lower_only:
            return "ok", ""
        self.note(case.number, 2, BACKENDS.index(backend))
        stage = "load"
        try:
            program = Runtime.get().load_program(made)
            method = program.load_method("forward")
            stage = "run"
            got = [t.clone() if isinstance(t, torch.Tensor) else t for t in method.execute(case.program.inputs)]
            del method, program
        except Exception as error:
            return stage, str(error)[:200] + self.hint()
        if not case.is_judged:
            return "ok", ""
        message = case.judge(got, backend)
        return ("wrong", message) if message else ("ok", "")

    def run(self, first, last):
        for number in range(first, last):
            os.ftruncate(self.log, 0)
            self.note(number, 0)
            try:
                case = Case(number, self.options)
            except Exception:
                raise RuntimeError(f"program {number}: {traceback.format_exc()[-400:]}") from None
            for backend in self.options.backend:
                outcome, message = self.outcome(case, backend)
                self.answers.write(json.dumps([number, case.name, backend, outcome, message]) + "\n")
        self.note(last, 0)
        self.answers.flush()


def start(options, first, last, lane):
    """(pid, file that reads its answers)."""
    reader, writer = os.pipe()
    lane.state[: STATE.size] = STATE.pack(first, 0, 0, time.monotonic())
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    try:
        os.close(reader)
        os.dup2(lane.log, 1)
        os.dup2(lane.log, 2)
        if not options.lower_only:  # a compiler with the address sanitizer reserves terabytes of addresses
            resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        answers = os.fdopen(writer, "w", buffering=1)
        Worker(options, lane.state, lane.log, answers).run(first, last)
        os._exit(0)
    except BaseException as error:
        os.write(writer, json.dumps([-1, "the worker", "", "crash", f"{type(error).__name__}: {error}"[:600]]).encode() + b"\n")
        os._exit(1)


class Lane:
    """One process at a time, and the range of programs it is at."""

    def __init__(self):
        self.state = mmap.mmap(-1, STATE.size)
        self.log = os.open("/dev/shm", os.O_RDWR | os.O_TMPFILE | os.O_APPEND)
        self.pid = None


def report_death(lane, status, options):
    number, stage, backend, _ = STATE.unpack(lane.state[: STATE.size])
    name = options.operators[number % len(options.operators)][0]
    said = os.pread(lane.log, 20000, 0).decode(errors="replace")
    hint = next((line.strip()[:300] for line in said.splitlines() if re.search(r"ailed|rror|what\(\)", line)), "")
    if status == "hang":
        outcome, message = "hang", f"more than {SECONDS} s to {STAGES[stage]}"
    else:
        outcome = {0: "by-torch", 1: "crash", 2: "run"}[stage]
        message = f"died of signal {os.WTERMSIG(status)}: {hint}" if os.WIFSIGNALED(status) else f"ended with {status}: {hint}"
    if stage == 0:
        outcome, message = "by-torch", f"torch: {message}"
    return [number, name, BACKENDS[backend], outcome, message], number + 1


def run(options):
    """Yields [number, name, backend, outcome, message] of each program."""
    waiting = [(a, min(a + CHUNK, options.first + options.count)) for a in range(options.first, options.first + options.count, CHUNK)][::-1]
    lanes = [Lane() for _ in range(options.jobs)]
    selector = selectors.DefaultSelector()
    while waiting or any(lane.pid for lane in lanes):
        for lane in lanes:
            if lane.pid is None and waiting:
                first, lane.last = waiting.pop()
                lane.pid, reader = start(options, first, lane.last, lane)
                lane.reader, lane.rest, lane.hung = reader, b"", False
                selector.register(reader, selectors.EVENT_READ, lane)
        for key, _ in selector.select(timeout=1.0):
            lane = key.data
            got = os.read(key.fd, 1 << 16)
            lane.rest += got
            *lines, lane.rest = lane.rest.split(b"\n")
            yield from (json.loads(line) for line in lines)
            if got:
                continue
            selector.unregister(key.fd)
            os.close(key.fd)
            _, status = os.waitpid(lane.pid, 0)
            lane.pid = None
            if status:
                answer, following = report_death(lane, "hang" if lane.hung else status, options)
                yield answer
                if following < lane.last:
                    waiting.append((following, lane.last))
        for lane in lanes:
            since = STATE.unpack(lane.state[: STATE.size])[3]
            if lane.pid and not lane.hung and time.monotonic() - since > SECONDS:
                lane.hung = True
                os.kill(lane.pid, signal.SIGKILL)


def show(options):
    case = Case(options.show, options)
    types = case.types if case.want is not None else case.guessed_types()
    print(case.program.text(types), end="")
    print("torch:", case.want if case.want is not None else "refuses")
    for place, tensor in enumerate(case.program.inputs):
        print(f"input {place}:", tensor)
    for backend in options.backend:
        text = case.program.text(types)
        if options.depute:
            with tempfile.TemporaryDirectory() as folder:
                made, failed = lower_by_command(options.depute, text, backend, Path(folder))
        else:
            made, failed = lower_in_process(text, backend)
        sys.stdout.flush()
        if failed or case.want is None:
            print(backend, failed or "lowered")
            continue
        program = Runtime.get().load_program(made)
        got = program.load_method("forward").execute(case.program.inputs)
        print(backend, got, case.judge(got, backend) or "ok")


def known_faults(path):
    """{(operator, outcome)} of lines like "aten.topk.default wrong  why"."""
    lines = [line.split(None, 2) for line in Path(path).read_text().splitlines() if line.strip() and not line.startswith("#")]
    return {(name, outcome) for name, outcome, _ in lines}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--depute", help="lower by this program; without it by the Python package, in process")
    parser.add_argument("--depute-text", default=str(ROOT / "build/release/tests/text/tool/depute-text"), help="what lists the op table")
    parser.add_argument("--ops", nargs="*", default=["*"], help="patterns of operator names")
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--backend", nargs="*", default=list(BACKENDS), choices=BACKENDS)
    parser.add_argument("--lower-only", action="store_true", help="run nothing in the runtime")
    parser.add_argument("--known", default=str(ROOT / "tests/one_op/known.txt"))
    parser.add_argument("--show", type=int, help="one program, by its number")
    parser.add_argument("--table", action="store_true", help="of each operator, how many programs have which outcome")
    parser.add_argument("--refused", help="write how many calls of each operator torch refuses here")
    parser.add_argument("--reasons", action="store_true", help="why programs were refused, and how often")
    parser.add_argument("-v", action="store_true", help="each fault as it is found, known ones too")
    options = parser.parse_args()
    if not options.depute and importlib.util.find_spec("depute") is None:
        parser.error("there is no package depute: name a program by --depute, or run scripts/build_wheel.sh --install")
    options.operators = operators(options.depute_text, options.ops)
    if options.show is not None:
        show(options)
        return 0
    known = known_faults(options.known)
    totals, by_op, faults, reasons = Counter(), {}, [], Counter()
    for number, name, backend, outcome, message in run(options):
        totals[outcome] += 1
        by_op.setdefault(name, Counter())[outcome] += 1
        if outcome == "refused":
            reasons[f"{name}: {message}"] += 1
        if outcome in FAULTS:
            is_known = (name, outcome) in known
            faults += [] if is_known else [number]
            if options.v or not is_known:
                print(f"{'known ' if is_known else ''}{outcome} {number} {name} {backend} {message}", flush=True)
    if options.table:
        for name, counts in by_op.items():
            print(name, " ".join(f"{outcome} {count}" for outcome, count in counts.most_common()))
    if options.reasons:
        for reason, count in reasons.most_common():
            print(count, reason)
    if options.refused:
        refused = {name: counts["by-torch"] for name, counts in by_op.items() if counts["by-torch"]}
        Path(options.refused).write_text(json.dumps(refused, indent=1))
    print(f"{len(options.operators)} operators:", " ".join(f"{outcome} {count}" for outcome, count in totals.most_common()))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
