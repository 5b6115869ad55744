"""Random programs with open sizes: arithmetic on sizes, and functions that take sizes, strides and numbers made by it.

    .venv/bin/python tests/random_programs/random_sizes.py --count 200
    .venv/bin/python tests/random_programs/random_sizes.py --seed 1234 --backend xnnpack      one of them, with its source

A program takes two matrices whose sizes n, m and k are open, and sometimes a number that only the data tells. It is grown a
line at a time; a line stays if eager runs it at the example's sizes and at four others at least. Then it is exported once,
lowered, and run in the stock runtime at five sizes for which torch's own guards hold. Outcomes are those of
tests/models/stock_runtime.py. Fails when one is wrong, or fails, or depute crashes; --refused prints what is refused as well.
"""

import argparse
import contextlib
import io
import logging
import math
import multiprocessing
import os
import random
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

warnings.filterwarnings("ignore")
os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch  # noqa: E402

torch.set_num_threads(1)
logging.disable(logging.WARNING)  # torch tells of each guess about sizes
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "models"))
from stock_runtime import difference, lower, run_apart  # noqa: E402

NAMES = {"torch": torch, "F": torch.nn.functional, "math": math}
LARGEST = 17  # of an input's sizes
CASES = 5

# {a} and {b} are numbers that the program has, {c} is a small constant.
NUMBERS = """{a}+{b}|{a}-{b}|{a}*{b}|{a}+{c}|{a}-{c}|{c}-{a}|{a}*{c}|-{a}|{a}//{c}|{a}%{c}|-{a}//{c}|-{a}%{c}|-(-{a}//{c})|({c}-{a}%{c})%{c}|{a}//{b}
{a}%{b}|({a}-{b})%{c}|({a}-{b})//{c}|{a}%-{c}|{a}//-{c}|torch.sym_max({a},{b})|torch.sym_min({a},{b})|torch.sym_max({a}-{b},0)|torch.sym_min({a},{c})|max({a},{c})
({a}+{c}-1)//{c}*{c}|{a}**2|int({a}/{c})|int({a}*0.5)|int({a}*1.5)|{a}<<1|{a}>>1|{a}//({a}//{c})|{a}*{b}//{a}|({a}*{b}+{a})//{b}|({a}+{b})//2-{a}|({a}*{c}-{b})%({b}+{c})
torch.sym_ite({a}>{b},{a},{c})|{a} if {a}>{c} else {b}|{a} if {a}%2==0 else {a}+1|(-{a}%{c}+{b})//{c}|{a}%{c}*{b}-{a}|-({a}%{c})%{c}*{b}|({a}-{b})*{c}//{b}"""

