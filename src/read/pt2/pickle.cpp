#include "read/pt2/pickle.h"
#include "support/try.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>

namespace depute {
namespace {

using PickleKind = PickleValue::Kind;

class Unpickler {
 public:
  Unpickler(std::span<const std::byte> bytes, const std::string& place, const ReadLimits& limits,
            std::uint64_t& values_left)
      : bytes_(bytes), place_(place), limits_(limits), values_left_(values_left) {}

  Result<Pickle> run() {
    // Each value takes a byte. Memory that stays untouched costs nothing, a move of all values does.
    pickle_.values.reserve(std::min<std::uint64_t>(bytes_.size(), values_left_));
    while (at_ < bytes_.size()) {
      opcode_at_ = at_;
      char opcode = static_cast<char>(bytes_[at_++]);
      if (pickle_.values.size() > values_left_) return too_many_values();
      if (opcode == '.') {
        if (stack_.empty()) return fail("the pickle ends without a value");
        pickle_.root = stack_.back();
        values_left_ -= pickle_.values.size();
        return std::move(pickle_);
      }
      TRY_STATUS(execute(opcode));
    }
    return fail("the pickle is truncated");
  }

 private:
  Failure fail(std::string_view what) const {
    return failure("read_pickle", fmt::format("{} (byte {})", place_, opcode_at_), what);
  }

  Failure too_many_values() const {
    return beyond(limits_, &ReadLimits::pickle_values, fail("the pickles have too many values"));
  }

  Status execute(char opcode) {
    auto done = push_constant(opcode);
    if (!done) done = push_text(opcode);
    if (!done) done = change_stack(opcode);
    if (!done) done = make_container(opcode);
    if (!done) done = make_object(opcode);
    if (done) return *done;
    return fail(fmt::format("opcode 0x{:02x} is not used by torch.save",
                            static_cast<unsigned>(static_cast<unsigned char>(opcode))));
  }

  // --- operands of opcodes

  std::optional<std::string_view> take(std::uint64_t count) {
    if (count > bytes_.size() - at_) return std::nullopt;
    std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + at_, count);
    at_ += count;
    return text;
  }
  std::optional<std::string_view> take_line() {
    std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + at_, bytes_.size() - at_);
    std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    at_ += end + 1;
    return rest.substr(0, end);
  }
  // Reads a little-endian unsigned number of `size` bytes.
  std::optional<std::uint64_t> take_number(std::size_t size) {
    auto text = take(size);
    if (!text) return std::nullopt;
    std::uint64_t value = 0;
    std::memcpy(&value, text->data(), size);
    return value;
  }

  Status cut_off() const { return fail("the pickle is truncated"); }

  // --- the stack

  PickleId add(PickleValue value) {
    pickle_.values.push_back(std::move(value));
    return static_cast<PickleId>(pickle_.values.size() - 1);
  }
  Status push(PickleValue value) {
    stack_.push_back(add(std::move(value)));
    return {};
  }
  Status push_number(PickleKind kind, std::int64_t number) { return push({.kind = kind, .number = number}); }
  Status push_text(PickleKind kind, std::string_view text) {
    return push({.kind = kind, .number = static_cast<std::int64_t>(text.size()), .text_begin = text.data()});
  }
  Status push_items(PickleKind kind, std::vector<PickleId> items) {
    return push({.kind = kind, .items = std::move(items)});
  }
  PickleValue& value(PickleId id) { return pickle_.values[static_cast<std::uint32_t>(id)]; }

  // Pops the values above the last mark, and the mark.
  std::optional<std::vector<PickleId>> pop_to_mark() {
    if (marks_.empty()) return std::nullopt;
    auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleId> items(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return items;
  }
  // Pops the top `count` values; fails if one is below the last mark.
  std::optional<std::vector<PickleId>> pop(std::size_t count) {
    std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() < floor + count) return std::nullopt;
    std::vector<PickleId> items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return items;
  }
  Status no_values() const { return fail("the stack has too few values"); }

  // --- opcodes, by family; nullopt for an opcode of another family

