// Writes a zip archive of .npy files: each has a header, a Python dictionary, followed by the elements.
//
//   "x": f32[2, 3]
//     ->  x.npy: \x93NUMPY 1 0 118 {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, ), }
#include "write/write_npz.h"

#include <fmt/format.h>

#include "read/npz.h"
#include "support/try.h"
#include "write/zip_writer.h"

namespace depute {
namespace {

// Pads the header with blanks, so that elements start at a multiple of 64 bytes in the file.
std::string npy_header(std::string_view descr, const TensorType& type) {
  std::string shape;
  for (const SymInt& size : type.sizes) shape += fmt::format("{}, ", size.value());
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  constexpr std::size_t before = 10;
  constexpr std::size_t alignment = 64;
  const std::size_t size = (before + text.size() + 1 + alignment - 1) / alignment * alignment - before;
  text.resize(size - 1, ' ');
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(size & 0xff);
  header += static_cast<char>(size >> 8);
  return header + text + "\n";
}

}  // namespace

Status write_npz(const NamedArrays& arrays, Output& output) {
  ZipWriter zip(output);
  for (const auto& [name, data] : arrays) {
    const std::string_view descr = npy_descr(data.type.dtype);
    if (descr.empty())
      return failure("write", name,
                     fmt::format("numpy does not support arrays of {}", depute::name(data.type.dtype)));
    const std::string header = npy_header(descr, data.type);
    const TensorData dense = data.contiguous();
    const auto head = std::as_bytes(std::span(header));
    std::vector<std::byte> bytes(head.begin(), head.end());
    const auto elements = dense.dense_bytes();
    bytes.insert(bytes.end(), elements.begin(), elements.end());
    TRY_STATUS(zip.add(name + ".npy", bytes));
  }
  return zip.finish();
}

}  // namespace depute
