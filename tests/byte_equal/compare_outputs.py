"""Shows that a change of the compiler changes no output: hashes of everything that a `depute` program makes, saved and compared.

    .venv/bin/python tests/byte_equal/compare_outputs.py --depute OLD --save before.json
    .venv/bin/python tests/byte_equal/compare_outputs.py --depute NEW --compare before.json
    python3 tests/byte_equal/compare_outputs.py --depute build/x86_64-windows-gnu/depute.exe --runner wine64 --against build/release/depute --only tests/

The inputs are all models of the tests (build/models, tests/models/samples), all programs of the text tests, and programs of one
operator each, made at random from the op table's schemas (tests/one_op), with sizes that are fixed and that vary. Each is lowered
without a backend and for XNNPACK. Hashed are the .pte file, the program as text before memory is planned, the report, and what is
printed, errors included. The list of operators is kept in the saved file, so that new ones change nothing.

--against hashes the outputs of another program at once, in place of saved ones. --runner names what runs a program of another platform.

Exit code 1 and a list of the inputs that differ, if any do. --keep writes both outputs of these to a folder.
"""

import argparse
import hashlib
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "build" / "one_op_programs"
TIMES = re.compile(rb"^Time: .*$|^ *\"(read|normalize|lower|plan|write)\": [0-9.e+-]+,?$|\d+(\.\d+)? m?s\\b", re.MULTILINE)
BACKENDS = ((), ("--backend", "xnnpack"))
SECONDS = 20


def variable_sizes(text):
    """The program with its first size above 1 as a symbol, wherever a type has that size."""
    sizes = [int(n) for n in re.findall(r"\[(\d+)[,\]]", text.partition("method")[2].partition("{")[0])]
    chosen = next((n for n in sizes if n > 1), None)
    if chosen is None or "constant" in text:
        return None
    replace = lambda found: re.sub(rf"\b{chosen}\b", "s0", found.group(0))  # noqa: E731
    varied = re.sub(r": \w+\[[\d, ]*\](?!\{)", replace, text)
    return varied.replace("program\n", f"program\ndim s0 in [2, {max(64, 2 * chosen)}]\n", 1)


def write_programs(names, count):
    """Writes `count` random programs of each operator, and their variants with a size that varies."""
    sys.path[:0] = [str(ROOT / "tests" / "one_op"), str(ROOT / "tests" / "models")]
    warnings.filterwarnings("ignore")
    import executorch.exir.dialects._ops  # noqa: F401  (registers the operators of dim_order_ops)
    import torch.ao.quantization.fx._decomposed  # noqa: F401  (registers quantized_decomposed)
    from calls import LEFT_OUT, Program, make_call, seed_of, torch_op, type_text

    import torch

    torch.set_num_threads(1)
    PROGRAMS.mkdir(parents=True, exist_ok=True)

    def write(name, op):
        for number in range(count):
            path = PROGRAMS / f"{name}.{number}.ir"
            seed = seed_of(42, name, number)
            arguments, results = make_call(op, seed)
            program = Program(op, name, arguments, seed)
            types = [type_text(r) for r in results] if results is not None else ["f32[2, 3]"] * len(op._schema.returns)
            text = program.text(types)
            path.write_text(text)
            varied = variable_sizes(text)
            if varied is not None:
                (PROGRAMS / f"{name}.{number}.varied.ir").write_text(varied)

    for name in names:
        op = None if LEFT_OUT.match(name) else torch_op(name)
        if op is None or not op._schema.returns or not all("Tensor" in str(r.type) for r in op._schema.returns):
            continue
        child = os.fork()  # torch may crash at what it should refuse
        if child == 0:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.alarm(SECONDS)
            write(name, op)
            os._exit(0)
        os.waitpid(child, 0)


def inputs(options):
    models = [p for folder in ("build/models", "build/models/architectures", "tests/models/samples") for p in (ROOT / folder).glob("*.pt2")]
    texts = [p for p in (ROOT / "tests" / "text").rglob("*.ir")]
    return sorted(models)[:: options.every] + sorted(texts) + sorted(PROGRAMS.glob("*.ir"))


def hash_of(*parts):
    state = hashlib.sha256()
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()[:20]