# {x} and {y} are tensors, {n} is a number of any sign, {p} one that is made positive, {i} an index of the first dimension.
TENSORS = """F.pad({x},(0,{n}%4))|F.pad({x},(0,(4-{n}%4)%4))|F.pad({x},(0,-{x}.shape[-1]%{c}))|F.pad({x},({n},{p}))|F.pad({x},(0,0,{p},0))|F.pad({x},({p},0),value=2.0)
{x}[:{p}]|{x}[{n}:]|{x}[...,:{n}]|{x}[-{p}:]|{x}[{p}:{n}]|{x}.narrow(0,{p}%{x}.shape[0],1)|{x}[{i}]|{x}[::{c}]|{x}[{p}%2::2]|{x}.select(0,{i})|{x}[...,{n}:{n}+{c}]
{x}.reshape(-1)|{x}.flatten()|{x}.reshape({p},-1)|{x}.reshape({x}.shape[-1],-1)|{x}.reshape(-1,{c})|{x}.reshape({x}.numel()//{c},{c})|{x}.unsqueeze(0)|{x}.unsqueeze(-1)|{x}.reshape(1,-1,{x}.shape[-1])
F.pad({x},(0,-{x}.shape[-1]%{c})).reshape({x}.shape[0],-1,{c})|F.pad({x},(0,(4-{x}.shape[-1]%4)%4)).unflatten(-1,(-1,4))|{x}.unflatten(0,({p},-1))|{x}.transpose(0,-1)|{x}.transpose(0,-1).reshape(-1)
{x}.transpose(0,-1).contiguous()|{x}.transpose(0,-1).flatten(0,1)|torch.as_strided({x}.contiguous(),({x}.shape[0],),({x}.stride(0),))|{x}.contiguous().as_strided(({x}.shape[-1],{x}.shape[0]),(1,{x}.stride(0)))
torch.arange({p})|torch.arange({n},{n}+{p})|torch.arange({p},{n},-1)|torch.arange(0,{p}*{c},{c})|torch.arange({p}).float()*{n}|torch.zeros({p},{c})|torch.ones({p})|torch.full(({p},),{n})|torch.eye({p})|torch.full((2,),{n})
torch.arange({x}.shape[0])%{c}|{x}[torch.arange({p})%{x}.shape[0]]|{x}+torch.arange({x}.shape[-1])|{x}*{n}|{x}+{n}|{x}-{n}/{c}|{x}*({n}/{p})|{x}.new_full(({p},),{n})|torch.linspace(0,1,{c})*{n}
{x}.repeat({p}%3+1,*[1]*({x}.dim()-1))|{x}.expand({p},*{x}.shape)|{x}.unsqueeze(0).expand({p},*[-1]*{x}.dim())|{x}.tile({c})|{x}.repeat_interleave({c},0)|torch.cat([{x},{x}])|torch.cat([{x},{x}[:{p}]])|torch.stack([{x},{x}*2],-1)
torch.roll({x},{c},0)|torch.roll({x},{n},0)|{x}.flip(0)|{x}.unfold(0,{c},1)|{x}.unfold(-1,2,{c})|{x}.chunk(2)[0]|{x}.chunk(2,-1)[-1]|{x}.tril({n})|torch.triu(torch.ones({p},{p}),{n})|{x}.cumsum(0)
{x}.sum(0)|{x}.mean(-1)|{x}.sum()|{x}.amax(0,keepdim=True)|{x}.softmax(-1)|{x}.relu()|{x}.sort(0)[0]|{x}.diagonal(0,0,-1)|{x}.diff(dim=0)|{x}.movedim(0,-1)|torch.outer({x}.flatten(),torch.arange({p}))
{x}+{y}|{x}*{y}|torch.matmul({x},{x}.transpose(-1,-2))|torch.cat([{x},{y}])|torch.cat([{x},{y}],-1)|torch.where({x}>0,{x},{n})|{x}.masked_fill({x}>0,{n})|{x}.view({x}.shape)|{x}.view(-1,*{x}.shape[1:])|{x}.reshape({y}.shape)|{x}.expand_as({y})
torch.cond({n}>{c},lambda v:v+1,lambda v:v*2,({x},))|torch.cond({n}%2==0,lambda v:v.sin(),lambda v:-v,({x},))|torch.cond({x}.sum()>0,lambda v:v[:2],lambda v:-v[:2],({x},))|{x} if {n}%2==0 else -{x}|{x}.sin() if {n}>{c} else {x}
F.avg_pool1d({x}.reshape(1,1,-1),{c})|F.max_pool1d({x}.reshape(1,1,-1),2,{c},ceil_mode=True)|F.interpolate({x}.reshape(1,1,-1),size={p})|F.conv1d({x}.reshape(1,1,-1),torch.ones(1,1,{c}),stride=2,padding=1)|F.interpolate({x}.reshape(1,1,-1),scale_factor=2)
torch.zeros({p}).index_add(0,torch.arange({p}),torch.ones({p}))|{x}.index_select(0,torch.arange({i}+1))|{x}.split({c})[0]|{x}.split([{i},{x}.shape[0]-{i}])[1]|{x}.slice_scatter({x}[:1]*2,0,{i},{i}+1)|torch.nn.functional.one_hot(torch.arange({p}),{p})"""


