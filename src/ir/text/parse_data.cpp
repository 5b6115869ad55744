// Parses constants, blobs and delegates.
//
//   data     = "data" string ":" type "=" content ["at" int]
//   content  = "[" [element {"," element}] "]" | "zeros" | "random" "(" int ")" | "view" "(" string ")"
//            | bytes
//   bytes    = string | "hex" "(" string ")" | "elided" "(" int "," string ")"
//            | "file" "(" string ["," int "," int] ")"
//   delegate = "delegate" name "backend" string "{" {entry} "}"
//   entry    = "spec" string "=" bytes | "info" string | "blob" ["inline"] bytes
//            | "data" string ["align" int] ["external" string] ["layout" type] "=" bytes
//            | "padding" int | "debug" (int | string) "=" {"#" int}
//            | "original" "{" {dim | data | delegate | method} "}"
#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <filesystem>

#include "ir/text/element_text.h"
#include "ir/text/parser.h"
#include "support/mapped_file.h"
#include "support/try.h"

namespace depute::text {
namespace {

using StoragePtr = std::shared_ptr<const Storage>;

// Returns the bytes a storage needs to contain the tensor; nullopt beyond max_text_tensor_bytes.
std::optional<std::size_t> bytes_needed(const TensorData& data) {
  std::int64_t count = data.offset;
  Dims strides = data.type.is_contiguous() ? contiguous_strides(data.type.sizes) : data.type.strides;
  bool is_empty = false;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    std::int64_t span = 0;
    if (data.type.sizes[i] == 0) is_empty = true;
    if (is_empty) break;
    if (__builtin_mul_overflow(data.type.sizes[i].value() - 1, strides[i].value(), &span))
      return std::nullopt;
    if (__builtin_add_overflow(count, span, &count)) return std::nullopt;
  }
  if (is_empty) return 0;
  std::int64_t bytes = 0;
  if (__builtin_add_overflow(count, 1, &count)) return std::nullopt;
  if (__builtin_mul_overflow(count, static_cast<std::int64_t>(item_size(data.type.dtype)), &bytes))
    return std::nullopt;
  if (bytes < 0 || static_cast<std::size_t>(bytes) > max_text_tensor_bytes) return std::nullopt;
  return static_cast<std::size_t>(bytes);
}

}  // namespace

Status Parser::data(Program& program) {
  std::size_t start = in_.position();
  TRY(std::string key, in_.string("the name of the data"));
  TRY_STATUS(in_.expect(':'));
  TRY(Type data_type, type());
  if (!data_type.is_tensor()) return in_.fault_at(start, "the type of data must be a tensor");
  if (auto size = data_type.tensor.static_bytes(); !size || *size > max_text_tensor_bytes) {
    return in_.fault_at(
        start, fmt::format("the sizes of data must be numbers, and its bytes at most max_text_tensor_bytes "
                           "({})",
                           max_text_tensor_bytes));
  }
  TensorData tensor{.type = data_type.tensor, .offset = 0, .storage = nullptr};
  TRY_STATUS(in_.expect('='));
  std::size_t content_start = in_.position();
  TRY(Content said, content(program, tensor.type));
  if (in_.accept_word("at")) {
    TRY(tensor.offset, in_.integer("an offset"));
  }
  TRY(tensor.storage, make_storage(said, tensor, content_start));
  if (!fits_storage(tensor)) {
    return in_.fault_at(content_start, fmt::format("{} at element {} exceeds the {} bytes of its storage",
                                                   str(tensor.type), tensor.offset, tensor.storage->size()));
  }
  if (!program.data.emplace(Name::scoped(key), std::move(tensor)).second) {
    return in_.fault_at(start, fmt::format("data '{}' is defined twice", key));
  }
  return {};
}

Result<Parser::Content> Parser::content(const Program& program, const TensorType& type) {
  Content said;
  if (in_.peek() == '[') return elements(type.dtype);
  if (in_.accept_word("zeros")) {
    said.kind = Content::Kind::Zeros;
    return said;
  }
  if (in_.accept_word("random")) {
    said.kind = Content::Kind::Random;
    TRY_STATUS(in_.expect('('));
    TRY(std::int64_t seed, in_.integer("a seed"));
    said.seed = static_cast<std::uint64_t>(seed);
    TRY_STATUS(in_.expect(')'));
    return said;
  }
  if (in_.accept_word("view")) {
    TRY_STATUS(in_.expect('('));
    std::size_t start = in_.position();
    TRY(std::string key, in_.string("the name of data"));
    const TensorData* base = program.find_data(Name::scoped(key));
    if (base == nullptr) return in_.fault_at(start, fmt::format("no earlier data is named '{}'", key));
    said.storage = base->storage;
    TRY_STATUS(in_.expect(')'));
    return said;
  }
  TRY(said.storage, bytes());
  return said;
}

Result<Parser::Content> Parser::elements(ScalarType type) {
  std::vector<std::byte> bytes;
  TRY_STATUS(in_.expect('['));
  if (in_.peek() != ']') {
    do {
      TRY_STATUS(element(type, bytes));
    } while (in_.accept(','));
  }
  TRY_STATUS(in_.expect(']'));
  Content said;
  said.storage = Storage::owned(std::move(bytes));
  return said;
}

