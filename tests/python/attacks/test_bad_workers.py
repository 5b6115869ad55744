"""Workers that misbehave: each ends in an error with a code, in bounded time, and leaves nothing behind."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness import DEPUTE, ROOT

WORKER = ROOT / "tests" / "python" / "attacks" / "bad_worker.py"
MODEL = """program
method forward(%x: f32[2], %y: f32[2]) {
  %a: f32[2] = aten.relu.default(%x) #1
  %t: f32[2] = aten.tan.default(%a) #2
  %b: f32[2] = aten.relu.default(%t) #3
  return %b
}
"""
SECONDS = 2  # --worker-time

# What it does, and what must be said of it.
BAD = {
    "crash-at-describe": ["worker.crashed", "signal 11", "about to fall"],
    "crash-at-options": ["worker.crashed"],
    "crash-at-partition": ["worker.crashed", "about to fall", "depute replay"],
    "crash-at-preprocess": ["worker.crashed", "tag bad-crash-at-preprocess0", "backend BadBackend", "about to fall"],
    "leave-at-describe": ["worker.ended", "code 3", "that was all"],
    "leave-at-partition": ["worker.ended", "code 3"],
    "leave-at-preprocess": ["worker.ended", "code 3"],
    "hang-at-describe": ["worker.timed-out", f"did not answer within {SECONDS} s"],
    "hang-at-options": ["worker.timed-out"],
    "hang-at-partition": ["worker.timed-out", "--worker-time"],
    "hang-at-preprocess": ["worker.timed-out"],
    "stubborn-at-preprocess": ["worker.timed-out"],
    "garbage-at-describe": ["worker.bad-answer", "not a JSON object"],
    "garbage-at-partition": ["worker.bad-answer"],
    "garbage-at-preprocess": ["worker.bad-answer"],
    "half-at-preprocess": ["worker.timed-out"],
    "deaf-at-preprocess": ["worker.ended", "closed its standard output"],
    "killed-at-partition": ["worker.crashed", "signal 9"],
    "deep-at-partition": ["worker.too-large", "more than 64 levels"],
    "stream-at-describe": ["worker.too-large", "64 MiB"],
    "stream-at-preprocess": ["worker.too-large", "64 MiB"],
    "flood-at-partition": ["worker.ended", "code 5", "end of the flood"],
    "flood-for-ever-at-partition": ["worker.timed-out"],
    "orphan-at-preprocess": ["worker.ended", "code 4"],
    "session-at-preprocess": ["worker.timed-out"],
    "daemon-at-preprocess": ["worker.ended", "code 4"],
    "renamed-at-preprocess": ["worker.ended", "code 8"],
    "deeper-at-partition": ["worker.too-large", "more than 64 levels"],
    "fill-at-preprocess": ["worker."],
    "fill-many-at-preprocess": ["worker.too-large", "into its folder"],
    "sparse-at-preprocess": ["worker."],
    "locked-at-preprocess": ["worker.ended", "code 6"],
    "describe-version": ["worker.version", "protocol 99"],
    "describe-no-id": ["worker.bad-answer", "'id'"],
    "describe-empty-id": ["worker.bad-answer"],
    "describe-list": ["worker.bad-answer"],
    "describe-numbers": ["worker.bad-answer"],
    "describe-error": ["worker.refused", "no license today"],
    "options-numbers": ["worker.bad-answer"],
    "partition-nothing": ["worker.bad-answer", "'tags'"],
    "partition-no-such-node": ["worker.bad-answer", "no node 99"],
    "partition-negative": ["worker.bad-answer", "no node -1"],
    "partition-twice": ["worker.bad-answer", "there are two for the node"],
    "partition-run-outside": ["worker.bad-answer", "no node 99"],
    "partition-run-backwards": ["worker.bad-answer", "cannot have [2,0]"],
    "partition-runs-again": ["worker.bad-answer", "cannot have [0,2]"],
    "partition-no-such-word": ["worker.bad-answer", "'perhaps'"],
    "partition-no-such-constant": ["worker.bad-answer", "no input"],
    "partition-unasked": ["worker.bad-answer", "an unexpected answer"],
    "preprocess-handles-backwards": ["worker.bad-answer", "[3,1] is not a range of debug handles"],
    "preprocess-handles-long": ["worker.bad-answer", "ranges stand for 39"],
    "preprocess-handles-again": ["worker.bad-answer", "ranges stand for 89"],
    "preprocess-nothing": ["worker.bad-answer", "'result'"],
    "preprocess-no-payload": ["worker.bad-answer", "'payload'"],
    "preprocess-no-file": ["worker.bad-answer", "nowhere"],
    "preprocess-path": ["worker.bad-answer", "not the name of a file"],
    "preprocess-absolute": ["worker.bad-answer", "not the name of a file"],
    "preprocess-folder": ["worker.bad-answer"],
    "preprocess-hex": ["worker.bad-answer", "hex"],
    "preprocess-numbers": ["worker.bad-answer"],
    "preprocess-handles": ["to_backend.bad-debug-handles", "77"],
    "preprocess-handles-run": ["to_backend.bad-debug-handles", "70"],
    "preprocess-long-run": ["worker.bad-answer", "ranges stand for 39"],
    "preprocess-long-runs": ["worker.bad-answer", "ranges stand for 89"],
    "preprocess-most-ids": ["to_backend.bad-debug-handles", "which no node has"],
    "preprocess-run-of-a-million": ["worker.bad-answer", "ranges stand for 99", "more numbers than a map of this partition may have"],
    "preprocess-run-backwards": ["worker.bad-answer", "is not a range of ids"],
    "preprocess-run-of-two": ["worker.bad-answer"],
    "preprocess-padding": ["to_backend.bad-arena-padding"],
    "preprocess-constant": ["worker.bad-answer", "constant that is not there"],
    "preprocess-link": ["worker.bad-answer", "link"],
    "preprocess-hard-link": ["worker.bad-answer", "not a regular file in that folder"],
    "preprocess-pipe": ["worker.bad-answer", "not a regular file in that folder"],
    "preprocess-moved-folder": ["worker.bad-answer", "passwd"],
    "preprocess-short-file": ["worker.bad-answer", "it has 5 bytes"],
    "preprocess-aligned": ["to_backend.bad-named-data", "the alignment 1099511627776"],
    "together-too-few": ["worker.timed-out"],
}

# Answers of 63 MiB that are rejected before they are parsed.
WIDE = {
    "partition-wide-numbers": "more than 1048576 lists, objects and elements",
    "partition-wide-lists": "more than 1048576 lists",
    "partition-wide-objects": "more than 131072 objects",
    "partition-wide-keys": "more than 1048576 lists",
    "partition-wide-strings": "more than 1048576 lists",
    "partition-wide-rows": "more than 131072 objects",
    "partition-long-string": "more than 1048576 bytes in one string",
    "partition-long-key": "bytes in one string",
}
# The largest answers that are accepted: reading them takes 3 times their size in MiB, and less than 100 MiB.
LARGEST = {
    "partition-most-numbers": 2,
    "partition-most-rows": 3,
    "partition-most-names": 6,
    "partition-most-strings": 63,
    "preprocess-most-blobs": 126,  # for two partitions
}


@pytest.fixture
def place(tmp_path):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "m.ir").write_text(MODEL)
    return tmp_path


def bad(place, mode):
    """The worker under the name of what it is to do wrong."""
    program = place / f"bad-{mode}"
    program.symlink_to(WORKER)
    return program


def command(place, program, *more):
    words = [DEPUTE, "lower", place / "m.ir", "--backend", f"exec:{program}", "-o", place / "m.pte", *more]
    return {"args": [str(word) for word in words], "env": {**os.environ, "TMPDIR": str(place / "tmp")}}


def running(program):
    """The processes whose command line names the program, or that have its folder as working directory. One without a
    command line has lost its memory: it is being ended."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            folder = os.readlink(process / "cwd")
        except OSError:
            continue
        if words == [b""] or words[:2] == [b"/bin/sh", b"-c"]:  # the latter ends the others
            continue
        if str(program).encode() in words or folder.startswith(str(program.parent / "tmp")):
            found.append(words)
    return found