def words(text):
    return [word for line in text.split("\n") for word in line.split("|")]


NUMBERS, TENSORS = words(NUMBERS), words(TENSORS)


class Program:
    """Lines of source that eager runs at the example's sizes and at others; `environments` has what they made at each."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.has_data_number = self.random.random() < 0.2
        self.lines = []
        self.numbers = ["n", "m", "k"]
        self.tensors = ["x", "y"]
        if self.has_data_number:
            self.lines += ["u=t.item()", "torch._check(u>=-6)", "torch._check(u<=9)"]
            self.numbers.append("u")
        cases = [(self.random.randint(3, 9), self.random.randint(3, 9), self.random.randint(2, 6))]
        cases += [tuple(self.random.choice([1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 16, LARGEST]) for _ in range(3)) for _ in range(15)]
        self.environments = [self.begin(case) for case in cases]

    def begin(self, sizes):
        n, m, k = sizes
        values = torch.arange(n * m + m * k, dtype=torch.float32) % 23 / 4 - 2
        inputs = [values[: n * m].reshape(n, m), values[n * m :].reshape(m, k)]
        if self.has_data_number:
            inputs.append(torch.tensor(self.random.randint(-6, 9)))
        names = dict(zip("xyt", inputs)) | {"n": n, "m": m, "k": k, "inputs": tuple(inputs)}
        if self.has_data_number:
            names["u"] = inputs[2].item()
        return names

    def source(self):
        results = [name for name in self.tensors[2:] + self.numbers if any(line.startswith(f"{name}=") for line in self.lines)]
        results = results[-6:] or ["x+1"]
        arguments = "x,y,t" if self.has_data_number else "x,y"
        lines = [f"def forward({arguments}):", "n,m=x.shape", "k=y.shape[1]", *self.lines, f"return {','.join(results)},"]
        return "\n    ".join(lines)

    def try_line(self, name, line) -> bool:
        alive = []
        for number, environment in enumerate(self.environments):
            try:
                made = eval(line, NAMES, environment)
            except Exception:
                made = None
            is_fine = abs(made) < 1 << 40 if isinstance(made, int) else isinstance(made, torch.Tensor) and made.numel() <= 1 << 14
            if is_fine and not isinstance(made, bool):
                alive.append(environment | {name: made})
            elif number == 0:
                return False
        if len(alive) < CASES:
            return False
        if isinstance(alive[0][name], torch.Tensor) and any(e[name].dim() != alive[0][name].dim() for e in alive):
            return False
        self.environments = alive
        self.lines.append(f"{name}={line}")
        return True

    def operand(self, names):
        return self.random.choice(names if self.random.random() < 0.3 else names[-4:])

    def fill(self, template):
        pick = self.random
        x = self.operand(self.tensors)
        positive = pick.choice(["{n}%5+1", "torch.sym_max({n},1)", "{n}%{c}+1", "{m}"])
        for mark, text in [
            ("{p}", f"({positive})"),
            ("{i}", f"({{n}}%{x}.shape[0])"),
            ("{x}", x),
            ("{y}", self.operand(self.tensors)),
            ("{c}", str(pick.choice([2, 2, 3, 4, 5, 8]))),
            ("{m}", pick.choice("nmk")),
        ]:
            template = template.replace(mark, text)
        for mark in ("{n}", "{a}", "{b}"):
            template = template.replace(mark, self.operand(self.numbers))
        return template

    def grow(self):
        wanted, tries = self.random.randint(3, 9), 0
        while wanted and tries < 120:
            tries += 1
            is_number = self.random.random() < 0.5
            name = f"s{len(self.numbers)}" if is_number else f"v{len(self.tensors)}"
            if self.try_line(name, self.fill(self.random.choice(NUMBERS if is_number else TENSORS))):
                (self.numbers if is_number else self.tensors).append(name)
                wanted -= 1


def model_of(source):
    names = dict(NAMES)
    exec(source, names)

    class Model(torch.nn.Module):
        def forward(self, *inputs):
            return names["forward"](*inputs)

    return Model().eval()


def is_in_ranges(exported, inputs) -> bool:
    """Whether the sizes are those that the program was exported for; torch's guards may let others pass, as 1 for [2, 17]."""
    symbolic = [node.meta["val"] for node in exported.graph.nodes if node.op == "placeholder"]
    for value, given in zip(symbolic, inputs):
        for size, number in zip(value.shape, given.shape):
            expression = size.node.expr if isinstance(size, torch.SymInt) else size
            if str(expression).isdigit() and int(expression) != number:
                return False
            known = exported.range_constraints.get(expression)
            if known is not None and not known.lower <= number <= known.upper:
                return False
    return True


