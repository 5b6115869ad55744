"""Mistakes that people make with the command line: what is said, and that nothing is written."""

import os
import subprocess
import tempfile

import pytest
from harness import DEPUTE, ROOT, TIMEOUT, commands, depute, depute_as_nobody, lower, sample

MLP = sample("mlp")


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("lower", MLP, "--bakend", "xnnpack"), "did you mean --backend?"),
        (("lower", MLP, "--reprot=r.json"), "did you mean --report?"),
        (("explian", MLP), "did you mean explain?"),
        (("--backend", "xnnpack", "lower", MLP), "is before the command"),
        ((MLP,), "the commands are " + ", ".join(commands())),
        (("verify", MLP), "PTE is required"),
        (("backends", "--recipes", "--json"), "--recipes: cannot be combined with --json"),
        (("profile", ROOT / "tests/profile/vision.etdp", "--report", "p.txt"), "'p.txt' must end in one of .html, .tsv"),
        (("verify", MLP, "m.pte", "--tolerance", "x"), "'x' is not a number of 0 or more"),
        (("lower", MLP, MLP), "mlp.pt2"),
        (("lower", MLP, "--jobs", "0"), "--jobs"),
        (("lower", MLP, "--jobs", "99999999999999999999"), "--jobs"),
        (("lower", MLP, "-o", "a.pte", "-o", "b.pte"), "--output"),
        (("lower", MLP, "--quiet", "--verbose"), "--quiet"),
        (("lower", MLP, "-o", ""), "-o"),
        (("lower", MLP, "--report", ""), "--report"),
        (("lower", MLP, "--report", "r.txt"), "must end in one of .json, .html, .md, .sarif, .annotations"),
        (("lower", MLP, "--ptd", "weights.bin"), "is not the name of a .ptd file"),
        (("lower", MLP, "--require", "nonsense"), "cannot read 'nonsense'"),
        (("lower", MLP, "--require", "coverage>=much"), "cannot read 'coverage>=much'"),
        (("lower", MLP, "--require", "coverage>=nan"), "cannot read 'coverage>=nan'"),
        (("lower", MLP, "--require", "partitions<=2%"), "cannot read 'partitions<=2%'"),
        (("lower", MLP, "--require", "coverage>=95%,,"), "cannot read ''"),
        (("lower", MLP, "--require", ""), "--require"),
        (("lower", MLP, "--cache", "s3://bucket"), "a URL that starts with http:// or https://"),
        (("lower", MLP, "--cache", "http://127.0.0.1:1", "--cache-size", "1G"), "the cache is a server"),
        (("lower", MLP, "--backend", ""), "the backend has no name"),
        (("lower", MLP, "--backend", "xnnpak"), "built in: demo, ethosu, tosa, vgf, xnnpack"),
        (("lower", MLP, "--backend", "xnnpack", "--backend", "xnnpack"), "twice"),
        (("lower", MLP, "--backend", "xnnpack:"), "key=value"),
        (("lower", MLP, "--backend", "xnnpack:mode"), "key=value"),
        (("lower", MLP, "--backend", "xnnpack:mode=fx,mode=apart"), "duplicate option mode"),
        (("lower", MLP, "--backend", "xnnpack:layer_norm=true,layer_norm=false"), "duplicate option layer_norm"),
        (("lower", MLP, "--backend", "xnnpack:nosuch=1"), "unknown option"),
        (("lower", MLP, "--backend", "demo:nosuch=1"), "unknown option"),
        (("lower", "--method", "forward"), "NAME=FILE"),
        (("lower", "--method", f"a={MLP}", "--method", f"a={MLP}"), "'a'"),
        (("explain", MLP, "--node", ""), "--node"),
        (("backends", "xnnpak"), "there is no backend 'xnnpak'"),
    ],
    ids=lambda value: " ".join(str(word).rsplit("/", 1)[-1] for word in value) if isinstance(value, tuple) else "",
)
def test_mistake_is_explained(arguments, words, tmp_path):
    outputs = ("-o", tmp_path / "out.pte") if arguments[0] == "lower" and "-o" not in arguments else ()
    run = depute(*arguments, *outputs)
    assert run.code == 2, run.stderr
    assert len(run.diagnostics) == 1 and words in run.stderr, run.stderr
    assert not run.stdout and not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["zwölf.pt2", "two words.pt2", "line\nbreak.pt2", "\x1b[31mred.pt2", "-.pt2"])
