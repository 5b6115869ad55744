"""Makes damaged variants of an archive, the same ones in every run.

flip       some bits anywhere in the file
directory  some bits among the last bytes, where a zip keeps its index
truncate   the end is missing
json       one value of one JSON entry is replaced, and the archive is sound again around it
leaf       a few numbers, names, operators or kinds of the model are replaced by others that could stand there
"""

import io
import json
import random
import zipfile

COUNTS = {"flip": 30, "directory": 20, "truncate": 20, "json": 30, "leaf": 60}
DIRECTORY_BYTES = 1500
ALIGNMENT = 64
LOCAL_HEADER_BYTES = 30


def variants(times: int = 1) -> list[tuple[str, int]]:
    """(kind, number) of each variant, `times` as many; damaged() makes it."""
    return [(kind, number) for kind, count in COUNTS.items() for number in range(count * times)]


def damaged(archive: bytes, name: str, kind: str, number: int, ops: tuple[str, ...] = ()) -> bytes:
    """`ops` are the names that a leaf edit gives to nodes."""
    dice = random.Random(f"{name} {kind} {number}")
    match kind:
        case "flip":
            return flip_bits(archive, 0, dice)
        case "directory":
            return flip_bits(archive, len(archive) - DIRECTORY_BYTES, dice)
        case "truncate":
            return archive[: dice.randrange(len(archive))]
        case "json":
            return edit_json(archive, replace_value, dice)
        case "leaf":
            return edit_json(archive, lambda text, dice: edit_leaves(text, ops, dice), dice)
    raise ValueError(kind)


def flip_bits(archive: bytes, first: int, dice: random.Random) -> bytes:
    changed = bytearray(archive)
    for _ in range(dice.choice((1, 1, 1, 8, 64))):
        changed[dice.randrange(first, len(changed))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def edit_json(archive: bytes, edit, dice: random.Random) -> bytes:
    """Edits the model or the tables that describe its weights."""
    with zipfile.ZipFile(io.BytesIO(archive)) as source:
        entries = [(entry.filename, source.read(entry)) for entry in source.infolist()]
    models = [name for name, _ in entries if "/models/" in name]
    tables = [name for name, _ in entries if name.endswith("_config.json")]
    chosen = dice.choice(models if dice.random() < 0.75 else tables)
    edited = [(name, edit(data, dice) if name == chosen else data) for name, data in entries]
    return write_archive(edited)


def replace_value(text: bytes, dice: random.Random) -> bytes:
    """Replaces one value at any depth."""
    document = json.loads(text)
    places = list(places_in(document))
    holder, key = dice.choice(places)
    match dice.randrange(4):
        case 0 if isinstance(holder, dict):
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.insert(key, holder[key])
        case 2:
            other, other_key = dice.choice(places)
            holder[key] = json.loads(json.dumps(other[other_key]))
        case _:
            holder[key] = dice.choice(strange_values(holder[key]))
    return json.dumps(document).encode()


def edit_leaves(text: bytes, ops: tuple[str, ...], dice: random.Random) -> bytes:
    """Keeps the form of the file: what is wrong afterwards is what it says."""
    document = json.loads(text)
    for _ in range(dice.choice((1, 1, 2, 4))):
        places = [(holder, key) for holder, key in places_in(document) if key != "stack_trace"]
        leaves = [(holder, key) for holder, key in places if not isinstance(holder[key], (dict, list))]
        if not leaves:
            break
        targets = [(holder, key) for holder, key in leaves if key == "target"]
        if ops and targets and dice.random() < 0.3:
            holder, key = dice.choice(targets)
            holder[key] = dice.choice(("", "torch.ops.")) + dice.choice(ops)
        elif dice.random() < 0.15:
            rename_kind(places, dice)
        else:
            holder, key = dice.choice(leaves)
            holder[key] = other_leaf(leaves, holder, key, dice)
    return json.dumps(document).encode()


def rename_kind(places, dice: random.Random) -> None:
    """{"as_int": 1} becomes {"as_tensor": 1}, {"user_input": ...} {"parameter": ...}."""
    kinds = [holder for holder, _ in places if isinstance(holder, dict) and len(holder) == 1]
    if not kinds:
        return
    kind, other = dice.choice(kinds), dice.choice(kinds)
    ((old, value),) = kind.items()
    del kind[old]
    kind[next(iter(other), old)] = value


def other_leaf(leaves, holder, key, dice: random.Random):
    value = holder[key]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return dice.choice((value + 1, value - 1, 0, 1, 2, 7, -1, 100, 2**31, 2**63 - 1, -(2**63)))
    alike = [other[name] for other, name in leaves if name == key and type(other[name]) is type(value)]
    return dice.choice(alike)


def places_in(value):
    """Every (list or dict, key) below `value`."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places_in(value[key])


def strange_values(value) -> list:
    nested = []
    for _ in range(400):
        nested = [nested]
    values = [
        None,
        True,
        0,
        -1,
        7,
        2**31,
        2**63 - 1,
        -(2**63),
        2**70,
        1e308,
        "",
        "x" * 5000,
        "../../etc/passwd",
        [],
        {},
        nested,
    ]
    if isinstance(value, str):
        values += [value + "_", value[:-1], value[::-1]] * 3
    if isinstance(value, int):
        values += [value + 1, value - 1, value * 1000, -value] * 3
    return values


def write_archive(entries: list[tuple[str, bytes]]) -> bytes:
    """A zip of stored entries whose data starts at multiples of ALIGNMENT, as torch writes them."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, data in entries:
            info = zipfile.ZipInfo(name)
            header = file.tell() + LOCAL_HEADER_BYTES + len(name.encode()) + 4
            padding = -header % ALIGNMENT
            info.extra = b"FB" + padding.to_bytes(2, "little") + bytes(padding)
            archive.writestr(info, data)
    return file.getvalue()
