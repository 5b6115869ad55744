"""A pytest plugin for ExecuTorch's own tests of recipes, bundled programs, integer borders and taps: what they import from
executorch is Depute's."""

import importlib

import depute
from depute import recipes, taps

# Module of ExecuTorch -> its names, and where Depute has them.
NAMES = {
    "executorch.export": (recipes, ["export", "ExportSession"]),
    "executorch.exir": (depute, ["to_edge", "to_edge_transform_and_lower"]),
    "executorch.exir.passes.quantize_io_pass": (depute, ["QuantizeInputs", "QuantizeOutputs"]),
    "executorch.devtools.bundled_program.core": (depute, ["BundledProgram"]),
    "executorch.devtools.bundled_program.serialize": (depute, ["serialize_from_bundled_program_to_flatbuffer"]),
    "executorch.devtools.intermediate_output_tap": (taps, ["strip_taps_", "tap_compare"]),
}

# Recipes run upstream's own stages before Depute's.
importlib.import_module("executorch.export")
for module, (ours, names) in NAMES.items():
    try:
        theirs = importlib.import_module(module)
    except ImportError:  # of a later release
        continue
    for name in names:
        setattr(theirs, name, getattr(ours, name))
