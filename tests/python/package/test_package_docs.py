"""What docs/python.md and the notebook show is what happens."""

import ast
import inspect
import json
import re

import depute
import depute.compat
import pytest
import torch
from executorch import exir
from executorch.exir.backend import backend_api, backend_details, partitioner, utils
from harness import ROOT

PAGE = (ROOT / "docs" / "python.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_every_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Tanh()).eval()
    torch.export.save(torch.export.export(model, (torch.ones(2, 4),)), "model.pt2")
    scope = {}
    for block in BLOCKS:
        exec(compile(block, "docs/python.md", "exec"), scope)
    assert len(BLOCKS) >= 5 and (tmp_path / "model.pte").exists()
    assert "delegate" in capsys.readouterr().out
    assert scope["lowered"].processed_bytes == b"my instructions"


def test_every_name_of_the_package_is_told_of():
    for name in depute.__all__:
        assert re.search(rf"\b{name}\b", PAGE) or name in ("Graph", "GraphModule", "Source", "Op", "SymInt", "Value", "__version__", "DType", "dtype", "DelegationInfo"), name


def test_every_public_name_of_exir_is_told_of():
    table = PAGE.split("## 7.")[1].split("## 8.")[0]
    names = {name for name in dir(exir) if not name.startswith("_") and not inspect.ismodule(getattr(exir, name))}
    for module in (backend_api, backend_details, partitioner, utils):
        names |= {name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__}
    missing = {name for name in names if not name.startswith("_") and not re.search(rf"\b{name}\b", table)}
    assert len(names) > 30 and missing == {"Any", "ExportedProgram"}  # typing's, and torch.export's


def test_names_in_the_table_exist():
    table = PAGE.split("## 7.")[1].split("\n\n")[1]
    for name in set(re.findall(r"`depute\.(\w+)", table)):
        assert hasattr(depute, name), name
    for manager, row in ((depute.EdgeProgramManager, "exir.EdgeProgramManager"), (depute.ExecutorchProgramManager, "exir.ExecutorchProgramManager")):
        line = next(line for line in table.splitlines() if row in line)
        for name in re.findall(r"`(\w+)(?:\(.*?\))?`", line):
            assert hasattr(manager, name), name


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda path: path.name)
def test_notebooks_run(path):
    cells = ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    scope, last = {}, None
    for cell in cells:
        *statements, final = ast.parse(cell).body
        exec(compile(ast.Module(statements, []), path.name, "exec"), scope)
        if isinstance(final, ast.Expr):
            last = eval(compile(ast.Expression(final.value), path.name, "eval"), scope)
            assert last is None or repr(last)
        else:
            exec(compile(ast.Module([final], []), path.name, "exec"), scope)
    assert last is True
