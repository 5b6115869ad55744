// Constants as arrays for numpy, torch and memoryview, which point to the program's memory or a mapped file.
//
// Arrays are read-only. They keep their storage alive, even if the program is deleted.
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind_data.h"
#include "depute/program/data.h"
#include "depute/program/op.h"

namespace depute::python {
namespace {

nb::dlpack::dtype dlpack_type(ScalarType type, std::string_view reader) {
  using Code = nb::dlpack::dtype_code;
  Code code = Code::Int;
  if (is_complex(type)) {
    code = Code::Complex;
  } else if (type == ScalarType::BF16) {
    code = Code::Bfloat;
  } else if (type == ScalarType::F16 || type == ScalarType::F32 || type == ScalarType::F64) {
    code = Code::Float;
  } else if (type == ScalarType::Bool) {
    code = Code::Bool;
  } else if (type == ScalarType::U8 || type == ScalarType::U16 || type == ScalarType::U32 ||
             type == ScalarType::U64) {
    code = Code::UInt;
  } else if (!is_integral(type)) {
    raise({.code = "constant",
           .message = std::string(reader) + " has no element type " + std::string(name(type)),
           .hint = "memoryview(constant.bytes()) has the elements in row-major order"});
  }
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * item_size(type)), 1};
}

void check_has_bytes(const Constant& constant) {
  if (!constant.data.storage->is_elided()) return;
  raise({.code = "constant",
         .where = constant.name,
         .message = "the program text omits the bytes of the constant",
         .hint = "print the program with its data: program.text(data=True)"});
}

template <typename Array>
Array array_of(const Constant& constant, nb::handle owner, std::string_view reader) {
  check_has_bytes(constant);
  const TensorType& type = constant.data.type;
  std::vector<std::size_t> sizes;
  std::vector<std::int64_t> strides;
  for (const SymInt& size : type.sizes) sizes.push_back(static_cast<std::size_t>(size.value()));
  for (const SymInt& stride : type.is_contiguous() ? contiguous_strides(type.sizes) : type.strides) {
    strides.push_back(stride.value());
  }
  nb::dlpack::dtype dtype = dlpack_type(type.dtype, reader);
  std::span<const std::byte> bytes;
  {
    nb::gil_scoped_release release;
    bytes = constant.data.storage->bytes();
  }
  const std::byte* first =
      bytes.data() + static_cast<std::size_t>(constant.data.offset) * item_size(type.dtype);
  return Array(first, sizes.size(), sizes.data(), owner, strides.data(), dtype, nb::device::cpu::value, 0);
}

nb::object to_numpy(nb::handle self) {
  const auto& constant = nb::cast<const Constant&>(self);
  if (constant.data.type.dtype == ScalarType::BF16) {
    raise({.code = "constant",
           .where = constant.name,
           .message = "numpy has no element type bf16",
           .hint = "use torch.from_dlpack(constant)"});
  }
  return nb::cast(array_of<nb::ndarray<nb::numpy, nb::ro>>(constant, self, "numpy"));
}

// Returns the elements in row-major order, without a copy if they are stored in that order.
nb::object to_memoryview(nb::handle self) {
  const auto& constant = nb::cast<const Constant&>(self);
  check_has_bytes(constant);
  Constant dense = {constant.name, {}};
  dense.data.storage = dense_bytes(constant.data);
  dense.data.type =
      make_tensor(ScalarType::U8, Dims{SymInt(static_cast<std::int64_t>(dense.data.storage->size()))});
  nb::object owner = nb::cast(dense);
  return nb::cast(array_of<nb::ndarray<nb::memview, nb::ro>>(dense, owner, "memoryview"));
}

nb::object to_dlpack(nb::handle self, nb::args args, nb::kwargs kwargs) {
  const auto& constant = nb::cast<const Constant&>(self);
  nb::object array = nb::cast(array_of<nb::ndarray<nb::array_api, nb::ro>>(constant, self, "DLPack"));
  return array.attr("__dlpack__")(*args, **kwargs);
}