def export(program):
    """(exported program, cases), the cases (inputs, results) at sizes for which torch's guards hold."""
    size = torch.export.Dim.AUTO(min=1, max=LARGEST)
    inputs = [environment["inputs"] for environment in program.environments]
    shapes = ({0: size, 1: size}, {0: size, 1: size}, None)[: len(inputs[0])]
    model = model_of(program.source())
    with torch.no_grad(), contextlib.redirect_stderr(io.StringIO()):
        exported = torch.export.export(model, inputs[0], dynamic_shapes=(shapes,), strict=False)
        module = exported.module()
        cases = []
        for given in filter(lambda given: is_in_ranges(exported, given), inputs):
            try:
                results = module(*given)
            except Exception:
                continue
            eager = model(*given)
            if all(type(a) is type(b) and difference(a, b, 1e-5) == "" for a, b in zip(results, eager)):
                cases.append((given, results))
    return exported, cases[:CASES]


def judge_of(want):
    def judge(got):
        messages = [f"output {place}: {message}" for place, (a, b) in enumerate(zip(got, want)) if (message := difference(a, b, 1e-4))]
        return messages[0] if messages else "" if len(got) == len(want) else f"{len(got)} outputs instead of {len(want)}"

    return judge


def check(work):
    seed, options = work
    program = Program(seed)
    program.grow()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        pt2, pte = Path(folder) / "m.pt2", Path(folder) / "m.pte"
        try:
            exported, cases = export(program)
            torch.export.save(exported, pt2)
        except Exception as error:
            return seed, "none", f"{type(error).__name__}: {error}"[:160], program.source()
        if not cases:
            return seed, "none", "torch's guards leave no sizes", program.source()
        calls = [([t.contiguous() for t in inputs], judge_of(want)) for inputs, want in cases]
        outcome, message = lower(options.depute, pt2, pte, options.backend) or run_apart(pte, calls)
        if outcome == "ok" and len(cases) < CASES:
            outcome = "ok at fewer sizes"  # torch's guards leave no five
        return seed, outcome, message, program.source()


FINE = ("ok", "ok at fewer sizes", "none", "refused")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--depute", default=str(ROOT / os.environ.get("DEPUTE_BIN", "build/release/depute")))
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="this one alone")
    parser.add_argument("--backend", default="portable")
    parser.add_argument("--refused", action="store_true", help="print what is refused, too")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    seeds = [options.seed] if options.seed is not None else range(options.first, options.first + options.count)
    shown = {"refused": options.refused, "none": options.seed is not None}
    totals = Counter()
    with multiprocessing.Pool(options.jobs) as pool:
        for seed, outcome, message, source in pool.imap(check, [(s, options) for s in seeds], chunksize=2):
            totals[outcome] += 1
            if outcome not in FINE or shown.get(outcome) or options.seed is not None:
                print(f"{outcome} {seed}: {message}\n{source}", flush=True)
    print(" ".join(f"{outcome} {count}" for outcome, count in totals.most_common()))
    return 0 if set(totals) <= set(FINE) else 1


if __name__ == "__main__":
    sys.exit(main())
