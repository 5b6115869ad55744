#include "write/named_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "support/hash.h"

namespace depute {
namespace {

class Gatherer {
 public:
  Status add(const Program& program) {
    for (const auto& delegate : program.delegates) {
      for (const NamedData& data : delegate->named_data) TRY_STATUS(add(*delegate, data));
      if (delegate->original != nullptr) TRY_STATUS(add(*delegate->original));
    }
    return {};
  }
  std::vector<SharedData> take() { return std::move(all_); }

 private:
  static std::unexpected<Diagnostic> fail(const Delegate& delegate, std::string_view message,
                                          std::string_view hint) {
    return error("write_pte", fmt::format("delegate {}", delegate.name.str()), message, hint);
  }

  Status add(const Delegate& delegate, const NamedData& data) {
    if (!data.external_tag.empty() && !is_external_tag(data.external_tag)) {
      return fail(delegate,
                  fmt::format("its data \"{}\" have the tag \"{}\", which cannot be part of a file's name",
                              data.key, data.external_tag),
                  "letters, digits, '_' and '-' can");
    }
    if (!std::has_single_bit(data.alignment)) {
      return fail(delegate,
                  fmt::format("its data \"{}\" want the alignment {}, which is no power of two", data.key,
                              data.alignment),
                  "ask for the next power of two");
    }
    auto [entry, is_new] = known_.try_emplace(data.key, all_.size());
    if (is_new) {
      all_.push_back({data.key, data.storage, data.alignment, data.external_tag, delegate.name});
      return {};
    }
    SharedData& known = all_[entry->second];
    if (!have_same_bytes(*known.storage, *data.storage)) {
      return fail(delegate,
                  fmt::format("its data \"{}\" differ from those that delegate {} has under this key",
                              data.key, known.delegate.str()),
                  "backends must derive a key from the bytes it names");
    }
    known.alignment = std::max<std::uint64_t>(known.alignment, data.alignment);
    if (data.external_tag.empty()) known.tag.clear();
    return {};
  }

  std::vector<SharedData> all_;
  std::unordered_map<std::string_view, std::size_t> known_;
};

}  // namespace

bool have_same_bytes(const Storage& a, const Storage& b) {
  if (&a == &b) return true;
  if (a.size() != b.size()) return false;
  auto hash = [](const Storage& storage) {
    return storage.is_lazy() ? hash128(storage.produce()) : hash128(storage.bytes());
  };
  return hash(a) == hash(b);
}

Result<std::vector<SharedData>> gather_named_data(const Program& program) {
  Gatherer gatherer;
  TRY_STATUS(gatherer.add(program));
  return gatherer.take();
}

}  // namespace depute