def left(place):
    return sorted(str(path.relative_to(place)) for path in place.iterdir() if path.name not in ("m.ir", "tmp"))


@pytest.mark.parametrize("mode", BAD)
def test_a_bad_worker_is_an_error_in_bounded_time(place, mode):
    program = bad(place, mode)
    # Only who waits for the end of the time needs a short one; a busy machine is slow.
    seconds = SECONDS if "worker.timed-out" in BAD[mode] else 30
    start = time.monotonic()
    free = ["--no-sandbox"] if mode in ("renamed-at-preprocess", "preprocess-moved-folder") else []
    call = command(place, program, "--worker-time", seconds, "--worker-space", 16, *free)
    done = subprocess.run(**call, capture_output=True, text=True, timeout=300)
    assert time.monotonic() - start < 40
    assert done.returncode == 1, done.stderr
    for words in BAD[mode]:
        assert words in done.stderr, done.stderr
    assert "bad_worker.py" in done.stderr or program.name in done.stderr
    assert len(done.stderr) < 10_000
    kept = re.findall(r"depute replay (\S+)", done.stderr)
    assert left(place) == [program.name]
    assert [str(path) for path in (place / "tmp").iterdir()] == kept
    assert running(program) == []
    for folder in kept:
        assert sorted(os.listdir(folder)) == ["in", "replay.json"]


