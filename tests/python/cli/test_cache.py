"""--cache DIR: what backends make is kept by content, and taken from there by the next lowering."""

import os
import re
import subprocess

import pytest
import torch
from harness import DEPUTE, assert_matches_eager, depute, depute_as_nobody, lower, sample
from io_cases import Case

# Two delegates with a kernel between, so that one can change alone.
MODEL = """program
data "a": f32[4, 3] = random({a})
data "b": f32[2, 4] = random({b})

method forward(%a: f32[4, 3] = param "a", %b: f32[2, 4] = param "b", %x: f32[5, 3]) {{
  %l: f32[5, 4] = aten.linear.default(%x, %a) #1
  %t: f32[5, 4] = aten.asin.default(%l) #2
  %m: f32[5, 2] = aten.linear.default(%t, %b) #3
  return %m
}}
"""


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def write_model(path, a=1, b=2):
    path.write_text(MODEL.format(a=a, b=b))
    return path


def lowered(model, out, cache, *options, backend="xnnpack"):
    """(found, of how many, notes)"""
    run = depute("lower", model, "--backend", backend, "--cache", cache, "-o", out, *options)
    assert run.code == 0, run.stderr
    found = re.search(r"^From the cache: (\d+) of (\d+)$", run.stdout, re.MULTILINE)
    return (int(found[1]), int(found[2]), re.findall(r"^note: (.*)$", run.stdout, re.MULTILINE))


def entries(cache):
    return sorted(cache.glob("*.result"))


def plain(model, tmp_path):
    out = tmp_path / "plain.pte"
    lower(model, out, "--backend", "xnnpack")
    return out.read_bytes()


def test_a_second_lowering_finds_all(cache, tmp_path):
    model, out = write_model(tmp_path / "m.ir"), tmp_path / "m.pte"
    assert lowered(model, out, cache) == (0, 2, [])
    assert out.read_bytes() == plain(model, tmp_path)
    assert lowered(model, out, cache) == (2, 2, [])
    assert out.read_bytes() == plain(model, tmp_path)


def test_a_changed_layer_alone_is_made_anew(cache, tmp_path):
    model, out = write_model(tmp_path / "m.ir"), tmp_path / "m.pte"
    lowered(model, out, cache)
    write_model(model, b=3)
    assert lowered(model, out, cache) == (1, 2, [])
    assert out.read_bytes() == plain(model, tmp_path)
    assert len(entries(cache)) == 3


@pytest.mark.parametrize("backend", ["xnnpack", "demo"])
@pytest.mark.parametrize("name", ["conv_relu_tan", "qconv", "attn"])
def test_samples(name, backend, cache, tmp_path):
    first, second = tmp_path / "first.pte", tmp_path / "second.pte"
    lower(sample(name), first, "--backend", backend)
    whole = first.read_bytes()
    depute("lower", sample(name), "--backend", backend, "--cache", cache, "-o", first)
    depute("lower", sample(name), "--backend", backend, "--cache", cache, "-o", second)
    assert first.read_bytes() == whole and second.read_bytes() == whole