// Returns the whole storage as a constant of bytes, its address, and the view's offset in elements. Views of
// one storage share it.
nb::tuple storage_of(const Constant& constant) {
  check_has_bytes(constant);
  Constant whole = {constant.name, {}};
  whole.data.storage = constant.data.storage;
  whole.data.type =
      make_tensor(ScalarType::U8, Dims{SymInt(static_cast<std::int64_t>(constant.data.storage->size()))});
  auto place = reinterpret_cast<std::uintptr_t>(constant.data.storage->bytes().data());
  return nb::make_tuple(whole, place, constant.data.offset);
}

// Returns (path, offset, bytes) if the constant's memory is part of a file, else None.
nb::object place_of(const Constant& constant) {
  auto place = place_in_file(*constant.data.storage);
  if (!place) return nb::none();
  return nb::make_tuple(place->path, place->offset, place->size);
}

nb::tuple numbers(const Dims& dims) {
  nb::list list;
  for (const SymInt& dim : dims) list.append(dim.value());
  return nb::tuple(list);
}

}  // namespace

TensorData make_tensor_data(const std::string& dtype, const std::vector<std::int64_t>& shape,
                            const nb::bytes& bytes) {
  for (int i = 0; i < scalar_type_count; ++i) {
    auto type = static_cast<ScalarType>(i);
    if (torch_name(type) != dtype) continue;
    Dims sizes;
    for (std::int64_t size : shape) sizes.push_back(size);
    TensorData data = make_data(make_tensor(type, std::move(sizes)), bytes_of(bytes));
    if (!fits_storage(data)) throw nb::value_error("the bytes are not those of a tensor of this shape");
    return data;
  }
  throw nb::value_error(("there is no element type " + dtype).c_str());
}

void bind_data(nb::module_& module) {
  nb::class_<Constant>(module, "Constant", "A constant tensor of a program, read-only and never copied.")
      .def_prop_ro(
          "name", [](const Constant& self) { return self.name; }, "The key in the program's data.")
      .def_prop_ro(
          "shape", [](const Constant& self) { return numbers(self.data.type.sizes); },
          "Elements per dimension.")
      .def(
          "stride",
          [](const Constant& self) {
            const TensorType& type = self.data.type;
            return numbers(type.is_contiguous() ? contiguous_strides(type.sizes) : type.strides);
          },
          "Elements from one index of each dimension to the next.")
      .def_prop_ro("_dtype",
                   [](const Constant& self) { return std::string(torch_name(self.data.type.dtype)); })
      .def_prop_ro(
          "nbytes", [](const Constant& self) { return self.data.byte_size(); }, "Bytes of the elements.")
      .def("numpy", &to_numpy, "The elements as a read-only numpy array, without a copy.")
      .def(
          "bytes", &to_memoryview,
          "The elements in row-major order as a memoryview of bytes; copied only if they have another order.")
      .def("_storage", &storage_of)
      .def("_place", &place_of)
      .def("__dlpack__", &to_dlpack)
      .def("__dlpack_device__", [](const Constant&) { return std::make_pair(1, 0); })
      .def("__len__", [](const Constant& self) {
        if (self.data.type.sizes.empty()) throw nb::type_error("a constant of rank 0 has no length");
        return static_cast<std::size_t>(self.data.type.sizes[0].value());
      });
  module.def("pt2_scalar_types", [] {
    std::map<std::string, std::int64_t> numbers;
    for (std::int64_t number = 0; number < 2 * scalar_type_count; ++number) {
      if (auto type = scalar_type_from_pt2(number)) numbers[std::string(torch_name(*type))] = number;
    }
    return numbers;
  });
  module.def("op_names", [] {
    std::vector<std::string> names;
    for (const OpDef* op : all_ops()) names.emplace_back(op->name.str());
    return names;
  });
  module.def("scalar_types", [] {
    std::vector<std::pair<std::string, std::pair<std::string, std::size_t>>> all;
    for (int i = 0; i < scalar_type_count; ++i) {
      auto type = static_cast<ScalarType>(i);
      all.push_back({std::string(torch_name(type)), {std::string(name(type)), item_size(type)}});
    }
    return all;
  });
}

}  // namespace depute::python
