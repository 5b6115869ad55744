"""Small inputs that ask for much: time and memory stay in proportion to the file, or to what it says it contains."""

import io
import json
import os
import subprocess
import zipfile

import pytest
from harness import DEPUTE, ROOT, TIMEOUT, depute, lower, sample
from measure import SANITIZED, assert_bounded, measured, size_of


def entries(name: str) -> dict[str, bytes]:
    with zipfile.ZipFile(sample(name)) as archive:
        return {entry.filename.split("/", 1)[1]: archive.read(entry) for entry in archive.infolist()}


def write(path, files: dict[str, bytes], deflated=()):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(f"m/{name}", data, zipfile.ZIP_DEFLATED if name in deflated else zipfile.ZIP_STORED)
    return path


def torch_save(pickle: bytes, *, deflated=False, storages=None) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        how = zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED
        archive.writestr("a/data.pkl", b"\x80\x02" + pickle + b".", how)
        archive.writestr("a/byteorder", "little")
        for key, data in (storages or {}).items():
            archive.writestr(f"a/data/{key}", data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def with_pickled_weights(payloads: list[bytes], *, unused=False) -> dict[str, bytes]:
    """mlp, whose first weights are these files of torch.save."""
    files = entries("mlp")
    place = "data/weights/model_weights_config.json"
    config = json.loads(files[place])
    names = [f"x{i}" for i in range(len(payloads))] if unused else list(config["config"])
    first = next(iter(config["config"].values()))
    for i, (name, payload) in enumerate(zip(names, payloads)):
        entry = config["config"].get(name, first)
        config["config"][name] = {**entry, "use_pickle": True, "path_name": f"p{i}"}
        files[f"data/weights/p{i}"] = payload
    files[place] = json.dumps(config).encode()
    return files


def assert_names_limit(run, limit: str) -> None:
    assert run.code == 1 and f"the limit {limit}" in run.stderr, run.stderr
    assert f"DEPUTE_LIMITS={limit}=NUMBER" in run.stderr, run.stderr


@pytest.mark.parametrize("command", ["lower", "show"])
def test_blanks(command, tmp_path):
    """300 MB of them deflate to 0.3 MB."""
    files = entries("mlp")
    files["models/model.json"] = files["models/model.json"].rstrip()[:-1] + b" " * 300_000_000 + b"}"
    model = write(tmp_path / "blanks.pt2", files, ("models/model.json",))
    run = measured(command, model, *(("-o", tmp_path / "out.pte") if command == "lower" else ()))
    assert_bounded(run, size_of(model))
    assert_names_limit(run, "inflate_ratio")


PICKLES = {
    "nones": b"(" + b"N" * 15_000_000 + b"t",
    "recalls": b"(N\x94" + b"h\x00" * 8_000_000 + b"t",
    "tuples": b"(" + b"N\x85" * 8_000_000 + b"t",
    "lists": b"(" + b"]K\x01a" * 3_000_000 + b"t",
    "dictionaries": b"(" + b"}K\x01K\x01s" * 3_000_000 + b"t",
    "marks": b"(" * 8_000_000,
    "memo": b"N" + b"\x94" * 8_000_000 + b"",
}


@pytest.mark.parametrize("deflated", [False, True], ids=["stored", "deflated"])
@pytest.mark.parametrize("kind", PICKLES)
def test_pickles_of_millions_of_values(kind, deflated, tmp_path):
    payload = torch_save(PICKLES[kind], deflated=deflated)
    model = write(tmp_path / "model.pt2", with_pickled_weights([payload]))
    run = measured("lower", model, "-o", tmp_path / "out.pte")
    assert run.code == 1
    assert_bounded(run, size_of(model))


STORAGE = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x00t"


def pickled_tensor(sizes, strides) -> bytes:
    """Values on the stack, of a tensor that begins its storage."""
    dims = [b"(" + b"".join(b"K" + bytes([each]) for each in part) + b"t" for part in (sizes, strides)]
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + STORAGE + b"QK\x00" + b"".join(dims) + b"\x89}tR"


def test_values_of_all_pickles_are_one_budget(tmp_path):
    """Each of three tensors is within the limit, with 400,000 values that nothing uses before it; all three are not."""
    config = json.loads(entries("mlp")["data/weights/model_weights_config.json"])["config"]
    payloads = []
    for entry in config.values():
        sizes, strides = ([each["as_int"] for each in entry["tensor_meta"][kind]] for kind in ("sizes", "strides"))
        payloads.append(torch_save(b"(" + b"N" * 400_000 + b"t0" + pickled_tensor(sizes, strides), storages={"0": bytes(4096)}))
    run = {}
    for count in (2, 3):
        model = write(tmp_path / "model.pt2", with_pickled_weights(payloads[:count]))
        run[count] = measured("lower", model, "-o", tmp_path / "out.pte")
        assert_bounded(run[count], size_of(model))
    assert run[2].code == 0, run[2].stderr
    assert_names_limit(run[3], "pickle_values")


@pytest.mark.parametrize("unused", [False, True])
def test_four_thousand_pickles(unused, tmp_path):
    payload = torch_save(b"(" + b"N" * 400_000 + b"t", deflated=True)
    model = write(tmp_path / "model.pt2", with_pickled_weights([payload] * 4000, unused=unused))
    assert_bounded(measured("lower", model, "-o", tmp_path / "out.pte"), size_of(model))


def test_weights_inside_weights(tmp_path):
    inner = torch_save(pickled_tensor((32, 16), (16, 1)), storages={"0": bytes(60_000_000)})
    model = write(tmp_path / "model.pt2", with_pickled_weights([inner]), ("data/weights/p0",))
    assert_bounded(measured("lower", model, "-o", tmp_path / "out.pte"), size_of(model))


@pytest.mark.parametrize("size", [1 << 28, 1 << 40])
def test_strides_of_zero(size, tmp_path):
    files = entries("mlp")
    place = "data/weights/model_weights_config.json"
    config = json.loads(files[place])
    meta = config["config"]["a.weight"]["tensor_meta"]
    meta["sizes"], meta["strides"] = [{"as_int": 32}, {"as_int": size}], [{"as_int": 0}, {"as_int": 0}]
    files[place] = json.dumps(config).encode()
    graph = json.loads(files["models/model.json"])
    for value in graph["graph_module"]["graph"]["tensor_values"].values():
        if value["sizes"] == [{"as_int": 32}, {"as_int": 16}]:
            value["sizes"], value["strides"] = meta["sizes"], meta["strides"]
    files["models/model.json"] = json.dumps(graph).encode()
    model = write(tmp_path / "model.pt2", files)
    for command in (["show"], ["lower", "-o", tmp_path / "out.pte"], ["explain", "--backend", "xnnpack"]):
        assert_bounded(measured(command[0], model, *command[1:]), size_of(model))


LARGE = 1 << 31  # numbers: 8 GiB, more than a tensor of the runtime may have

EXPANDED = """program
data "w": f32[{size}]{{strides=[0]}} = [1.0]

method forward(%w: f32[{size}]{{strides=[0]}} = param "w", %x: f32[1]) {{
  %y: f32[{size}] = aten.add.Tensor(%w, %x)
  return %y
}}
"""
ZEROS = EXPANDED.replace("{{strides=[0]}} = [1.0]", " = zeros").replace("{{strides=[0]}}", "")


@pytest.mark.parametrize("text", [EXPANDED, ZEROS], ids=["expanded", "zeros"])
def test_constants_that_a_text_describes(text, tmp_path):
    model = tmp_path / "model.ir"
    model.write_text(text.format(size=LARGE))
    for words in (
        ["show"],
        ["lower", "-o", tmp_path / "out.pte"],
        ["lower", "--backend", "xnnpack", "-o", tmp_path / "out.pte"],
        ["lower", "--lock", tmp_path / "lock", "--lock-update", "-o", tmp_path / "out.pte"],
        ["explain", "--backend", "xnnpack"],
        ["doctor", "--backend", "xnnpack"],
    ):
        assert_bounded(measured(words[0], model, *words[1:]), size_of(model), codes=(0, 1, 3))


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
def test_twenty_thousand_methods(backend, tmp_path):
    method = "\nmethod m{}(%x: f32[4]) {{\n  %y: f32[4] = aten.relu.default(%x)\n  %z: f32[4] = aten.sigmoid.default(%y)\n  return %z\n}}\n"
    count = 2_000 if SANITIZED else 20_000
    model = tmp_path / "model.ir"
    model.write_text("program\n" + "".join(method.format(i) for i in range(count)))
    run = measured("lower", model, *(("--backend", backend) if backend != "portable" else ()), "-o", tmp_path / "out.pte")
    assert run.code == 0
    assert_bounded(run, size_of(model, tmp_path / "out.pte") * 8)  # each method is 20 tables


SPARSE = 200 << 30


def sparse(path, content: bytes):
    path.write_bytes(content)
    os.truncate(path, SPARSE)
    return path


def test_sparse_program(tmp_path):
    small = tmp_path / "small.pte"
    lower(sample("mlp"), small)
    large = sparse(tmp_path / "large.pte", small.read_bytes())
    for words in (["size", large], ["size", large, "--json"], ["show", large], ["diff", large, small], ["diff", large, large], ["lower", large, "-o", tmp_path / "o"]):
        assert_bounded(measured(*words), size_of(small), codes=(0, 1, 3))
    assert f"{SPARSE - size_of(small)}" in depute("size", large).stdout.replace(",", "")


@pytest.mark.parametrize("name", ["m.pt2", "m.ir", "m.pte", "m.ptd"])
def test_sparse_inputs(name, tmp_path):
    model = sparse(tmp_path / name, {"m.pt2": sample("mlp").read_bytes(), "m.ir": b"program\n"}.get(name, b"\x00" * 8))
    for words in (["show", model], ["lower", model, "-o", tmp_path / "o"], ["explain", model, "--backend", "xnnpack"]):
        run = measured(*words)
        assert run.code == 1
        assert_bounded(run, 1)


TEXTS = {
    "--lock": lambda file: ("lower", sample("mlp"), "--lock", file),
    "--kernels": lambda file: ("lower", sample("mlp"), "--kernels", file),
    "--calibrate": lambda file: ("lower", sample("mlp"), "--quantize", "static", "--calibrate", file),
    "--debug-map": lambda file: ("profile", file, "--debug-map", file),
    "diff": lambda file: ("diff", file, file),
}


@pytest.mark.parametrize("option", TEXTS)
@pytest.mark.parametrize("content", [b"{", b"depute lock 2\n", b"#"], ids=["json", "lock", "comment"])
def test_sparse_texts(option, content, tmp_path):
    file = sparse(tmp_path / "text", content)
    words = TEXTS[option](file)
    run = measured(*words, *(("-o", tmp_path / "o") if words[0] == "lower" else ()))
    assert run.code == 1
    assert_bounded(run, 1)


@pytest.mark.parametrize("option", TEXTS)
def test_endless_files(option, tmp_path):
    words = TEXTS[option]("/dev/zero")
    run = measured(*words, *(("-o", tmp_path / "o") if words[0] == "lower" else ()))
    assert run.code == 1
    assert_bounded(run, 64 << 20)  # what is read of it


LIMITS = {
    "archive_entries": 3, "entry_name_bytes": 3, "json_bytes": 10, "json_depth": 2, "nodes": 1, "list_elements": 1,
}  # fmt: skip


@pytest.mark.parametrize("limit", LIMITS)
def test_limits_can_be_changed(limit, tmp_path):
    environment = {**os.environ, "DEPUTE_LIMITS": f"{limit}={LIMITS[limit]}"}
    run = subprocess.run([DEPUTE, "show", sample("mlp")], capture_output=True, text=True, env=environment, timeout=TIMEOUT, cwd=ROOT)
    assert run.returncode == 1 and f"the limit {limit}" in run.stderr, run.stderr
    assert f"help: DEPUTE_LIMITS={limit}=NUMBER in the environment raises it" in run.stderr


@pytest.mark.parametrize("value, words", [
    ("nods=1", "there is no limit 'nods'; did you mean nodes?"), ("nodes", "'' is not a number"), ("nodes=-1", "'-1' is not a number"),
    ("nodes=99999999999999999999", "is not a number"), ("=", "there is no limit ''"), ("inflate_ratio=0", "the least is 1"),
])  # fmt: skip
def test_limits_that_are_none(value, words):
    environment = {**os.environ, "DEPUTE_LIMITS": value}
    run = subprocess.run([DEPUTE, "show", sample("mlp")], capture_output=True, text=True, env=environment, timeout=TIMEOUT, cwd=ROOT)
    assert run.returncode == 2
    assert all(part in run.stderr for part in words.split("; ")), run.stderr


def test_a_raised_limit_lets_the_file_in(tmp_path):
    files = entries("mlp")
    files["models/model.json"] = files["models/model.json"].rstrip()[:-1] + b" " * 20_000_000 + b"}"
    model = write(tmp_path / "blanks.pt2", files, ("models/model.json",))
    assert_names_limit(depute("show", model), "inflate_ratio")
    environment = {**os.environ, "DEPUTE_LIMITS": "inflate_ratio=2000, nodes=100"}
    assert subprocess.run([DEPUTE, "show", model], capture_output=True, env=environment, timeout=TIMEOUT).returncode == 0
