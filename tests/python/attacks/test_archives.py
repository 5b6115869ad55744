"""Zip archives whose structure lies: every field of every header, one at a time, and pairs of them."""

import random
import struct

import pytest
from harness import assert_refused, depute, sample
from measure import ALL, SANITIZED

NAMES = ("mlp", "multi")
PAIRS = 2_000 if ALL and not SANITIZED else 60
# (signature, (offset, bytes) of its fields)
HEADERS = {
    "local": (b"PK\x03\x04", ((4, 2), (6, 2), (8, 2), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2))),
    "central": (b"PK\x01\x02", ((8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2), (34, 2), (42, 4))),
    "end": (b"PK\x05\x06", ((4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2))),
}  # fmt: skip


def places(archive: bytes) -> list[tuple[int, int]]:
    """(position, bytes) of each field."""
    found = []
    for signature, fields in HEADERS.values():
        at = archive.find(signature)
        while at >= 0:
            found += [(at + offset, size) for offset, size in fields]
            at = archive.find(signature, at + 1)
    return found


def values(old: int, size: int) -> list[int]:
    most = (1 << 8 * size) - 1
    return sorted({0, 1, most, most - 1, most // 2, (old + 1) & most, (old - 1) & most, old ^ 8} - {old})


def changed(archive: bytes, edits) -> bytes:
    result = bytearray(archive)
    for (at, size), value in edits:
        result[at : at + size] = struct.pack("<Q", value)[:size]
    return bytes(result)


def check(content: bytes, folder, said) -> bool:
    model, out = folder / "model.pt2", folder / "out.pte"
    model.write_bytes(content)
    out.unlink(missing_ok=True)
    run = depute("lower", model, "-o", out)
    assert run.code in (0, 1), f"{said}: {run.code} {run.stderr}"
    if run.code == 1:
        assert_refused(run, out)
    return run.code == 1


@pytest.mark.parametrize("name", NAMES)
def test_each_field(name, tmp_path):
    archive = sample(name).read_bytes()
    refused = total = 0
    for i, (at, size) in enumerate(places(archive)):
        old = int.from_bytes(archive[at : at + size], "little")
        choices = values(old, size)
        for value in choices if ALL and not SANITIZED else choices[i % len(choices) :][:1]:
            total += 1
            refused += check(changed(archive, [((at, size), value)]), tmp_path, f"{at}: {value}")
    assert refused > total / 5


@pytest.mark.parametrize("name", NAMES)
def test_pairs_of_fields(name, tmp_path):
    archive = sample(name).read_bytes()
    all_places = places(archive)
    for number in range(PAIRS):
        dice = random.Random(number)
        edits = []
        for at, size in dice.sample(all_places, 2):
            edits.append(((at, size), dice.choice(values(int.from_bytes(archive[at : at + size], "little"), size))))
        check(changed(archive, edits), tmp_path, f"{number}: {edits}")


@pytest.mark.parametrize("where", ["front", "middle", "end", "comment"])
def test_bytes_around_an_archive(where, tmp_path):
    archive = sample("mlp").read_bytes()
    end = archive.rfind(b"PK\x05\x06")
    content = {
        "front": b"#!/bin/sh\n" + archive,
        "middle": archive[:end] + bytes(100) + archive[end:],
        "end": archive + bytes(100),
        "comment": archive[:-2] + b"\x04\x00" + b"PK\x05\x06",
    }[where]
    check(content, tmp_path, where)
