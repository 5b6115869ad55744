"""A pytest plugin for ExecuTorch's own tests of recipes: `export` and `ExportSession`, which they import from executorch.export,
are those of depute.recipes."""

import executorch.export
from depute import recipes

for name in ("export", "ExportSession"):
    setattr(executorch.export, name, getattr(recipes, name))