ALLOWED = "own file, own folder, null, read, local socket"


@pytest.mark.parametrize("option, could", [((), ALLOWED), (("--no-sandbox",), f"{ALLOWED}, write, write by a child, truncate, rename, remove, ")], ids=["sandbox", "free"])
def test_a_worker_has_no_network_and_writes_in_its_folder_alone(place, option, could):
    outside = place / "outside"
    outside.mkdir()
    (outside / "theirs").write_text("kept")
    call = command(place, bad(place, "preprocess-rights"), *option)
    call["env"]["LD_LIBRARY_PATH"] = str(outside)
    done = subprocess.run(**call, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert re.search(rf"could: {could}(\\n|\n|$)" if not option else f"could: {could}", done.stderr), done.stderr
    if not option:
        assert [path.name for path in outside.iterdir()] == ["theirs"] and (outside / "theirs").read_text() == "kept"
    else:
        assert "tcp, tcp6, udp, netlink" in done.stderr


def peak_mib(place, mode):
    """Lowers with this worker; returns the exit code, standard error and the compiler's peak memory."""
    call = command(place, bad(place, mode), "--worker-time", 60)
    errors = place / "errors"
    peak = 0
    with errors.open("wb") as file, subprocess.Popen(**call, stdout=subprocess.DEVNULL, stderr=file) as process:
        while process.poll() is None:
            found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())
            peak = int(found[1]) / 1024 if found else peak
            time.sleep(0.003)
    return process.returncode, errors.read_text(), peak


@pytest.mark.parametrize("mode", WIDE)
def test_a_wide_answer_takes_little_memory(place, mode):
    code, errors, peak = peak_mib(place, mode)
    assert code == 1 and "worker.too-large" in errors and WIDE[mode] in errors, errors
    assert peak < 3 * 63 + 100


@pytest.mark.parametrize("mode", LARGEST)
def test_the_largest_answers_take_little_memory(place, mode):
    code, errors, peak = peak_mib(place, mode)
    assert code in (0, 1) and "worker.too-large" not in errors, errors
    assert len(errors) < 10_000
    assert peak < 3 * LARGEST[mode] + 100


def test_a_file_that_shrinks_is_no_crash(place):
    # It hangs afterwards: where it is asked for the second partition, too, its time runs out.
    program = bad(place, "preprocess-shrunk")
    limited = command(place, program, "--worker-time", "10")
    done = subprocess.run(**limited, capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1), done.stderr
    assert done.returncode == 0 or "worker.bad-answer" in done.stderr or "worker.timed-out" in done.stderr
    assert running(program) == []


def replay(*words):
    return subprocess.run([DEPUTE, "replay", *words], capture_output=True, text=True, timeout=300)


def test_what_a_worker_failed_at_can_be_asked_again(place):
    program = bad(place, "crash-at-preprocess")
    done = subprocess.run(**command(place, program), capture_output=True, text=True, timeout=300)
    folder = re.findall(r"depute replay (\S+)", done.stderr)[0]
    assert json.loads(Path(folder, "replay.json").read_text())["request"]["call"] == "preprocess"
    again = replay(folder, "--backend", f"exec:{program}")
    assert again.returncode == 1 and "worker.crashed" in again.stderr
    mended = place / "mended"
    mended.write_text(WORKER.read_text().replace("Path(sys.argv[0])", "Path('bad-none')"))
    mended.chmod(0o755)
    program.unlink()
    program.symlink_to(mended)
    again = replay(folder, "--backend", f"exec:{program}")
    assert (again.returncode, json.loads(again.stdout)) == (0, {"result": {"payload": {"text": "relu"}}})


