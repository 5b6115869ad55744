"""--cache URL: what backends make is kept on a server, which may be down, slow, wrong or hostile."""

import getpass
import re
import shutil
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path

import pytest
from cache_server import CacheServer, command_lines
from harness import DEPUTE, ROOT, depute
from test_cache import lowered, plain, write_model

SECRET = "open-sesame-4711"


@pytest.fixture(autouse=True)
def environment(tmp_path, monkeypatch):
    """A home and a folder for temporary files of the test's own; nothing may be left in the latter."""
    for name in ("home", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setenv("no_proxy", "*")
    yield tmp_path / "home"
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.fixture
def server():
    with CacheServer() as server:
        yield server


@pytest.fixture
def model(tmp_path):
    return write_model(tmp_path / "m.ir")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "m.pte"


def unharmed(model, out, url, tmp_path, *options):
    """(found, notes) of a lowering whose bytes are as without a cache."""
    found, count, notes = lowered(model, out, url, *options)
    assert count == 2 and out.read_bytes() == plain(model, tmp_path)
    return found, notes


def test_a_second_lowering_finds_all(server, model, out, tmp_path):
    assert unharmed(model, out, server.url, tmp_path) == (0, [])
    assert len(server.entries) == 2 and server.count("PUT") == 2
    assert all(re.fullmatch(r"/team/cache/[0-9a-f]{64}\.result", path) for path in server.entries)
    assert unharmed(model, out, server.url + "/", tmp_path) == (2, [])
    assert server.count("PUT") == 2 and server.count("GET") == 4


def test_a_server_has_the_entries_of_a_folder(server, model, out, tmp_path):
    lowered(model, out, server.url)
    lowered(model, out, tmp_path / "cache")
    assert {path.rsplit("/", 1)[1]: entry for path, entry in server.entries.items()} == {
        path.name: path.read_bytes() for path in (tmp_path / "cache").iterdir()
    }


def test_several_processes_at_once(server, model, tmp_path):
    want = plain(model, tmp_path)
    outs = [tmp_path / f"{i}.pte" for i in range(4)]
    command = [DEPUTE, "lower", model, "--backend", "xnnpack", "--cache", server.url, "-o"]
    runs = [subprocess.Popen([*command, out], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for out in outs]
    for run in runs:
        printed, errors = run.communicate()
        assert run.returncode == 0 and "note:" not in printed, printed + errors
    assert all(out.read_bytes() == want for out in outs)
    assert lowered(model, outs[0], server.url) == (2, 2, [])


@pytest.mark.parametrize("damage", ["cut", "header", "middle", "end", "empty", "other"])
def test_damaged_entries_are_reported_and_replaced(damage, server, model, out, tmp_path):
    lowered(model, out, server.url)
    path = min(server.entries)
    whole = bytearray(server.entries[path])
    places = {"header": 9, "middle": 70, "end": len(whole) - 3}
    if damage in places:
        whole[places[damage]] ^= 1
    server.entries[path] = {"cut": bytes(whole[:-5]), "empty": b"", "other": b"x" * 500}.get(damage, bytes(whole))
    found, notes = unharmed(model, out, server.url, tmp_path)
    assert found == 1 and len(notes) == 1
    assert f"the cache entry http://{server.address}{path} is unusable" in notes[0] and "will be recreated" in notes[0]
    assert unharmed(model, out, server.url, tmp_path) == (2, [])


def test_entries_that_are_mixed_up_are_not_used(server, model, out, tmp_path):
    lowered(model, out, server.url)
    server.entries = dict(zip(server.entries, reversed(server.entries.values())))
    found, notes = unharmed(model, out, server.url, tmp_path)
    assert found == 0 and len(notes) == 2 and all("(a checksum differs)" in note for note in notes)


# --- servers that fail: one note, and the result is made


def drop(request):
    """Resets the connection."""
    request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    request.rfile.close()
    request.wfile.close()
    request.connection.close()
    return True


def fails_once(how):
    """Misbehaves at the first request alone."""
    asked = []

    def act(request):
        asked.append(request)
        return len(asked) == 1 and how(request)

    return act


def answers(status, *methods, **headers):
    def act(request):
        if request.command in methods:
            request.reply(status, b"no", **headers)
            return True
        return False

    return act


def cuts(request):
    request.send_response(200)
    request.send_header("Content-Length", "100000")
    request.end_headers()
    request.wfile.write(b"DEPUTER3")
    return True


@pytest.mark.parametrize("how", [answers(500, "GET"), answers(503, "GET"), cuts, drop], ids=["500", "503", "cut", "reset"])
def test_a_fault_that_passes_is_not_told(how, server, model, out, tmp_path):
    lowered(model, out, server.url)
    server.act = fails_once(how)
    assert unharmed(model, out, server.url, tmp_path) == (2, [])


@pytest.mark.parametrize(
    "how, words",
    [(answers(500, "GET", "PUT"), "the server answered 500"), (cuts, r"\(18\) "), (drop, r"\((52|55|56)\) ")],
    ids=["500", "cut", "reset"],
)
def test_a_fault_that_stays_is_told_once(how, words, server, model, out, tmp_path):
    """Also by several backends, which ask one after another."""
    server.act = how
    several = ("--backend", "xnnpack:off=node:m")
    run = depute("lower", model, *several, "--backend", "xnnpack", "--cache", server.url, "-o", out)
    assert run.code == 0, run.stderr
    notes = re.findall(r"^note: (.*)$", run.stdout, re.MULTILINE)
    assert len(notes) == 1 and notes[0].startswith(f"cannot read results from {server.url}: "), notes
    assert re.search(words, notes[0]) and "; the server is not asked again in this run" in notes[0]
    assert len(server.requests) == 2 and server.count("GET") == 2  # a second attempt, nothing else


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_refusal_is_told(status, server, model, out, tmp_path):
    server.act = answers(status, "GET", "PUT")
    found, notes = unharmed(model, out, server.url, tmp_path)
    assert found == 0 and notes == [
        f"cannot read results from {server.url}: the server answered {status}",
        f"cannot store a result in {server.url}: the server answered {status}",
    ]
    assert server.count("PUT") == 1


def test_a_server_may_forbid_to_write(server, model, out, tmp_path):
    lowered(model, out, server.url)
    server.act = answers(403, "PUT")
    write_model(model, b=3)
    found, notes = unharmed(model, out, server.url, tmp_path)
    assert found == 1 and notes == [f"cannot store a result in {server.url}: the server answered 403"]


def test_a_server_may_refuse_large_entries(server, model, out, tmp_path):
    """S3 answers 403 for what it does not have, to those who may not list: that does not keep results from being stored."""
    server.act = lambda request: (
        answers(403, "GET")(request) if len(server.requests) <= 2 else answers(413, "PUT")(request) if len(server.requests) == 3 else False
    )
    found, notes = unharmed(model, out, server.url, tmp_path)
    assert found == 0 and len(notes) == 2 and "answered 403" in notes[0] and "answered 413" in notes[1]
    assert server.count("PUT") == 2 and len(server.entries) == 1


def hangs(request):
    time.sleep(8)
    return drop(request)


def trickles(request):
    request.send_response(200)
    request.end_headers()
    try:
        for _ in range(80):
            request.wfile.write(b"x")
            time.sleep(0.1)
    except OSError:
        pass
    return True


def floods(request):
    request.send_response(200)
    request.end_headers()
    try:
        while True:
            request.wfile.write(b"x" * (1 << 16))
            time.sleep(0.001)
    except OSError:
        return True


@pytest.mark.parametrize("how", [hangs, trickles, floods])
def test_a_transfer_has_a_time_limit(how, server, model, out, tmp_path, monkeypatch):
    monkeypatch.setenv("DEPUTE_CACHE_SECONDS", "1")
    server.act = how
    begun = time.monotonic()
    found, notes = unharmed(model, out, server.url, tmp_path)
    assert time.monotonic() - begun < 6
    assert found == 0 and len(notes) == 1
    assert "(28) " in notes[0] and "DEPUTE_CACHE_SECONDS allows more" in notes[0] and "not asked again" in notes[0]
    assert len(server.requests) == 1


def test_an_answer_has_a_size_limit(server, model, out, tmp_path):
    def act(request):
        request.send_response(200)
        request.send_header("Content-Length", str(1 << 40))
        request.end_headers()
        return True

    server.act = act
    found, notes = unharmed(model, out, server.url, tmp_path)
    assert found == 0 and len(notes) == 1 and "(63) Maximum file size exceeded" in notes[0]


def test_a_server_that_is_down(model, out, tmp_path):
    with CacheServer() as gone:
        url = gone.url
    found, notes = unharmed(model, out, url, tmp_path)
    assert found == 0 and len(notes) == 1 and "(7) " in notes[0] and "not asked again" in notes[0]
    found, notes = unharmed(model, out, "http://no-such-host.invalid/cache", tmp_path)
    assert found == 0 and len(notes) == 1 and "(6) Could not resolve host" in notes[0]


def test_something_else_than_a_web_server(model, out):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        command = [DEPUTE, "lower", model, "--backend", "xnnpack", "--cache", url, "-o", out]
        run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        with listening.accept()[0] as connection:
            connection.sendall(b"220 mail.example \x1b[31m\r\n")
            printed = run.communicate()[0]
    assert run.returncode == 0 and printed.count("note:") == 1 and "\x1b" not in printed, printed


@pytest.mark.parametrize("target", ["file:///etc/passwd", "http"])
def test_redirects_are_not_followed(target, server, model, out, tmp_path, monkeypatch):
    """The header would go along to another server."""
    monkeypatch.setenv("DEPUTE_CACHE_HEADER", f"X-Api-Key: {SECRET}")
    with CacheServer() as other:
        server.act = answers(302, "GET", "PUT", Location=other.url if target == "http" else target)
        found, notes = unharmed(model, out, server.url, tmp_path)
        assert other.requests == []
    assert found == 0 and all("the server answered 302, a redirect, which is not followed" in note for note in notes)


def test_without_curl(server, model, out, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    found, notes = unharmed(model, out, server.url, tmp_path)
    assert (found, notes) == (
        0,
        [f"cannot read results from {server.url}: curl: there is no such program on PATH; the server is not asked again in this run"],
    )


def test_settings_of_curl_have_no_effect(server, model, out, tmp_path, environment):
    (environment / ".curlrc").write_text('proxy = "http://127.0.0.1:1"\nverbose\noutput = "elsewhere"\n')
    assert unharmed(model, out, server.url, tmp_path) == (0, [])
    assert unharmed(model, out, server.url, tmp_path) == (2, [])


def test_a_signal_ends_all(server, model, out, monkeypatch):
    server.act = hangs
    command = [DEPUTE, "lower", model, "--backend", "xnnpack", "--cache", server.url, "-o", out]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not server.requests:
        time.sleep(0.01)
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    assert len(children) == 1
    run.send_signal(signal.SIGTERM)
    assert run.wait(5) == -signal.SIGTERM and not out.exists()
    for _ in range(100):
        time.sleep(0.02)
        if not Path(f"/proc/{children[0]}/cmdline").is_file() or not Path(f"/proc/{children[0]}/cmdline").read_bytes():
            return  # gone, or a zombie
    raise AssertionError("curl is still there")


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_nginx(model, out, tmp_path):
    """With the lines that docs/cli.md shows."""
    shown = re.search(r"^    location /depute/ \{\n.*?^    \}\n", (ROOT / "docs" / "cli.md").read_text(), re.MULTILINE | re.DOTALL)[0]
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    (tmp_path / "srv").mkdir()
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; pid {tmp_path}/pid; error_log stderr; user {getpass.getuser()}; events {{}}\n"
        f"http {{ access_log off; {' '.join(f'{kind}_temp_path {tmp_path}/{kind};' for kind in kinds)} server {{ listen {address};\n"
        f"{shown.replace('/srv/cache', str(tmp_path / 'srv'))} }} }}\n"
    )
    nginx = subprocess.Popen(["nginx", "-p", tmp_path, "-c", tmp_path / "nginx.conf", "-e", "stderr"])
    try:
        for _ in range(100):
            time.sleep(0.05)
            if (tmp_path / "pid").exists():
                break
        assert unharmed(model, out, f"http://{address}/depute", tmp_path) == (0, [])
        assert len([*(tmp_path / "srv" / "depute").glob("*.result")]) == 2
        assert unharmed(model, out, f"http://{address}/depute", tmp_path) == (2, [])
    finally:
        nginx.terminate()
        nginx.wait()


# --- credentials: they arrive, and nobody else sees them


def printed_with(model, out, url, tmp_path):
    """All that a run prints and writes."""
    reports = [tmp_path / f"report.{ending}" for ending in ("json", "html", "md", "sarif")]
    words = [word for report in reports for word in ("--report", report)]
    run = depute("lower", model, "--backend", "xnnpack", "--cache", url, "-o", out, *words)
    assert run.code == 0, run.stderr
    return run.stdout + run.stderr + "".join(report.read_text() for report in reports)


@pytest.mark.parametrize("works", [True, False])
def test_a_header_arrives_and_is_not_printed(works, server, model, out, tmp_path, monkeypatch):
    monkeypatch.setenv("DEPUTE_CACHE_HEADER", f'Authorization: Bearer "\\{SECRET}')
    seen = []
    server.act = lambda request: seen.extend(command_lines()) or (not works and answers(403, "GET", "PUT")(request))
    assert SECRET not in printed_with(model, out, server.url, tmp_path)
    assert {headers["Authorization"] for _, _, headers in server.requests} == {f'Bearer "\\{SECRET}'}
    assert any(line.startswith("curl ") for line in seen)
    assert not any(SECRET in line for line in seen)


@pytest.mark.parametrize("works", ["works", "refused", "damaged", "down"])
def test_a_password_in_the_url_is_not_printed(works, server, model, out, tmp_path):
    url = server.url.replace("//", f"//me:{SECRET}%40x@")
    seen = []
    if works == "damaged":
        lowered(model, out, server.url)
        server.entries = dict.fromkeys(server.entries, b"damaged")
    server.act = lambda request: seen.extend(command_lines()) or (works == "refused" and answers(403, "GET", "PUT")(request))
    if works == "down":
        url = url.replace(server.address, "127.0.0.1:1")
    printed = printed_with(model, out, url, tmp_path)
    assert SECRET not in printed and ("note:" in printed) == (works != "works")
    if works != "down":
        assert server.requests[-1][2]["Authorization"] == "Basic bWU6b3Blbi1zZXNhbWUtNDcxMUB4"
        curls = [line for line in seen if line.startswith("curl ")]
        assert curls and not any(SECRET in line or server.address in line for line in curls)


def test_netrc(server, model, out, tmp_path, environment):
    (environment / ".netrc").write_text(f"machine 127.0.0.1 login me password {SECRET}\n")
    assert SECRET not in printed_with(model, out, server.url, tmp_path)
    assert {headers["Authorization"] for _, _, headers in server.requests} == {"Basic bWU6b3Blbi1zZXNhbWUtNDcxMQ=="}


# --- what is refused before anything is asked


@pytest.mark.parametrize(
    "variable, value, words",
    [
        ("DEPUTE_CACHE_HEADER", f"Bearer {SECRET}", "expected one header line"),
        ("DEPUTE_CACHE_HEADER", f"A: b\nurl = file:///etc/{SECRET}", "expected one header line"),
        ("DEPUTE_CACHE_HEADER", f"@{SECRET}", "expected one header line"),
        ("DEPUTE_CACHE_HEADER", f": {SECRET}", "expected one header line"),
        ("DEPUTE_CACHE_HEADER", "A: " + SECRET * 2000, "expected one header line"),
        ("DEPUTE_CACHE_SECONDS", "0", "'0' is not a number of seconds from 1 to 86400"),
        ("DEPUTE_CACHE_SECONDS", "", "'' is not a number of seconds"),
        ("DEPUTE_CACHE_SECONDS", "1.5", "'1.5' is not a number of seconds"),
        ("DEPUTE_CACHE_SECONDS", "86401", "'86401' is not a number of seconds"),
    ],
)
def test_wrong_variables(variable, value, words, server, model, out, monkeypatch):
    monkeypatch.setenv(variable, value)
    run = depute("lower", model, "--backend", "xnnpack", "--cache", server.url, "-o", out)
    assert run.code == 2 and len(run.diagnostics) == 1 and f"{variable}: {words}" in run.stderr, run.stderr
    assert SECRET not in run.stderr and not out.exists() and not server.requests


@pytest.mark.parametrize(
    "url, words",
    [
        ("s3://bucket/path", "expected a folder, or a URL that starts with http:// or https://"),
        ("file:///tmp/x", "expected a folder, or a URL that starts with http:// or https://"),
        ("http:/host/path", "expected a folder, or a URL that starts with http:// or https://"),
        (f"http://me:{SECRET}@host/?a=b", "the URL has a space, a control character, '?' or '#'"),
        (f"http://me:{SECRET}@host/#a", "the URL has a space, a control character, '?' or '#'"),
        (f'http://me:{SECRET}@host/a"\nurl = b', "the URL has a space, a control character, '?' or '#'"),
        (f"http://me:{SECRET}@host/" + "x" * 5000, "the URL is too long"),
    ],
    ids=lambda text: text[:20],
)
def test_wrong_urls(url, words, model, out):
    run = depute("lower", model, "--backend", "xnnpack", "--cache", url, "-o", out)
    assert run.code == 2 and len(run.diagnostics) == 1 and words in run.stderr, run.stderr
    assert SECRET not in run.stderr and not out.exists()


def test_a_server_has_no_size(server, model, out):
    run = depute("lower", model, "--backend", "xnnpack", "--cache", server.url, "--cache-size", "1G", "-o", out)
    assert run.code == 2 and "--cache-size: the cache is a server, which itself decides how much it keeps" in run.stderr
    assert not server.requests and not out.exists()