def outputs(depute, path, backend, folder):
    """What one call of `depute lower` makes, by name."""
    pte, report = Path(folder, "out.pte"), Path(folder, "report.json")
    command = [*depute, "lower", str(path), *backend, "--jobs", "1", "-o", str(pte), "--report", str(report)]
    is_small = path.stat().st_size < 1 << 20
    if is_small:
        command += ["--dump-after", "lower"]
    seconds = SECONDS * 10 if len(depute) > 1 else SECONDS  # an emulator takes its time
    done = subprocess.run(command, capture_output=True, cwd=folder, timeout=seconds, env={**os.environ, "LC_ALL": "C"})
    made = {"code": str(done.returncode).encode(), "printed": TIMES.sub(b"", done.stdout + done.stderr).replace(folder.encode(), b"")}
    for file in sorted(Path(folder).iterdir()):
        data = file.read_bytes()
        made[file.name] = TIMES.sub(b"", data).replace(folder.encode(), b"") if file == report else data
        file.unlink()
    return made


def all_outputs(depute, path):
    with tempfile.TemporaryDirectory() as folder:
        return [outputs(depute, path, backend, folder) for backend in BACKENDS]


def keep(folder, name, depute, path):
    for backend, made in zip(("portable", "xnnpack"), all_outputs(depute, path)):
        for file, data in made.items():
            target = Path(folder, f"{path.stem}.{backend}.{file}.{name}")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)


def op_names(depute_text):
    done = subprocess.run([depute_text, "ops"], input="program\n", capture_output=True, text=True, check=True)
    return [line.partition("(")[0] for line in done.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depute", default=str(ROOT / "build/release/depute"))
    parser.add_argument("--depute-text", default=str(ROOT / "build/release/tests/text/tool/depute-text"), help="lists the operators, with --save")
    parser.add_argument("--save", metavar="FILE")
    parser.add_argument("--compare", metavar="FILE")
    parser.add_argument("--against", metavar="DEPUTE", help="compare with what this program makes now")
    parser.add_argument("--runner", default="", metavar="WORDS", help="what runs a program of another platform")
    parser.add_argument("--programs", type=int, default=6, help="random programs of each operator")
    parser.add_argument("--every", type=int, default=1, help="take one model in so many")
    parser.add_argument("--only", default="", help="inputs whose path contains this")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", metavar="FOLDER", help="write what differs, made by --old and --depute")
    parser.add_argument("--old", help="the program that made the saved hashes, for --keep")
    options = parser.parse_args()
    saved = json.loads(Path(options.compare).read_text()) if options.compare else None
    names = saved["ops"] if saved else [] if options.against else op_names(options.depute_text)
    if names and not PROGRAMS.exists():
        write_programs(names, saved["programs"] if saved else options.programs)
    paths = [p for p in inputs(options) if options.only in str(p.relative_to(ROOT))]

    def all_hashes(depute):
        def hashes(path):
            return str(path.relative_to(ROOT)), [{name: hash_of(data) for name, data in made.items()} for made in all_outputs(depute, path)]

        with ThreadPoolExecutor(options.jobs) as pool:
            return dict(pool.map(hashes, paths))

    copy = shutil.copy(options.depute, tempfile.mkdtemp())  # a build may replace the program meanwhile
    depute = [*shlex.split(options.runner), copy]
    found = all_hashes(depute)
    if options.against:
        saved = {"hashes": all_hashes([str(Path(options.against).resolve())])}
        options.old = options.old or options.against
    if options.save:
        Path(options.save).write_text(json.dumps({"ops": names, "programs": options.programs, "hashes": found}))
    differing = [name for name in found if saved and saved["hashes"].get(name, found[name]) != found[name]]
    for name in differing:
        parts = {part for old, new in zip(saved["hashes"][name], found[name]) for part in {*old, *new} if old.get(part) != new.get(part)}
        print(f"{name}: {', '.join(sorted(parts))}")
        if options.keep and options.old:
            keep(options.keep, "old", [str(Path(options.old).resolve())], ROOT / name)
            keep(options.keep, "new", depute, ROOT / name)
    print(f"{len(found)} inputs, {len(differing)} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
