"""Converts objects that were written for ExecuTorch where objects of Depute are expected.

depute.compat.executorch registers the functions that convert. It needs torch and executorch, so it is imported when
such an object is first given.
"""

import inspect
from importlib import import_module

# Modules of the classes that ExecuTorch's objects inherit from; also modules below them. A function that is a pass has
# the class of its first parameter: def replace_tan(module: torch.fx.GraphModule).
_CLASSES = {
    "partitioner": ("executorch.exir.backend.partitioner",),
    "backend": ("executorch.exir.backend.backend_details",),
    "backend_config": ("executorch.exir.capture._config",),
    "pass_manager": ("torch.fx.passes.infra.pass_manager",),
    "transform": ("torch.fx.passes", "torch.fx.graph_module", "executorch.exir.pass_base"),
}
_ADAPTERS = {}


def register(**adapters):
    _ADAPTERS.update(adapters)


def adapted(what, given):
    """Returns an object, or a class, in Depute's terms: converted if it inherits from a class of ExecuTorch."""
    kind = given if isinstance(given, type) else type(given)
    if what == "transform" and inspect.isroutine(given):
        kind = parameter_class(given)
    if not any(base.__module__.startswith(_CLASSES[what]) for base in kind.__mro__):
        return given
    if what not in _ADAPTERS:
        import_module("depute.compat.executorch")
    return _ADAPTERS[what](given)


def parameter_class(function):
    """Returns the annotated class of the first parameter; object if there is none."""
    try:
        parameters = inspect.signature(function, eval_str=True).parameters.values()
    except (NameError, AttributeError, TypeError, ValueError):  # names that only a type checker imports
        return object
    found = next((each.annotation for each in parameters), object)
    return found if isinstance(found, type) and found is not inspect.Parameter.empty else object