Status Parser::element(ScalarType type, std::vector<std::byte>& bytes) {
  ScalarType number = number_type(type);
  bool is_pair = number != type;
  if (is_pair) {
    TRY_STATUS(in_.expect_word("complex"));
    TRY_STATUS(in_.expect('('));
  }
  for (int part = 0; part < (is_pair ? 2 : 1); ++part) {
    if (part == 1) TRY_STATUS(in_.expect(','));
    std::size_t start = in_.position();
    std::string_view digits = in_.take_number();
    std::size_t end = bytes.size();
    bytes.resize(end + item_size(number));
    if (!read_number(digits, number, bytes.data() + end)) {
      return in_.fault_at(start, fmt::format("'{}' is not a valid {}", digits, name(number)));
    }
  }
  return is_pair ? in_.expect(')') : Status();
}

Result<StoragePtr> Parser::make_storage(const Content& content, const TensorData& data,
                                        std::size_t position) {
  if (content.kind == Content::Kind::Storage) return content.storage;
  auto size = data.offset < 0 ? std::nullopt : bytes_needed(data);
  if (!size) {
    return in_.fault_at(position, fmt::format("{} at element {} exceeds max_text_tensor_bytes ({})",
                                              str(data.type), data.offset, max_text_tensor_bytes));
  }
  if (content.kind == Content::Kind::Zeros) return Storage::zeros(*size);
  random_bytes_ += *size;
  if (random_bytes_ > max_text_random_bytes) {
    return in_.fault_at(position, fmt::format("all random data is larger than max_text_random_bytes ({})",
                                              max_text_random_bytes));
  }
  return Storage::lazy(*size, [bytes = *size, dtype = data.type.dtype, seed = content.seed] {
    std::vector<std::byte> random(bytes);
    fill_random(random, dtype, seed);
    return random;
  });
}

Result<StoragePtr> Parser::bytes() {
  if (in_.peek() == '"') {
    TRY(std::string text, in_.string("bytes"));
    return storage_of(text);
  }
  if (in_.accept_word("hex")) {
    TRY(std::vector<std::byte> owned, hex());
    return Storage::owned(std::move(owned));
  }
  if (in_.accept_word("elided")) return elided();
  if (in_.accept_word("file")) return file();
  return in_.fault("expected numbers, a string, zeros, random, view, hex, elided or file");
}

Result<std::vector<std::byte>> Parser::hex() {
  TRY_STATUS(in_.expect('('));
  std::size_t start = in_.position();
  TRY(std::string digits, in_.string("hexadecimal digits"));
  if (digits.size() % 2 != 0) return in_.fault_at(start, "an odd number of hexadecimal digits");
  std::vector<std::byte> result(digits.size() / 2);
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::uint8_t byte = 0;
    const char* first = digits.data() + 2 * i;
    auto [stop, status] = std::from_chars(first, first + 2, byte, 16);
    if (stop != first + 2 || status != std::errc()) return in_.fault_at(start, "expected hexadecimal digits");
    result[i] = std::byte{byte};
  }
  TRY_STATUS(in_.expect(')'));
  return result;
}

Result<StoragePtr> Parser::elided() {
  TRY_STATUS(in_.expect('('));
  std::size_t start = in_.position();
  TRY(std::int64_t size, in_.integer("a size"));
  if (size < 0) return in_.fault_at(start, "a negative size");
  TRY_STATUS(in_.expect(','));
  start = in_.position();
  TRY(std::string text, in_.string("a hash"));
  constexpr std::string_view prefix = "xxh3:";
  auto hash = text.starts_with(prefix) ? hash128_from_hex(std::string_view(text).substr(prefix.size()))
                                       : std::nullopt;
  if (!hash) return in_.fault_at(start, "expected a hash: xxh3: and 32 hexadecimal digits");
  TRY_STATUS(in_.expect(')'));
  return Storage::elided(static_cast<std::size_t>(size), *hash);
}

// Maps a file beside the text's own file, or a part of it.
Result<StoragePtr> Parser::file() {
  TRY_STATUS(in_.expect('('));
  std::size_t position = in_.position();
  TRY(std::string name, in_.string("a file"));
  std::shared_ptr<const MappedFile>& mapped = files_[name];
  if (mapped == nullptr) {
    const auto path = std::filesystem::path(in_.file_name()).parent_path() / name;
    auto opened = MappedFile::open(path.generic_string());
    if (!opened) return in_.fault_at(position, opened.error().str());
    mapped = *std::move(opened);
  }
  std::span<const std::byte> all = mapped->bytes();
  if (in_.accept(',')) {
    TRY(std::int64_t start, in_.integer("a start"));
    TRY_STATUS(in_.expect(','));
    TRY(std::int64_t size, in_.integer("a size"));
    bool is_inside = start >= 0 && size >= 0 && static_cast<std::uint64_t>(start) <= all.size() &&
                     static_cast<std::uint64_t>(size) <= all.size() - static_cast<std::uint64_t>(start);
    if (!is_inside) return in_.fault_at(position, fmt::format("the file has only {} bytes", all.size()));
    all = all.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(size));
  }
  TRY_STATUS(in_.expect(')'));
  return Storage::mapped(mapped, all);
}

