"""Delegates as torch modules: they can be called and exported, and depute.from_torch reads them back.

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lowered = depute.to_backend("XnnpackBackend", program, []).to_torch()

        def forward(self, x):
            return self.lowered(x + 1)           ->  executorch_call_delegate(lowered_module_0, add)
"""

import torch
from torch._higher_order_ops.executorch_call_delegate import executorch_call_delegate

from ._errors import Error
from ._to_torch import exported_program_of
from .graph import GraphModule


class LoweredBackendModule(torch.nn.Module):
    """A depute.LoweredBackendModule (`lowered`) as a torch module. torch identifies it by its class name and computes
    its original program. `flat`: takes a tuple of tensors and returns a tuple, instead of the original's arguments."""

    def __init__(self, lowered, flat=False):
        super().__init__()
        original = lowered.original_module
        if original is None:
            raise _error(lowered, "the delegate does not have its original program")
        if any("MUTATION" in spec.kind for spec in original.graph_signature.output_specs):
            raise _error(lowered, "it has state, which torch would not keep between calls")
        self.lowered = lowered
        self.original_module = exported_program(original, flat)

    backend_id = property(lambda self: self.lowered.backend_id)
    processed_bytes = property(lambda self: self.lowered.processed_bytes)
    compile_specs = property(lambda self: self.lowered.compile_specs)
    meta = property(lambda self: self.lowered.meta)
    named_data_store_output = property(lambda self: self.lowered.named_data_store_output)

    def forward(self, *args):
        return executorch_call_delegate(self, *args)

    def __deepcopy__(self, memo):
        return self  # immutable, and a program contains each delegate once


def _error(lowered, message):
    return Error("to_torch", f"delegate {lowered.name or lowered.backend_id}", message)


def exported_program(method, flat=False):
    """Returns a Method as an ExportedProgram whose delegates are such modules."""
    program = exported_program_of(method, flat=flat)
    if method.program._native.delegate_names():
        _add_delegates(program.graph_module, method.graph_module, {})
    return program


def _add_delegates(theirs, ours, made):
    """Replaces the empty graphs that torch's reader created in a module and its bodies; one module per delegate."""
    for name, child in ours.named_children():
        if isinstance(child, GraphModule):
            _add_delegates(theirs.get_submodule(name), child, made)
        else:
            if child.name not in made:
                made[child.name] = LoweredBackendModule(child, flat=True)
            setattr(theirs, name, made[child.name])
