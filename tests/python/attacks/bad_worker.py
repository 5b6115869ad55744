#!/usr/bin/env python3
"""A worker (docs/backend-protocol.md) that takes every relu and does one thing wrong: that of its program's name.

    bad-crash-at-partition    answers describe and options, and is gone at partition
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

MODE = Path(sys.argv[0]).name.removeprefix("bad-")
DESCRIPTION = {"protocol": 3, "id": "BadBackend", "options": [["fast", "yes"]]}
PAYLOAD = {"payload": {"text": "relu"}}


def say(answer):
    print(answer if isinstance(answer, str) else json.dumps(answer), flush=True)


def relus(request):
    lines = request["program"]["text"].split("method ", 1)[1].splitlines()
    return [i for i, line in enumerate(each for each in lines if " = " in each and "aten." in each) if "relu" in line]


def good(request):
    match request["call"]:
        case "describe":
            say({**DESCRIPTION, "together": MODE.startswith("together")})
        case "options":
            say({})
        case "partition":
            say({"answers": [{"answer": "take", "nodes": relus(request)}], "regions": {"merge_unconnected": False}})
        case "preprocess":
            for _ in request["partitions"]:
                say({"result": PAYLOAD})


# --- at any call: NAME-at-CALL


def crash():
    print("about to fall", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)


def leave():
    print("that was all", file=sys.stderr, flush=True)
    sys.exit(3)


def hang():
    time.sleep(1000)


def garbage():
    say("Segmentation fault? no, just a line")


def half():
    print('{"resu', end="", flush=True)
    hang()


def deaf():
    os.close(1)
    hang()


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


def deep():
    say("[" * 1_000_000)


def stream():
    while True:
        sys.stdout.write("x" * (1 << 20))


def flood():
    for _ in range(40):
        sys.stderr.write("y" * (1 << 20))
    print("\nend of the flood", file=sys.stderr, flush=True)
    sys.exit(5)


def flood_for_ever():
    while True:
        sys.stderr.write("y" * (1 << 20))


def orphan():
    subprocess.Popen(["sleep", "1000"])
    sys.exit(4)


def session():
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    stubborn()


def daemon():
    # A child of a child, in a session of its own, that lives on without the worker's environment.
    shell = "setsid env -i sleep 1000 & exit 0"
    subprocess.run(["sh", "-c", shell], start_new_session=True, check=True)
    sys.exit(4)


def deeper():
    say('{"answers": ' + "[" * 30_000_000 + "]" * 30_000_000 + "}")


def renamed():
    whole = Path.cwd().parent
    moved = whole.with_name(whole.name + "-moved")
    whole.rename(moved)
    whole.symlink_to(moved)
    sys.exit(8)


# Answers of 63 MiB, each with many or long parts of one kind.
def wide(part, start="[", end="]", unique=False):
    def answer():
        size = 63 << 20
        parts = (part % i for i in range(size // (len(part) + 6))) if unique else [part] * (size // (len(part) + 1))
        say('{"answers": [], "wide": ' + start + ",".join(parts) + end + "}")

    return answer


def stubborn():
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    Path("stubborn").touch()
    hang()


def fill():
    with open("much", "wb") as file:
        while True:
            file.write(b"z" * (1 << 20))


def fill_many():
    for i in range(10000):
        Path(f"part{i}").write_bytes(b"z" * (1 << 20))


def sparse():
    with open("sparse", "wb") as file:
        file.truncate(10 << 30)
    say({"result": {"payload": {"file": "sparse", "at": 0, "size": 10 << 30}}})


def locked():
    Path("inner/most").mkdir(parents=True)
    Path("inner/most/file").write_text("")
    os.chmod("inner", 0)
    sys.exit(6)


# --- wrong answers: to the call that a name begins with


def payload(place):
    return lambda: say({"result": {"payload": place}})


def linked():
    os.symlink("/etc/passwd", "link")
    say({"result": {"payload": {"file": "link"}}})


def hard_linked():
    Path("one").write_text("1")
    os.link("one", "two")
    say({"result": {"payload": {"file": "two"}}})


def piped():
    os.mkfifo("pipe")
    say({"result": {"payload": {"file": "pipe"}}})


def moved_folder():
    here = Path.cwd()
    here.rename(here.with_name("elsewhere"))
    os.symlink("/etc", here)
    say({"result": {"payload": {"file": "passwd"}}})


def shrunk():
    Path("short").write_bytes(b"1" * 100_000)
    keep = open("short", "r+b")
    say({"result": {"payload": {"file": "short", "at": 0, "size": 100_000}}})
    keep.truncate(10)  # while it is being read, or before it is written
    hang()


def short_file():
    Path("short").write_bytes(b"12345")
    say({"result": {"payload": {"file": "short", "at": 3, "size": 10}}})


def tried_rights():
    """Says what the system let it do, as an error."""
    outside = Path(os.environ["LD_LIBRARY_PATH"].split(":")[0]) / "written-by-a-worker"  # the test's own folder

    def child():
        subprocess.run(["sh", "-c", f"echo 1 > '{outside}'"], check=True, capture_output=True)

    tries = {
        "own file": lambda: Path("mine").write_text("1"),
        "own folder": lambda: (Path("a").mkdir(), Path("a").rename("b"), Path("b").rmdir()),
        "null": lambda: Path("/dev/null").write_text("1"),
        "read": lambda: Path("/etc/passwd").read_bytes(),
        "local socket": lambda: socket.socket(socket.AF_UNIX).close(),
        "write": lambda: outside.write_text("1"),
        "write by a child": child,
        "truncate": lambda: os.truncate(outside.parent / "theirs", 0),
        "rename": lambda: Path("mine").rename(outside),
        "remove": lambda: (outside.parent / "theirs").unlink(),
        "link": lambda: os.link("mine", outside),
        "tcp": lambda: socket.socket(socket.AF_INET).close(),
        "tcp6": lambda: socket.socket(socket.AF_INET6).close(),
        "udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close(),
        "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close(),
    }
    done = []
    for name, attempt in tries.items():
        try:
            attempt()
            done.append(name)
        except (OSError, subprocess.CalledProcessError):
            pass
    say({"error": {"message": f"could: {', '.join(done)}"}})


ANSWERS = {
    "describe-version": lambda: say({**DESCRIPTION, "protocol": 99}),
    "describe-no-id": lambda: say({"protocol": 3}),
    "describe-empty-id": lambda: say({"protocol": 3, "id": ""}),
    "describe-list": lambda: say("[]"),
    "describe-numbers": lambda: say({"protocol": 3, "id": 7}),
    "describe-error": lambda: say({"error": {"message": "no license today"}}),
    "options-numbers": lambda: say({"keep": [1, 2]}),
    "partition-nothing": lambda: say({}),
    "partition-no-such-node": lambda: say({"answers": [{"answer": "take", "nodes": [99]}]}),
    "partition-negative": lambda: say({"answers": [{"answer": "take", "nodes": [-1]}]}),
    "partition-twice": lambda: say({"answers": [{"answer": "take", "nodes": [0, 0]}]}),
    "partition-run-outside": lambda: say({"answers": [{"answer": "take", "nodes": [[0, 99]]}]}),
    "partition-run-backwards": lambda: say({"answers": [{"answer": "take", "nodes": [[2, 0]]}]}),
    "partition-runs-again": lambda: say({"tags": [], "verdicts": [{"nodes": [[0, 2]] * 100_000}]}),
    "partition-no-such-word": lambda: say({"answers": [{"answer": "perhaps", "nodes": [0]}]}),
    "partition-no-such-constant": lambda: say({"tags": [{"tag": "t", "nodes": [0], "constants": ["w"]}]}),
    "partition-unasked": lambda: say('{"answers": [{"answer": "take", "nodes": [0]}]}\n{"more": 1}'),
    "preprocess-nothing": lambda: say({}),
    "preprocess-no-payload": lambda: say({"result": {}}),
    "preprocess-no-file": payload({"file": "nowhere"}),
    "preprocess-path": payload({"file": "../../../../../../etc/passwd"}),
    "preprocess-absolute": payload({"file": "/etc/passwd"}),
    "preprocess-folder": payload({"file": "."}),
    "preprocess-hex": payload({"hex": "zz"}),
    "preprocess-numbers": payload({"file": 3}),
    "preprocess-handles": lambda: say({"result": {**PAYLOAD, "map": [[0, [77]]]}}),
    "preprocess-handles-run": lambda: say({"result": {**PAYLOAD, "map": [[0, 3, 70]]}}),
    "preprocess-long-run": lambda: say({"result": {**PAYLOAD, "map": [[0, 4_000_000_000, 0]]}}),
    "preprocess-long-runs": lambda: say({"result": {**PAYLOAD, "map": [[0, 9_000_000, 1]] * 100_000}}),
    "preprocess-most-ids": lambda: say({"result": {**PAYLOAD, "map": [[0, 4_096, 1]]}}),
    "preprocess-run-of-a-million": lambda: say({"result": {**PAYLOAD, "map": [[0, 999_999, 1]]}}),
    "preprocess-run-backwards": lambda: say({"result": {**PAYLOAD, "map": [[3, 1, 1]]}}),
    "preprocess-run-of-two": lambda: say({"result": {**PAYLOAD, "map": [[0, 1]]}}),
    "preprocess-handles-backwards": lambda: say({"result": {**PAYLOAD, "map": [[0, [[3, 1]]]]}}),
    "preprocess-handles-long": lambda: say({"result": {**PAYLOAD, "map": [[0, [[1, 4_000_000_000]]]]}}),
    "preprocess-handles-again": lambda: say({"result": {**PAYLOAD, "map": [[0, [[1, 9_000_000]] * 100_000]]}}),
    "preprocess-padding": lambda: say({"result": {**PAYLOAD, "padding": 1 << 20}}),
    "preprocess-aligned": lambda: say({"result": {**PAYLOAD, "data": [{"key": "k", "blob": {"text": "a"}, "alignment": 1 << 40}]}}),
    "partition-wide-numbers": lambda: say('{"answers": [{"answer": "take", "nodes": [' + ",".join(["0"] * (63 << 19)) + "]}]}"),
    "partition-wide-lists": wide("[]"),
    "partition-wide-objects": wide('{"":0}'),
    "partition-wide-keys": wide('"%d":0', "{", "}", unique=True),
    "partition-wide-strings": wide('""'),
    "partition-wide-rows": lambda: say('{"tags": [], "verdicts": [' + ",".join(['{"nodes":[]}'] * (63 << 20 >> 4)) + "]}"),
    "partition-long-string": lambda: say({"tags": [], "no_copy": ["x" * (63 << 20)]}),
    "partition-long-key": lambda: say({"answers": [], "x" * (63 << 20): 0}),
    "partition-most-numbers": lambda: say('{"answers": [], "groups": [[' + ",".join(["0"] * 1_048_000) + "]]}"),
    "partition-most-rows": lambda: say('{"tags": [], "verdicts": [' + ",".join(['{"nodes":[]}'] * 131_000) + "]}"),
    "partition-most-names": lambda: say({"tags": [], "no_copy": ["x"] * 1_048_000}),
    "partition-most-strings": lambda: say({"tags": [], "no_copy": ["x" * 1_048_000] * 63}),
    "preprocess-most-blobs": lambda: say({"result": {**PAYLOAD, "data": [{"key": f"k{i}", "blob": {"text": "x" * 1_048_000}} for i in range(63)]}}),
    "preprocess-constant": lambda: say({"result": {**PAYLOAD, "data": [{"key": "k", "constant": "w"}]}}),
    "preprocess-link": linked,
    "preprocess-hard-link": hard_linked,
    "preprocess-pipe": piped,
    "preprocess-moved-folder": moved_folder,
    "preprocess-short-file": short_file,
    "preprocess-shrunk": shrunk,
    "preprocess-rights": tried_rights,
    "together-too-few": lambda: say({"result": PAYLOAD}),
}

# Names without "-at-" are of answers to one call.
deed, _, call = MODE.partition("-at-")
if MODE == "together-too-few":
    call = "preprocess"
elif not call:
    call = MODE.split("-")[0]

if __name__ == "__main__":
    for request_line in sys.stdin:
        request = json.loads(request_line)
        if request["call"] != call:
            good(request)
        elif MODE in ANSWERS:
            ANSWERS[MODE]()
        else:
            globals()[deed.replace("-", "_")]()
