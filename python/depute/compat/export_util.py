"""The functions of executorch.extension.export_util.utils, implemented with Depute: from a torch module to a .pte file.

Scripts for ExecuTorch's functions can import these instead. Needs torch.
"""

import logging
import os

import torch

from ..manager import to_edge


def export_to_edge(
    model,
    example_inputs,
    *,
    example_kwarg_inputs=None,
    dynamic_shapes=None,
    edge_constant_methods=None,
    edge_compile_config=None,
    strict=True,
    verbose=True,
):
    """Returns the EdgeProgramManager of a torch.nn.Module, exported with these inputs."""
    if not isinstance(model, torch.nn.Module):
        raise ValueError(f"model: expected a torch.nn.Module, got {type(model).__name__}")
    # ExecuTorch's scripts pass None if their --strict option is not given.
    exported = torch.export.export(
        model, tuple(example_inputs), example_kwarg_inputs, dynamic_shapes=dynamic_shapes, strict=bool(strict)
    )
    if verbose:
        logging.info(f"Core ATen graph:\n{exported.graph}")
    edge = to_edge(exported, constant_methods=edge_constant_methods, compile_config=edge_compile_config)
    if verbose:
        logging.info(f"Exported graph:\n{edge.program.text()}")
    return edge


def export_to_exec_prog(model, example_inputs, *, backend_config=None, **others):
    """Returns the ExecutorchProgramManager of a torch.nn.Module. `others` are the arguments of export_to_edge."""
    return export_to_edge(model.eval(), example_inputs, **others).to_executorch(backend_config)


def save_pte_program(prog, model_name, output_dir=""):
    """Writes MODEL_NAME.pte and its .ptd files into a folder, and returns the path of the .pte file.

    Errors are raised; ExecuTorch's function logs them and returns.
    """
    filename = model_name if model_name.endswith(".pte") else os.path.join(output_dir, f"{model_name}.pte")
    with open(filename, "wb") as file:
        prog.write_to_file(file)
    prog.write_tensor_data_to_file(outdir=output_dir)
    logging.info(f"Saved exported program to {filename}")
    return filename