def test_what_is_found_runs(cache, tmp_path):
    """Of a model whose weights are packed, which is what an entry holds."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 4, 3)).eval()
    x = torch.randn(1, 3, 12, 12)
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "m.pt2")
    for expected in (0, 1):
        assert lowered(tmp_path / "m.pt2", tmp_path / "m.pte", cache)[:2] == (expected, 1)
    with torch.no_grad():
        assert_matches_eager(tmp_path / "m.pte", [Case("forward", [x], [model(x)])], tolerance=1e-5)


def test_weights_that_go_out_as_they_are_are_not_stored(cache, tmp_path):
    text = MODEL.replace("f32[4, 3]", "f32[4, 30000]").replace("f32[5, 3]", "f32[5, 30000]").format(a=1, b=2)
    (tmp_path / "m.ir").write_text(text)
    lowered(tmp_path / "m.ir", tmp_path / "m.pte", cache)
    assert sum(entry.stat().st_size for entry in entries(cache)) < 20_000
    assert lowered(tmp_path / "m.ir", tmp_path / "m.pte", cache)[:2] == (2, 2)


@pytest.mark.parametrize("damage", ["cut", "header", "middle", "end", "empty", "other"])
def test_damaged_entries_are_reported_and_recreated(damage, cache, tmp_path):
    model, out = write_model(tmp_path / "m.ir"), tmp_path / "m.pte"
    lowered(model, out, cache)
    entry = entries(cache)[0]
    whole = bytearray(entry.read_bytes())
    places = {"header": 9, "middle": 70, "end": len(whole) - 3}
    if damage in places:
        whole[places[damage]] ^= 1
    entry.write_bytes({"cut": whole[:-5], "empty": b"", "other": b"x" * 500}.get(damage, whole))
    found, count, notes = lowered(model, out, cache)
    assert (found, count) == (1, 2) and len(notes) == 1 and entry.name in notes[0] and "will be recreated" in notes[0]
    assert out.read_bytes() == plain(model, tmp_path)
    assert lowered(model, out, cache) == (2, 2, [])


def test_every_byte_of_an_entry_is_covered(cache, tmp_path):
    """A changed byte is found, or lies in padding and changes nothing."""
    model, out = write_model(tmp_path / "m.ir"), tmp_path / "m.pte"
    lowered(model, out, cache)
    want = out.read_bytes()
    entry = entries(cache)[0]
    whole = entry.read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 40)):
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        entry.write_bytes(damaged)
        lowered(model, out, cache)
        assert out.read_bytes() == want, place
        entry.write_bytes(whole)


def test_several_processes_at_once(cache, tmp_path):
    model = write_model(tmp_path / "m.ir")
    want = plain(model, tmp_path)
    outs = [tmp_path / f"{i}.pte" for i in range(8)]
    command = [DEPUTE, "lower", model, "--backend", "xnnpack", "--cache", cache, "-o"]
    runs = [subprocess.Popen([*command, out], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for out in outs]
    for run in runs:
        printed, errors = run.communicate()
        assert run.returncode == 0 and "note:" not in printed, printed + errors
    assert all(out.read_bytes() == want for out in outs)
    assert len(entries(cache)) == 2 == len(list(cache.iterdir()))  # no temporary file stays


def test_the_oldest_go_when_it_is_full(cache, tmp_path):
    model, out = write_model(tmp_path / "m.ir"), tmp_path / "m.pte"
    lowered(model, out, cache)
    largest = max(entry.stat().st_size for entry in entries(cache))
    limit = ("--cache-size", str(3 * largest))
    old = entries(cache)
    for entry in old:
        os.utime(entry, (1, 1))
    for seed in range(3, 9):
        lowered(write_model(model, b=seed), out, cache, *limit)
    left = entries(cache)
    assert sum(entry.stat().st_size for entry in left) <= 3 * largest
    # The first layer is found each time, so it is not the oldest; the second one of the first model is.
    assert len(set(left) & set(old)) == 1
    assert lowered(model, out, cache, *limit)[:2] == (2, 2)


def test_results_larger_than_the_cache_are_told(cache, tmp_path):
    model, out = write_model(tmp_path / "m.ir"), tmp_path / "m.pte"
    found, count, notes = lowered(model, out, cache, "--cache-size", "100")
    assert (found, count) == (0, 2) and not entries(cache) and "exceeds the cache size" in notes[0]
    assert out.read_bytes() == plain(model, tmp_path)


def test_a_folder_that_cannot_be_written_is_still_read(cache, tmp_path):
    model, out = write_model(tmp_path / "m.ir"), tmp_path / "out" / "m.pte"
    lowered(model, tmp_path / "m.pte", cache)
    out.parent.mkdir()
    out.parent.chmod(0o777)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.getuid():
            folder.chmod(folder.stat().st_mode | 0o055)
    cache.chmod(0o555)
    write_model(model, b=3)
    run = depute_as_nobody("lower", model, "--backend", "xnnpack", "--cache", cache, "-o", out)
    assert run.code == 0, run.stderr
    assert re.search(r"^note: cannot store a result in .*Permission denied$", run.stdout, re.MULTILINE), run.stdout
    assert out.read_bytes() == plain(model, tmp_path)
    cache.chmod(0o755)


def test_specs_and_quantized_weights_are_part_of_the_key(cache, tmp_path):
    model, out = write_model(tmp_path / "m.ir"), tmp_path / "m.pte"
    lowered(model, out, cache)
    assert lowered(model, out, cache, "--quantize", "linear=8w")[:2] == (0, 2)
    assert lowered(model, out, cache, "--quantize", "linear=8w")[:2] == (2, 2)


def test_verify_asks_the_backend(cache, tmp_path):
    model, out = write_model(tmp_path / "m.ir"), tmp_path / "m.pte"
    lowered(model, out, cache)
    run = depute("lower", model, "--backend", "xnnpack", "--cache", cache, "--verify", "-o", out)
    assert run.code == 0 and "From the cache" not in run.stdout


@pytest.mark.parametrize(
    "options, message",
    [
        (("--cache-size", "1G"), "no cache is given"),
        (("--cache", "DIR", "--cache-size", "1X"), "'1X' is not a size"),
        (("--cache", "DIR", "--cache-size", "-1"), "'-1' is not a size"),
        (("--cache", "DIR", "--cache-size", "99999999999T"), "is not a size"),
        (("--cache", "FILE"), "cache"),
    ],
    ids=str,
)
def test_wrong_options(options, message, tmp_path):
    model = write_model(tmp_path / "m.ir")
    options = [{"DIR": tmp_path / "cache", "FILE": model}.get(word, word) for word in options]
    run = depute("lower", model, "--backend", "xnnpack", *options, "-o", tmp_path / "m.pte")
    assert run.code in (1, 2) and len(run.diagnostics) == 1 and message in run.stderr
    assert not (tmp_path / "m.pte").exists()
