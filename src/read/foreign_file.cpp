#include "read/foreign_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ir/text/lexer.h"
#include "read/ptd.h"
#include "read/pte.h"

namespace depute {
namespace {

constexpr std::string_view export_it =
    "export the PyTorch model itself: torch.export.save(torch.export.export(model.eval(), example_inputs), "
    "\"model.pt2\")";
constexpr std::string_view load_and_export =
    "load it into its model in Python, then torch.export.save(torch.export.export(model.eval(), "
    "example_inputs), \"model.pt2\")";
constexpr std::string_view unpack_it = "unpack it first";
constexpr std::string_view whole_archive = "a .pt2 file is the whole archive that torch.export.save writes";

struct Signature {
  std::size_t offset;
  std::string_view bytes;
  ForeignFile kind;
};

constexpr std::array signatures = {
    Signature{
        0, "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.", {"an old file of torch.save", load_and_export}},
    Signature{0, "GGUF", {"a GGUF file, weights without the exported program", load_and_export}},
    Signature{0, "\x89HDF\r\n\x1a\n", {"an HDF5 file", load_and_export}},
    Signature{0, "\x93NUMPY", {"a NumPy array", load_and_export}},
    Signature{4, "TFL3", {"a TensorFlow Lite model", export_it}},
    Signature{
        4, "BP08", {"a bundled program of ExecuTorch, compiled already", "give the .pt2 it was made from; `depute show` prints it"}},
    Signature{257, "ustar", {"a tar archive", unpack_it}},
    Signature{0, "\x1f\x8b", {"compressed by gzip", unpack_it}},
    Signature{0, "\x28\xb5\x2f\xfd", {"compressed by zstd", unpack_it}},
    Signature{0,
              "\xfd"
              "7zXZ",
              {"compressed by xz", unpack_it}},
    Signature{0, "BZh", {"compressed by bzip2", unpack_it}},
    Signature{0,
              "\x7f"
              "ELF",
              {"machine code (ELF), as AOTInductor and compilers of C++ write it", export_it}},
    Signature{
        0, "version https://git-lfs", {"a pointer of Git LFS, not the file itself", "run `git lfs pull`"}},
};

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Reads a protobuf number; false at the end.
bool take_number(std::string_view& bytes, std::uint64_t& number) {
  number = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// Recognizes ONNX, which has no signature: a protobuf message that starts with ir_version (1) and has a graph
// (7) among its first fields.
bool is_onnx(std::string_view bytes) {
  constexpr std::uint64_t ir_version = 1;
  constexpr std::uint64_t graph = 7;
  constexpr std::uint64_t last_field = 25;
  if (!bytes.starts_with('\x08')) return false;
  for (int fields = 0; fields < 64; ++fields) {
    std::uint64_t key = 0;
    std::uint64_t number = 0;
    if (!take_number(bytes, key) || !take_number(bytes, number)) return false;
    const std::uint64_t field = key >> 3;
    const bool has_length = (key & 7) == 2;
    if (field < ir_version || field > last_field || (!has_length && (key & 7) != 0)) return false;
    if (field == graph) return has_length;
    if (!has_length) continue;
    if (number > bytes.size()) return false;
    bytes.remove_prefix(number);
  }
  return false;
}

// Recognizes the length of a JSON header, followed by the header.
bool is_safetensors(std::string_view bytes) {
  if (bytes.size() < 10 || bytes[8] != '{') return false;
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
  return length >= 2 && length <= bytes.size() - 8;
}

// Recognizes Python pickles of protocol 2 and later.
bool is_pickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

bool is_text(std::string_view bytes) {
  auto is_control = [](char c) {
    return static_cast<unsigned char>(c) < ' ' && !std::string_view("\t\n\r\f").contains(c);
  };
  return std::ranges::none_of(bytes.substr(0, 4096), is_control);
}

std::optional<ForeignFile> recognize_text(std::string_view bytes) {
  const std::string unnamed;
  text::Lexer lexer(bytes, unnamed);
  const std::string_view start = lexer.rest();
  if (lexer.accept_word("program")) return std::nullopt;
  if (start.starts_with('{') || start.starts_with('[')) return ForeignFile{"JSON text", whole_archive, true};
  if (start.starts_with("<!") || start.starts_with("<html")) {
    return ForeignFile{"a web page", "download the file itself, not the page about it", true};
  }
  return ForeignFile{"text that does not begin with `program`", whole_archive, true};
}

}  // namespace

std::string not_a_program(const ForeignFile& foreign) {
  return fmt::format("this is {}, not an exported program", foreign.what);
}

std::optional<ForeignFile> recognize_foreign(std::span<const std::byte> file) {
  const std::string_view bytes = text_of(file);
  if (is_pte(file)) {
    return ForeignFile{"a .pte file, a program compiled already",
                       "give the .pt2 it was made from; `depute show` prints it"};
  }
  if (is_ptd(file)) {
    return ForeignFile{"a .ptd file, the data of a compiled program",
                       "give the .pt2 it was made from; `depute show` prints it"};
  }
  for (const Signature& signature : signatures) {
    if (bytes.size() < signature.offset) continue;
    if (bytes.substr(signature.offset).starts_with(signature.bytes)) return signature.kind;
  }
  if (is_safetensors(bytes))
    return ForeignFile{"a safetensors file, weights without a program", load_and_export};
  if (is_onnx(bytes)) return ForeignFile{"an ONNX model", export_it};
  if (is_pickle(bytes)) return ForeignFile{"a Python pickle", load_and_export};
  if (is_text(bytes)) return recognize_text(bytes);
  return ForeignFile{"a file in an unknown format", whole_archive};
}

std::optional<ForeignFile> recognize_foreign(const Archive& archive) {
  auto any = [&](auto&& is_it) {
    return std::ranges::any_of(archive.entries(),
                               [&](const ArchiveEntry& entry) { return is_it(entry.name); });
  };
  auto contains = [&](std::string_view part) {
    return any([&](std::string_view name) { return name.contains(part); });
  };
  auto ends_with = [&](std::string_view end) {
    return any([&](std::string_view name) { return name.ends_with(end); });
  };
  if (contains("data/aotinductor/")) {
    return ForeignFile{"an AOTInductor package, which holds machine code and no program", export_it};
  }
  if (archive.prefix_of("data.pkl")) {
    if (ends_with("constants.pkl") || contains("/code/")) {
      return ForeignFile{"a TorchScript file", export_it};
    }
    return ForeignFile{"a file of torch.save, weights or a pickled module", load_and_export};
  }
  if (ends_with(".npy")) return ForeignFile{"NumPy arrays (.npz)", load_and_export};
  if (contains("MAR-INF/")) return ForeignFile{"a model archive of TorchServe", export_it};
  if (contains(".data/extern_modules")) return ForeignFile{"a torch.package", load_and_export};
  if (ends_with(".pt2")) return ForeignFile{"a zip archive with a .pt2 file in it", unpack_it};
  if (ends_with(".weights.h5")) return ForeignFile{"a Keras model", export_it};
  return std::nullopt;
}

}  // namespace depute
