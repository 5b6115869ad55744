"""Types of nodes' results: element types, sizes, tensors without content.

They have the interface of torch's FakeTensor and SymInt, and compare equal to torch's dtypes, layouts and
devices, without importing torch:

    node.meta["val"].shape          (1, 3, SymInt(s0))
    node.meta["val"].dtype == torch.float32
"""

from __future__ import annotations

from typing import Any, NoReturn

from . import _depute


class TorchName(str):
    """The name of a torch object such as "torch.strided" or "cpu". Equal to that object."""

    __slots__ = ()

    def __new__(cls, kind: str, value: Any) -> TorchName:
        return str.__new__(cls, _NAMES[kind][value - 1] if kind in _NAMES else value)

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other if isinstance(other, str) else str(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def torch_number(kind: str, value: object) -> int:
    """Returns the number of a torch layout or memory format in .pt2 files."""
    return _NAMES[kind].index(str(value)) + 1


# In the order of .pt2 files, which number them from 1.
_NAMES = {
    "memory_format": ("torch.contiguous_format", "torch.channels_last", "torch.channels_last_3d", "torch.preserve_format"),
    "layout": (
        "torch.sparse_coo",
        "torch.sparse_csr",
        "torch.sparse_csc",
        "torch.sparse_bsr",
        "torch.sparse_bsc",
        "torch._mkldnn",
        "torch.strided",
    ),
}


class DType(str):
    """An element type such as "float32". Equal to torch.float32, to numpy's float32, and to its name.

    Not found in sets and dicts of torch dtypes, which compare hashes first: use lists or names.
    """

    __slots__ = ()

    @staticmethod
    def of(name: str) -> DType:
        try:
            return _DTYPES[name.removeprefix("torch.")]
        except KeyError:
            raise ValueError(f"unknown element type {name!r}; expected one of {', '.join(_DTYPES)}") from None

    @property
    def itemsize(self) -> int:
        """Size of one element in bytes."""
        return _SIZES[str(self)]

    @property
    def short_name(self) -> str:
        """Name in the text form: "f32"."""
        return _SHORT[str(self)]

    @property
    def is_floating_point(self) -> bool:
        return "float" in str(self)

    @property
    def is_complex(self) -> bool:
        return self.startswith("complex")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return str.__eq__(self, other)
        if isinstance(other, type):
            return str.__eq__(self, other.__name__)
        return str.__eq__(self, str(other).removeprefix("torch."))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __repr__(self) -> str:
        return f"depute.dtype({str.__repr__(self)})"


_SHORT = {name: short for name, (short, size) in _depute.scalar_types()}
_SIZES = {name: size for name, (short, size) in _depute.scalar_types()}
_DTYPES = {name: DType(name) for name in _SHORT}


class SymInt:
    """A dynamic size: an expression of symbols, and its bounds."""

    __slots__ = ("expr", "min", "max")

    def __init__(self, expr: str, min: int | None = None, max: int | None = None) -> None:
        self.expr = expr  # "2*s96 + 1"
        self.min = min  # None: unbounded
        self.max = max

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SymInt):
            return self.expr == other.expr
        return False if isinstance(other, int) else str(other) == self.expr

    def __hash__(self) -> int:
        return hash(self.expr)

    def __int__(self) -> NoReturn:
        raise TypeError(f"{self.expr} is known only at run time; its bounds are {self.min} and {self.max}")

    __index__ = __int__

    def __str__(self) -> str:
        return self.expr

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.expr})"


class SymFloat(SymInt):
    """A floating-point number that is only known at run time."""

    __slots__ = ()


class SymBool(SymInt):
    """A boolean that is only known at run time."""

    __slots__ = ()


class Value:
    """A tensor without content: the type of a node's result or of an input. Strides are in elements."""

    __slots__ = ("dtype", "shape", "_strides", "_is_contiguous")

    def __init__(self, dtype: DType, shape: tuple[int | SymInt, ...], strides: tuple[int | SymInt, ...], is_contiguous: bool) -> None:
        self.dtype = dtype
        self.shape = shape  # ints and SymInts
        self._strides = strides
        self._is_contiguous = is_contiguous

    device = TorchName("device", "cpu")
    layout = TorchName("layout", 7)
    requires_grad = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def dim(self) -> int:
        return len(self.shape)

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def stride(self, dim: int | None = None) -> Any:
        return self._strides if dim is None else self._strides[dim]

    def is_contiguous(self) -> bool:
        return self._is_contiguous

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def element_size(self) -> int:
        """Size of one element in bytes."""
        return self.dtype.itemsize

    def numel(self) -> int:
        """Returns the number of elements. Raises TypeError if a size is dynamic."""
        count = 1
        for size in self.shape:
            count *= int(size)
        return count

    @property
    def nbytes(self) -> int:
        return self.numel() * self.dtype.itemsize

    def dim_order(self) -> tuple[int, ...]:
        """Returns the dimensions from outermost to innermost in memory."""
        order = sorted(range(self.ndim), key=lambda dim: int(self._strides[dim]), reverse=True)
        return tuple(range(self.ndim)) if self._is_contiguous else tuple(order)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Value):
            return NotImplemented
        mine = (self.dtype, self.shape, self._strides)
        return mine == (other.dtype, other.shape, other._strides)

    def __hash__(self) -> int:
        return hash((self.dtype, self.shape, self._strides))

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self.shape))
        strides = "" if self._is_contiguous else f"{{strides=[{', '.join(map(str, self._strides))}]}}"
        return f"{self.dtype.short_name}[{sizes}]{strides}"