def test_odd_names_of_files(name, tmp_path):
    model, report = tmp_path / name, tmp_path / "r.json"
    model.write_bytes(MLP.read_bytes())
    run = depute("lower", model, "--report", report)
    assert run.code == 0, run.stderr
    assert model.with_suffix(".pte").is_file()
    assert "\x1b" not in run.stdout and run.stdout.splitlines()[1].startswith("Total delegated")


@pytest.mark.parametrize("name", ["absent\nerror[x]: made up", "\x1b[31mabsent"])
def test_a_name_cannot_forge_messages(name, tmp_path):
    run = depute("lower", tmp_path / name, "-o", tmp_path / "out.pte")
    assert run.code == 1 and len(run.stderr.splitlines()) == 1 and "\x1b" not in run.stderr


def test_name_that_is_no_utf8(tmp_path):
    model = os.fsencode(tmp_path) + b"/\xff\xfe.pt2"
    with open(model, "wb") as file:
        file.write(MLP.read_bytes())
    outputs = ["--report", tmp_path / "r.json", "--debug-map", tmp_path / "d.json"]
    run = subprocess.run([DEPUTE, "lower", model, *outputs], capture_output=True, timeout=TIMEOUT)
    assert run.returncode == 0, run.stderr
    (tmp_path / "r.json").read_text()
    (tmp_path / "d.json").read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to become another user")
def test_model_without_the_right_to_read():
    with tempfile.NamedTemporaryFile(suffix=".pt2") as model:  # mode 600
        model.write(MLP.read_bytes())
        model.flush()
        run = depute_as_nobody("explain", model.name)
    assert run.code == 1 and run.stderr == f"error[open]: {model.name}: Permission denied\n"


@pytest.mark.parametrize("folder", ["unpacked", "model.pt2"])
def test_folder_as_model(folder, tmp_path):
    (tmp_path / folder).mkdir()
    run = depute("explain", tmp_path / folder)
    assert run.code == 1 and "is a directory, not a file" in run.stderr


def test_many_jobs(tmp_path):
    one, many = tmp_path / "one.pte", tmp_path / "many.pte"
    lower(MLP, one, "--jobs", "1")
    lower(MLP, many, "--jobs", "1024")
    assert one.read_bytes() == many.read_bytes()


def test_the_same_file_as_two_methods(tmp_path):
    """That is no mistake: two methods that do the same, with the weights once."""
    one, two = tmp_path / "one.pte", tmp_path / "two.pte"
    lower(MLP, one)
    run = depute("lower", "--method", f"a={MLP}", "--method", f"b={MLP}", "-o", two)
    assert run.code == 0, run.stderr
    assert two.stat().st_size < 1.5 * one.stat().st_size


def test_the_method_of_the_model_named_again(tmp_path):
    run = depute("lower", MLP, "--method", f"forward={MLP}", "-o", tmp_path / "out.pte")
    assert run.code == 1 and "a method with this name exists already" in run.stderr


@pytest.mark.parametrize("option", ["--report", "--lock", "--debug-map", "--stand-ins", "--backend"])
def test_option_without_its_value(option, tmp_path):
    """The option behind it is not its value."""
    run = depute("lower", MLP, "-o", tmp_path / "out.pte", option, "--quiet")
    assert run.code == 2 and "'--quiet' is an option, and" in run.stderr, run.stderr
    assert list(tmp_path.iterdir()) == []


def test_reader_that_goes_away(tmp_path):
    """`depute show model | head -1` ends quietly."""
    command = f"{DEPUTE} show {MLP} --data | head -1"
    run = subprocess.run(command, shell=True, capture_output=True, timeout=TIMEOUT)
    assert run.stdout and not run.stderr


@pytest.mark.parametrize("words", [["--help"], ["lower", "--help"], ["--version"]], ids=" ".join)
def test_help_that_cannot_be_printed(words):
    for end in ["> /dev/full", ">&-"]:
        run = subprocess.run(f"{DEPUTE} {' '.join(words)} {end}", shell=True, capture_output=True, timeout=TIMEOUT)
        assert run.returncode == 1 and b"standard output" in run.stderr


@pytest.mark.parametrize("options", [[], ["--quiet", "--dump-after", "read"]])
def test_text_that_cannot_be_printed(options, tmp_path):
    """The files are in place, and the exit code says that something went wrong."""
    with open("/dev/full", "w") as full:
        command = [DEPUTE, "lower", MLP, "-o", tmp_path / "out.pte", *options]
        run = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=TIMEOUT)
    assert run.returncode == 1 and b"standard output" in run.stderr
    assert (tmp_path / "out.pte").is_file()