def test_a_worker_that_fails_when_its_support_matrix_is_asked_for(place):
    program = place / "depute-backend-moody"
    program.write_text(
        f"""#!{sys.executable}
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    if request.get("support"):
        print("no matrix today", file=sys.stderr, flush=True)
        os.abort()
    print(json.dumps({{"protocol": 3, "id": "Moody"}} if request["call"] == "describe" else {{}}), flush=True)
"""
    )
    program.chmod(0o755)
    done = subprocess.run([DEPUTE, "backends", f"exec:{program}"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and done.stderr.startswith("error[worker.crashed]"), done.stderr
    assert "no matrix today" in done.stderr and "bug" not in done.stderr


def test_a_folder_that_is_no_replay(place):
    for text in (None, "", "[]", '{"program": 1, "request": {}}'):
        if text is not None:
            (place / "tmp" / "replay.json").write_text(text)
        done = replay(place / "tmp")
        assert done.returncode == 1 and done.stderr.startswith("error["), done.stderr


def sent_folder(place, program_place):
    """A folder to replay as somebody else may write it, and a program that leaves a file if it is run."""
    folder = place / "sent"
    (folder / "in").mkdir(parents=True)
    program = folder / "spy"
    program.write_text(f"#!/bin/sh\ntouch {place / 'ran'}\n")
    program.chmod(0o755)
    request = {"call": "partition", "program": program_place, "method": "forward"}
    (folder / "replay.json").write_text(json.dumps({"program": str(program), "request": request}))
    return folder, program


def test_a_folder_runs_nothing_by_itself(place):
    folder, program = sent_folder(place, {"text": MODEL})
    done = replay(folder)
    assert done.returncode == 1 and not (place / "ran").exists(), done.stderr
    assert str(program) in done.stderr and "--backend exec:PATH" in done.stderr
    done = replay(folder, "--backend", f"exec:{program}", "--no-sandbox")
    assert done.returncode == 1 and (place / "ran").exists(), done.stderr
    done = replay(folder, "--backend", "no-such-backend")
    assert done.returncode == 2 and "depute-backend-no-such-backend" in done.stderr, done.stderr


@pytest.mark.parametrize("name", ["/etc/passwd", "../m.ir", "in/../../m.ir", "in/link.ir", "linked/m.ir"])
def test_a_folder_names_no_file_outside(place, name):
    folder, program = sent_folder(place, {"file": name})
    if "link.ir" in name:
        (folder / name).symlink_to(place / "m.ir")
    if "linked" in name:
        (folder / "linked").symlink_to(place)
    done = replay(folder, "--backend", f"exec:{program}")
    assert done.returncode == 1 and done.stderr.startswith("error[replay]"), done.stderr
    assert not (place / "ran").exists()


def test_a_request_reads_no_weights_outside_but_those_of_the_model(place):
    (place / "weights").write_bytes(b"12345678" * 100)
    head, rest = MODEL.split("(%x: f32[2], ")
    model = f'program\ndata "w": f32[2] = file("{place}/weights", 0, 8)\n{head[8:]}(%x: f32[2] = param "w", {rest}'
    folder, program = sent_folder(place, {"text": model})
    done = replay(folder, "--backend", f"exec:{program}")
    assert done.returncode == 1 and "outside the folder" in done.stderr and "--model" in done.stderr, done.stderr
    assert not (place / "ran").exists()
    done = replay(folder, "--backend", f"exec:{program}", "--model", place / "weights", "--no-sandbox")
    assert (place / "ran").exists(), done.stderr


def test_a_request_that_is_a_link(place):
    folder, program = sent_folder(place, {"text": MODEL})
    (folder / "replay.json").rename(place / "replay.json")
    (folder / "replay.json").symlink_to(place / "replay.json")
    done = replay(folder, "--backend", f"exec:{program}")
    assert done.returncode == 1 and "links" in done.stderr and not (place / "ran").exists(), done.stderr


def test_a_folder_can_be_moved(place):
    tans = "".join(f"  %t{i + 1}: f32[2] = aten.tan.default(%t{i}) #{i}\n" for i in range(400))
    (place / "m.ir").write_text(f"program\nmethod forward(%t0: f32[2]) {{\n{tans}  return %t400\n}}\n")
    program = bad(place, "leave-at-partition")
    done = subprocess.run(**command(place, program), capture_output=True, text=True, timeout=300)
    folder = Path(re.findall(r"depute replay (\S+)", done.stderr)[0])
    kept = json.loads((folder / "replay.json").read_text())["request"]["program"]
    assert kept == {"file": "in/1.ir"}
    folder.rename(place / "moved")
    reader = place / "reader"
    reader.write_text(WORKER.read_text().replace("Path(sys.argv[0])", "Path('bad-none')").replace(
        'request["program"]["text"]', 'Path(request["program"]["file"]).read_text()'))
    reader.chmod(0o755)
    again = replay(place / "moved", "--backend", f"exec:{reader}")
    assert again.returncode == 0 and "answers" in json.loads(again.stdout), again.stderr


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_workers_and_leaves_no_file(place, sent):
    # Each is asked by a thread of its own, which sees its worker end while the signal is dealt with.
    workers = 8
    relus = "".join(
        f"  %a{i}: f32[2] = aten.relu.default(%{'t%d' % (i - 1) if i else 'x'}) #{2 * i}\n"
        f"  %t{i}: f32[2] = aten.tan.default(%a{i}) #{2 * i + 1}\n"
        for i in range(workers)
    )
    text = f"program\nmethod forward(%x: f32[2]) {{\n{relus}  return %t{workers - 1}\n}}\n"
    (place / "m.ir").write_text(text)
    program = bad(place, "stubborn-at-preprocess")
    heed = lambda: signal.signal(sent, signal.SIG_DFL)  # noqa: E731  (what starts the tests may ignore it)
    with subprocess.Popen(**command(place, program, "--jobs", workers), stderr=subprocess.PIPE, preexec_fn=heed) as process:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if len(list((place / "tmp").rglob("stubborn"))) == workers:
                break
            time.sleep(0.05)
        asked = len(running(program))
        process.send_signal(sent)
        try:
            assert process.wait(timeout=30) == -sent
        finally:
            process.kill()  # or the end of this block would wait for it
        assert asked == workers
    deadline = time.monotonic() + 10  # one that was killed takes a moment to go, on a busy machine
    while time.monotonic() < deadline and running(program):
        time.sleep(0.05)
    assert running(program) == []
    assert left(place) == [program.name]
    assert list((place / "tmp").iterdir()) == []


@pytest.mark.parametrize(("mode", "processes"), [("stubborn", 2), ("session", 4)])
def test_who_kills_the_compiler_leaves_no_worker_and_no_folder(place, mode, processes):
    program = bad(place, f"{mode}-at-preprocess")
    process = subprocess.Popen(**command(place, program, "--jobs", 2), stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and len(list((place / "tmp").rglob("stubborn"))) < 2:
        time.sleep(0.05)
    asked = len(running(program))
    process.kill()
    process.communicate(timeout=30)  # nothing holds its standard error open
    assert asked == processes
    while time.monotonic() < deadline and (running(program) or list((place / "tmp").iterdir())):
        time.sleep(0.05)
    assert running(program) == []
    assert list((place / "tmp").iterdir()) == []


def test_a_worker_gets_no_more_than_it_needs(place):
    program = place / "nosy"
    told = place / "told"
    program.write_text(
        f"#!{Path(sys.executable).resolve()}\nimport json, os, sys\n"
        f"told = open({str(told)!r}, 'w')\n"
        "fds = sorted(int(fd) for fd in os.listdir('/proc/self/fd'))\n"
        "json.dump({'env': dict(os.environ), 'cwd': os.getcwd(), 'fds': fds, 'group': os.getpgrp() == os.getpid()}, told)\n"
        "told.close()\nsys.exit(7)\n"
    )
    program.chmod(0o755)
    call = command(place, program, "--no-sandbox")
    call["env"]["SECRET"] = "1"
    done = subprocess.run(**call, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    seen = json.loads(told.read_text())
    assert set(seen["env"]) - {"LC_CTYPE"} <= {"PATH", "LD_LIBRARY_PATH", "LANG", "HOME", "TMPDIR"}
    assert seen["cwd"] == seen["env"]["HOME"] == seen["env"]["TMPDIR"]
    assert seen["cwd"].startswith(str(place / "tmp"))
    assert seen["group"]
    # Its standard streams, the file that is being written, and the listing itself.
    assert len(seen["fds"]) <= 5
