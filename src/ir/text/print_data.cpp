// Prints constants, blobs and delegates: small ones completely, large ones as size and hash.
//
//   data "conv.bias": f32[2] = [0.5, -1.0]
//   data "conv.weight": f32[64, 3, 7, 7] = elided(37632, "xxh3:...")
//   data "tied": f32[1]{...} = view("conv.bias") at 1
#include <algorithm>

#include "ir/text/element_text.h"
#include "ir/text/printer.h"
#include "ir/text/text.h"

namespace depute::text {
namespace {

// True if a string literal shows the bytes well.
bool is_printable(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) {
    auto c = static_cast<unsigned char>(byte);
    return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t';
  });
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void Printer::data(Name key, const TensorData& data) {
  line();
  out_ += "data ";
  quoted(key.str());
  out_ += ": ";
  out_ += str(data.type);
  out_ += " = ";
  content(key, data);
  out_ += '\n';
}

// The first data in a storage spell out all its bytes, as numbers of that data's type if possible, else in
// hexadecimal. Later data are views of the first.
void Printer::content(Name key, const TensorData& data) {
  const Storage& storage = *data.storage;
  if (storage.is_zeros()) {
    out_ += "zeros";
    return;
  }
  if (storage.is_elided() || storage.size() > options_.max_inline_bytes) {
    if (!place(key, data)) elided(data.byte_size(), content_hash(data));
    return;
  }
  auto [first, is_new] = printed_storages_.try_emplace(&storage, key);
  std::size_t start = out_.size();
  if (!is_new) {
    out_ += "view(";
    quoted(first->second.str());
    out_ += ')';
  } else if (!elements(data)) {
    out_.resize(start);
    hex(storage.bytes());
  }
  if (data.offset == 0) return;
  out_ += " at ";
  number(data.offset);
}

// Prints the location of a large storage, or the earlier data with the same storage. Returns false if there
// is neither.
bool Printer::place(Name key, const TensorData& data) {
  const Storage* storage = data.storage.get();
  if (auto first = printed_storages_.find(storage); first != printed_storages_.end()) {
    out_ += "view(";
    quoted(first->second.str());
    out_ += ')';
  } else if (place(*storage)) {
    printed_storages_.emplace(storage, key);
  } else {
    return false;
  }
  if (data.offset != 0) {
    out_ += " at ";
    number(data.offset);
  }
  return true;
}

bool Printer::place(const Storage& storage) {
  if (!options_.place_of_data || storage.is_elided()) return false;
  const std::optional<DataPlace> place = options_.place_of_data(storage);
  if (!place) return false;
  out_ += "file(";
  quoted(place->path);
  out_ += ", " + std::to_string(place->offset) + ", " + std::to_string(place->size) + ")";
  return true;
}

bool Printer::elements(const TensorData& data) {
  std::span<const std::byte> bytes = data.storage->bytes();
  std::size_t size = item_size(data.type.dtype);
  if (bytes.size() % size != 0) return false;
  out_ += '[';
  for (std::size_t i = 0; i < bytes.size(); i += size) {
    if (i > 0) out_ += ", ";
    if (!append_element(out_, data.type.dtype, bytes.data() + i)) return false;
  }
  out_ += ']';
  return true;
}

void Printer::bytes(const Storage* storage) {
  if (storage->is_elided() || storage->size() > options_.max_inline_bytes) {
    if (!place(*storage)) elided(storage->size(), content_hash(*storage));
    return;
  }
  bytes(storage->bytes());
}

void Printer::bytes(std::span<const std::byte> bytes) {
  if (is_printable(bytes)) {
    quoted(as_text(bytes));
  } else {
    hex(bytes);
  }
}

void Printer::hex(std::span<const std::byte> bytes) {
  static constexpr std::string_view digits = "0123456789abcdef";
  out_ += "hex(\"";
  for (std::byte byte : bytes) {
    out_ += digits[std::to_integer<std::size_t>(byte >> 4)];
    out_ += digits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  out_ += "\")";
}

void Printer::elided(std::size_t size, const Hash128& hash) {
  out_ += "elided(" + std::to_string(size) + ", \"xxh3:" + hash.hex() + "\")";
}

void Printer::delegate(const Delegate& delegate) {
  line();
  out_ += "delegate ";
  name(delegate.name.str());
  out_ += " backend ";
  quoted(delegate.backend_id);
  out_ += " {\n";
  ++depth_;
  for (const CompileSpec& spec : delegate.compile_specs) {
    entry("spec ", spec.key);
    out_ += " = ";
    bytes(spec.value);
    out_ += '\n';
  }
  if (!delegate.delegate_info.empty()) {
    entry("info ", delegate.delegate_info);
    out_ += '\n';
  }
  if (delegate.arena_padding != 0) {
    line();
    out_ += "padding " + std::to_string(delegate.arena_padding) + "\n";
  }
  if (delegate.processed_bytes != nullptr) {
    line();
    out_ += delegate.inline_bytes ? "blob inline " : "blob ";
    bytes(delegate.processed_bytes.get());
    out_ += '\n';
  }
  for (const NamedData& named : delegate.named_data) {
    entry("data ", named.key);
    out_ += " align " + std::to_string(named.alignment);
    if (!named.external_tag.empty()) {
      out_ += " external ";
      quoted(named.external_tag);
    }
    if (named.layout) out_ += " layout " + str(*named.layout);
    out_ += " = ";
    bytes(named.storage.get());
    out_ += '\n';
  }
  debug_handles(delegate.debug_handle_map);
  if (options_.originals && delegate.original != nullptr) original(*delegate.original);
  --depth_;
  line();
  out_ += "}\n";
}

void Printer::entry(std::string_view word, std::string_view key) {
  line();
  out_ += word;
  quoted(key);
}

void Printer::debug_handles(const DebugHandleMap& map) {
  for (const auto& [id, handles] : map) {
    line();
    out_ += "debug ";
    if (const auto* id_number = std::get_if<std::int64_t>(&id)) {
      number(*id_number);
    } else {
      quoted(std::get<std::string>(id));
    }
    out_ += " =";
    for (std::uint32_t handle : handles) out_ += " #" + std::to_string(handle);
    out_ += '\n';
  }
}

void Printer::original(const Program& program) {
  line();
  out_ += "original {\n";
  Printer inner(options_);
  inner.depth_ = depth_ + 1;
  inner.items(program);
  out_ += inner.take();
  line();
  out_ += "}\n";
}

}  // namespace depute::text