Status Parser::delegate(ProgramScope& scope) {
  std::size_t start = in_.position();
  auto result = std::make_unique<Delegate>();
  TRY(result->name, in_.name("the delegate's name"));
  if (!scope.delegates.insert(result->name).second) {
    return in_.fault_at(start, fmt::format("delegate '{}' is defined twice", result->name.str()));
  }
  TRY_STATUS(in_.expect_word("backend"));
  TRY(result->backend_id, in_.string("the backend's name"));
  TRY_STATUS(in_.expect('{'));
  while (!in_.accept('}')) {
    start = in_.position();
    std::string_view word = in_.take_identifier();
    if (word != "spec" && word != "info" && word != "padding" && word != "blob" && word != "data" &&
        word != "debug" && word != "original") {
      return in_.fault_at(start, "expected spec, info, padding, blob, data, debug, original or '}'");
    }
    TRY_STATUS(delegate_entry(*result, word));
  }
  scope.program.delegates.push_back(std::move(result));
  return {};
}

Status Parser::delegate_entry(Delegate& delegate, std::string_view word) {
  if (word == "data") return named_data(delegate);
  if (word == "debug") return debug_handles(delegate);
  if (word == "original") return original(delegate);
  if (word == "info") {
    TRY(delegate.delegate_info, in_.string("the delegate's information"));
    return {};
  }
  if (word == "padding") {
    std::size_t start = in_.position();
    TRY(std::int64_t bytes, in_.integer("a number of bytes"));
    if (bytes < 0 || bytes > max_arena_padding)
      return in_.fault_at(start, fmt::format("expected a padding of at most {}", max_arena_padding));
    delegate.arena_padding = static_cast<std::uint32_t>(bytes);
    return {};
  }
  if (word == "blob") {
    delegate.inline_bytes = in_.accept_word("inline");
    TRY(delegate.processed_bytes, bytes());
    return {};
  }
  CompileSpec spec;
  TRY(spec.key, in_.string("a key"));
  TRY_STATUS(in_.expect('='));
  std::size_t start = in_.position();
  TRY(StoragePtr value, bytes());
  if (value->is_elided()) return in_.fault_at(start, "a compile spec cannot be elided");
  spec.value.assign(value->bytes().begin(), value->bytes().end());
  delegate.compile_specs.push_back(std::move(spec));
  return {};
}

Status Parser::named_data(Delegate& delegate) {
  NamedData named;
  TRY(named.key, in_.string("a key"));
  if (in_.accept_word("align")) {
    std::size_t start = in_.position();
    TRY(std::int64_t alignment, in_.integer("an alignment"));
    if (alignment <= 0 || !is_alignment(static_cast<std::uint64_t>(alignment))) {
      return in_.fault_at(start, fmt::format("expected a power of two from 1 to {}", max_alignment));
    }
    named.alignment = static_cast<std::size_t>(alignment);
  }
  if (in_.accept_word("external")) {
    TRY(named.external_tag, in_.string("a tag"));
  }
  if (in_.accept_word("layout")) {
    std::size_t start = in_.position();
    TRY(Type layout, type());
    if (!layout.is_tensor()) return in_.fault_at(start, "expected the type of a tensor");
    named.layout = std::move(layout.tensor);
  }
  TRY_STATUS(in_.expect('='));
  TRY(named.storage, bytes());
  delegate.named_data.push_back(std::move(named));
  return {};
}

Status Parser::debug_handles(Delegate& delegate) {
  DelegateDebugId id;
  if (in_.peek() == '"') {
    TRY(id, in_.string("an identifier"));
  } else {
    TRY(id, in_.integer("an identifier"));
  }
  TRY_STATUS(in_.expect('='));
  std::vector<std::uint32_t> handles;
  while (in_.peek() == '#') {
    TRY(std::uint32_t one, handle());
    handles.push_back(one);
  }
  delegate.debug_handle_map.emplace_back(std::move(id), std::move(handles));
  return {};
}

Result<std::uint32_t> Parser::handle() {
  TRY_STATUS(in_.expect('#'));
  std::size_t start = in_.position();
  TRY(std::int64_t number, in_.integer("a debug handle"));
  if (number < 0 || number > UINT32_MAX) return in_.fault_at(start, "expected a debug handle of 32 bits");
  return static_cast<std::uint32_t>(number);
}

Status Parser::original(Delegate& delegate) {
  TRY_STATUS(enter());
  TRY_STATUS(in_.expect('{'));
  ProgramScope scope(ops_);
  TRY_STATUS(items(scope, '}'));
  delegate.original = std::make_shared<const Program>(std::move(scope.program));
  TRY_STATUS(in_.expect('}'));
  leave();
  return {};
}

}  // namespace depute::text