  std::optional<Status> push_constant(char opcode) {
    auto integer = [&](std::size_t size) -> Status {
      auto number = take_number(size);
      if (!number) return cut_off();
      return push_number(PickleKind::Int, static_cast<std::int64_t>(*number));
    };
    switch (opcode) {
      case 'N':
        return push({});
      case '\x88':
        return push_number(PickleKind::Bool, 1);
      case '\x89':
        return push_number(PickleKind::Bool, 0);
      case 'K':
        return integer(1);
      case 'M':
        return integer(2);
      case 'J':
        return binint();
      case '\x8a':
        return long1();
      case 'G':
        return binfloat();
      default:
        return std::nullopt;
    }
  }

  Status binint() {
    auto number = take_number(4);
    if (!number) return cut_off();
    return push_number(PickleKind::Int, static_cast<std::int32_t>(static_cast<std::uint32_t>(*number)));
  }
  Status long1() {
    auto size = take_number(1);
    if (!size) return cut_off();
    if (*size > 8) return fail("an integer of more than 64 bits");
    auto number = take_number(*size);
    if (!number) return cut_off();
    if (*size == 0) return push_number(PickleKind::Int, 0);
    auto unused = static_cast<int>(64 - 8 * *size);  // two's complement: extend the sign
    return push_number(PickleKind::Int, static_cast<std::int64_t>(*number << unused) >> unused);
  }
  Status binfloat() {
    auto number = take_number(8);
    if (!number) return cut_off();
    return push_number(PickleKind::Float, std::bit_cast<std::int64_t>(__builtin_bswap64(*number)));
  }

  std::optional<Status> push_text(char opcode) {
    auto text = [&](std::size_t size_bytes) -> Status {
      auto size = take_number(size_bytes);
      auto content = size ? take(*size) : std::nullopt;
      if (!content) return cut_off();
      return push_text(PickleKind::String, *content);
    };
    switch (opcode) {
      case 'X':
      case 'T':  // a byte string of Python 2
      case 'B':
        return text(4);
      case '\x8c':
      case 'U':
      case 'C':
        return text(1);
      case '\x8d':
        return text(8);
      case 'c':
        return global();
      case '\x93':
        return stack_global();
      default:
        return std::nullopt;
    }
  }

  Status global() {
    std::size_t start = at_;
    auto module = take_line();
    auto name = module ? take_line() : std::nullopt;
    if (!name) return cut_off();
    // The two lines in the file, including the line break between them.
    std::string_view both(reinterpret_cast<const char*>(bytes_.data()) + start, at_ - start - 1);
    return push_text(PickleKind::Global, both);
  }
  Status stack_global() {
    auto parts = pop(2);
    if (!parts) return no_values();
    return push_items(PickleKind::Global, std::move(*parts));
  }

  std::optional<Status> change_stack(char opcode) {
    switch (opcode) {
      case '\x80':
        return protocol();
      case '\x95':  // FRAME: only a buffering hint
        return take(8) ? Status() : cut_off();
      case '(':
        if (marks_.size() > values_left_) return too_many_values();
        marks_.push_back(stack_.size());
        return Status();
      case '0':
        return pop(1) ? Status() : no_values();
      case 'q':
        return memoize(take_number(1));
      case 'r':
        return memoize(take_number(4));
      case '\x94':
        return memoize(memo_.size());
      case 'h':
        return recall(take_number(1));
      case 'j':
        return recall(take_number(4));
      default:
        return std::nullopt;
    }
  }

  Status protocol() {
    auto version = take_number(1);
    if (!version) return cut_off();
    if (*version > 5)
      return fail(fmt::format("pickle protocol {} is not supported; the highest is 5", *version));
    return {};
  }
  Status memoize(std::optional<std::uint64_t> slot) {
    if (!slot) return cut_off();
    if (stack_.empty()) return no_values();
    if (memo_.size() > values_left_) return too_many_values();
    memo_[*slot] = stack_.back();
    return {};
  }
  Status recall(std::optional<std::uint64_t> slot) {
    if (!slot) return cut_off();
    auto found = memo_.find(*slot);
    if (found == memo_.end()) return fail(fmt::format("memo slot {} is empty", *slot));
    if (stack_.size() > values_left_) return too_many_values();
    stack_.push_back(found->second);
    return {};
  }

