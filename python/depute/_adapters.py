"""Converts objects that were written for ExecuTorch where objects of Depute are expected.

depute.compat.executorch registers the functions that convert. It needs torch and executorch, so it is imported when
such an object is first given.
"""

from importlib import import_module

# Modules of the classes that ExecuTorch's objects inherit from; also modules below them.
_CLASSES = {
    "partitioner": "executorch.exir.backend.partitioner",
    "backend": "executorch.exir.backend.backend_details",
    "backend_config": "executorch.exir.capture._config",
    "transform": "torch.fx.passes",
}
_ADAPTERS = {}


def register(**adapters):
    _ADAPTERS.update(adapters)


def adapted(what, given):
    """Returns an object, or a class, in Depute's terms: converted if it inherits from a class of ExecuTorch."""
    kind = given if isinstance(given, type) else type(given)
    if not any(base.__module__.startswith(_CLASSES[what]) for base in kind.__mro__):
        return given
    if what not in _ADAPTERS:
        import_module("depute.compat.executorch")
    return _ADAPTERS[what](given)
