"""depute.size: the ledger of `depute size` as an object, of files, bytes and programs in memory."""

import json
import re

import depute
import pytest
from harness import SAMPLES, sample
from harness import depute as command_line

TIED = SAMPLES / "ref" / "tied.xnnpack.pte"  # of ExecuTorch's own flow


@pytest.fixture(scope="module")
def lowered():
    return depute.to_edge_transform_and_lower(sample("tied"), partitioner="xnnpack").to_executorch()


def test_it_tells_what_the_command_tells(lowered, tmp_path):
    lowered.save(tmp_path / "ours.pte")
    for file in (TIED, tmp_path / "ours.pte"):
        ledger = depute.size(file)
        assert ledger.to_dict() == json.loads(command_line("size", file, "--json").stdout)
        for top in (0, 1, 10):
            assert ledger.text(top) == command_line("size", file, "--top", str(top)).stdout
        assert repr(ledger) == ledger.text()


def test_each_byte_is_counted_once():
    ledger = depute.size(TIED)
    assert ledger.bytes == TIED.stat().st_size == sum(entry["bytes"] for entry in ledger.entries) == sum(ledger.kinds.values())
    assert ledger.file == str(TIED)
    assert ledger.savable == sum(each["saves"] for each in ledger.duplicates) == 288
    assert [copy["offset"] for copy in ledger.duplicates[0]["copies"]] == [5376, 9728]


def test_bytes_and_programs_in_memory_have_the_same(lowered, tmp_path):
    of_program, of_bytes = depute.size(lowered), depute.size(bytearray(lowered.buffer))
    assert of_program.entries == of_bytes.entries and of_program.bytes == len(lowered.buffer)
    assert (of_program.file, of_bytes.file) == ("program.pte", "<memory>")
    assert depute.size(TIED.read_bytes()).entries == depute.size(TIED).entries
    lowered.save(tmp_path / "m.pte")
    assert of_program.entries == depute.size(tmp_path / "m.pte").entries


def test_it_is_a_data_frame():
    ledger = depute.size(TIED)
    frame = ledger.to_dataframe()
    assert list(frame.columns) == ["offset", "bytes", "kind", "owner", "name"]
    assert frame.groupby("kind")["bytes"].sum().to_dict() == ledger.kinds
    assert frame["name"].isna().sum() == 0 and frame.to_dict("records") == ledger.entries


def test_notebooks_show_tables(lowered, tmp_path):
    page = depute.size(TIED)._repr_html_()
    assert page.startswith(f"<div><b>{TIED}</b><table>") and page.count("<table>") == page.count("</table>") == 2
    assert f"<td>total</td><td>{TIED.stat().st_size}</td><td>100.0 %</td>" in page
    assert "<td>288</td><td>2</td>" in page
    sizes = [int(size) for size in re.findall(r"<td>(\d+)</td><td>[\d.]+ %</td>", page)][:-1]
    assert sizes == sorted(depute.size(TIED).kinds.values(), reverse=True)
    lowered.save(tmp_path / "a<b>.pte")
    assert "a&lt;b&gt;.pte" in depute.size(tmp_path / "a<b>.pte")._repr_html_()


def test_what_is_no_such_file_is_refused(tmp_path):
    with pytest.raises(depute.Error, match="No such file"):
        depute.size(tmp_path / "none.pte")
    for content in (b"", b"not a program", TIED.read_bytes()[:3000]):
        with pytest.raises(depute.Error, match="<memory>"):
            depute.size(content)
    with pytest.raises(TypeError, match="size: expected a path, bytes or an ExecutorchProgramManager, not int"):
        depute.size(3)
    with pytest.raises(ValueError, match="top: expected 0 or more"):
        depute.size(TIED).text(-1)