  std::optional<Status> make_container(char opcode) {
    switch (opcode) {
      case ')':
        return push_items(PickleKind::Tuple, {});
      case ']':
        return push_items(PickleKind::List, {});
      case '}':
        return push_items(PickleKind::Dict, {});
      case '\x85':
        return tuple(pop(1));
      case '\x86':
        return tuple(pop(2));
      case '\x87':
        return tuple(pop(3));
      case 't':
        return tuple(pop_to_mark());
      case 'a':
        return extend(pop(1), 1);
      case 'e':
        return extend(pop_to_mark(), 1);
      case 's':
        return extend(pop(2), 2);
      case 'u':
        return extend(pop_to_mark(), 2);
      default:
        return std::nullopt;
    }
  }

  Status tuple(std::optional<std::vector<PickleId>> items) {
    if (!items) return no_values();
    return push_items(PickleKind::Tuple, std::move(*items));
  }
  // Adds elements (`width` 1) or keys and values (2) to the container on top of the stack.
  Status extend(std::optional<std::vector<PickleId>> items, std::size_t width) {
    if (!items || stack_.empty()) return no_values();
    PickleValue& container = value(stack_.back());
    bool takes = container.kind == PickleKind::Call ||
                 container.kind == (width == 1 ? PickleKind::List : PickleKind::Dict);
    if (!takes) return fail("items are added to a value that is not a container");
    if (items->size() % width != 0) return fail("a key without a value");
    auto& target = container.kind == PickleKind::Call ? pickle_.entries[stack_.back()] : container.items;
    target.insert(target.end(), items->begin(), items->end());
    return {};
  }

  std::optional<Status> make_object(char opcode) {
    switch (opcode) {
      case 'R':
      case '\x81':  // NEWOBJ: a class and its arguments
        return call();
      case 'b':
        return build();
      case 'Q':
        return persistent();
      default:
        return std::nullopt;
    }
  }

  Status call() {
    auto parts = pop(2);
    if (!parts) return no_values();
    if (value((*parts)[1]).kind != PickleKind::Tuple) return fail("the arguments of a call are not a tuple");
    return push_items(PickleKind::Call, std::move(*parts));
  }
  Status build() {
    auto state = pop(1);
    if (!state || stack_.empty()) return no_values();
    PickleValue& object = value(stack_.back());
    if (object.kind != PickleKind::Call || object.items.size() != 2)
      return fail("a state is given to a value that has none");
    object.items.push_back((*state)[0]);
    return {};
  }
  Status persistent() {
    auto id = pop(1);
    if (!id) return no_values();
    return push_items(PickleKind::Persistent, std::move(*id));
  }

  std::span<const std::byte> bytes_;
  const std::string& place_;
  const ReadLimits& limits_;
  std::uint64_t& values_left_;
  std::size_t at_ = 0;
  std::size_t opcode_at_ = 0;
  Pickle pickle_;
  std::vector<PickleId> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, PickleId> memo_;
};

}  // namespace

std::string Pickle::global_name(PickleId id) const {
  const PickleValue& global = (*this)[id];
  if (global.kind != PickleKind::Global) return "";
  if (!global.items.empty()) {
    return fmt::format("{}.{}", (*this)[global.items[0]].text(), (*this)[global.items[1]].text());
  }
  std::string name(global.text());
  std::ranges::replace(name, '\n', '.');
  return name;
}

Result<Pickle> read_pickle(std::span<const std::byte> bytes, const std::string& place,
                           const ReadLimits& limits, std::uint64_t& values_left) {
  if (bytes.size() > limits.pickle_bytes) {
    return beyond(limits, &ReadLimits::pickle_bytes,
                  failure("read_pickle", place, fmt::format("{} bytes", bytes.size())));
  }
  return Unpickler(bytes, place, limits, values_left).run();
}

}  // namespace depute
