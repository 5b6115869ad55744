// Reads bundled programs, which are not trusted: sizes, orders of dimensions and byte counts are checked.
//
//   Tensor {scalar_type 6, sizes [2, 3], data 24 bytes, dim_order [1, 0]}  ->  f32[2, 3], strides [1, 2]
#include "depute/tools/bundle.h"

#include <fmt/format.h>

#include <cstring>

#include "bundled_program_generated.h"
#include "read/flatbuffer_file.h"
#include "read/pte_method.h"
#include "support/guarded.h"
#include "support/try.h"
#include "tools/bundle/program_part.h"

namespace depute {
namespace {

constexpr std::size_t max_depth = 16;  // nesting of tables; the format needs 6

class BundleReader {
 public:
  BundleReader(std::span<const std::byte> file, const std::string& name) : file_(file), name_(name) {}

  // The program alone.
  Result<std::span<const std::byte>> program() {
    TRY_STATUS(find_bundle());
    if (bundle_->program() == nullptr || bundle_->program()->size() == 0)
      return fail("program", "the bundle has none");
    const auto* start = reinterpret_cast<const std::byte*>(aligned_.empty() ? file_.data() : aligned_.data());
    const auto* first = reinterpret_cast<const std::byte*>(bundle_->program()->data());
    return file_.subspan(static_cast<std::size_t>(first - start), bundle_->program()->size());
  }

  Result<Bundle> run() {
    Bundle result;
    TRY(result.program, program());
    std::size_t number = 0;
    for (const auto* suite : internal::elements(bundle_->method_test_suites())) {
      const std::string place = fmt::format("method_test_suites[{}]", number++);
      if (suite->method_name() == nullptr) return fail(place, "has no method_name");
      result.methods.push_back(suite->method_name()->str());
      TRY_STATUS(count_copied(result.methods.back().size() + 1, place));
      TRY_STATUS(read_suite(*suite, place, result.cases));
    }
    return result;
  }

 private:
  Failure fail(std::string_view place, std::string_view message) const {
    return failure("read_bundle", fmt::format("{}: {}", name_, place), message);
  }

  Status find_bundle() {
    if (file_.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) return fail("byte 0", "a bundle has less than 2 GB");
    if (!is_bundle(file_)) return fail("byte 4", "not a bundled program (no \"BP08\" here)");
    std::span<const std::byte> bytes = file_;
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % 16 != 0) {
      aligned_.assign(bytes.begin(), bytes.end());
      bytes = aligned_;
    }
    const auto* start = reinterpret_cast<const std::uint8_t*>(bytes.data());
    const auto max_tables = static_cast<flatbuffers::uoffset_t>(bytes.size() / 4 + 1024);
    flatbuffers::Verifier verifier(start, bytes.size(), max_depth, max_tables);
    if (!bp08::VerifyBundledProgramBuffer(verifier)) return fail("flatbuffer", "is damaged");
    bundle_ = bp08::GetBundledProgram(start);
    return {};
  }

  Status read_suite(const bp08::TestSuite& suite, const std::string& suite_place,
                    std::vector<TestCase>& cases) {
    std::size_t number = 0;
    for (const auto* each : internal::elements(suite.test_cases())) {
      const std::string place = fmt::format("{}.test_cases[{}]", suite_place, number++);
      TestCase test{.method = suite.method_name()->str()};
      TRY_STATUS(count_copied(test.method.size() + 1, place));
      TRY(test.inputs, read_values(each->inputs(), place + ".inputs"));
      TRY(test.expected, read_values(each->expected_outputs(), place + ".expected_outputs"));
      cases.push_back(std::move(test));
    }
    return {};
  }

  // Tables, texts and bytes can be shared, so a small file could request huge copies.
  Status count_copied(std::size_t bytes, const std::string& place) {
    copied_ += bytes;
    if (copied_ > file_.size()) return fail(place, "the test cases exceed the file's size");
    return {};
  }

  Result<std::vector<RuntimeValue>> read_values(
      const flatbuffers::Vector<flatbuffers::Offset<bp08::Value>>* values, const std::string& list) {
    std::vector<RuntimeValue> result;
    for (const auto* value : internal::elements(values)) {
      const std::string place = fmt::format("{}[{}]", list, result.size());
      TRY_STATUS(count_copied(sizeof(flatbuffers::uoffset_t), place));
      if (value->val() == nullptr) return fail(place, "has no content");
      switch (value->val_type()) {
        case bp08::Content::Tensor: {
          TRY(TensorData data, read_tensor(*value->val_as_Tensor(), place));
          result.emplace_back(std::move(data));
          break;
        }
        case bp08::Content::Int:
          result.emplace_back(value->val_as_Int()->value());
          break;
        case bp08::Content::Bool:
          result.emplace_back(value->val_as_Bool()->value());
          break;
        case bp08::Content::Double:
          result.emplace_back(value->val_as_Double()->value());
          break;
        default:
          return fail(place, "is neither a tensor nor a number");
      }
    }
    return result;
  }

  Result<TensorData> read_tensor(const bp08::Tensor& tensor, const std::string& place) {
    const auto dtype = scalar_type_from_executorch(tensor.scalar_type());
    if (!dtype) return fail(place, fmt::format("has the unknown element type {}", tensor.scalar_type()));
    Dims sizes;
    for (const std::int32_t size : internal::elements(tensor.sizes())) {
      if (size < 0 || sizes.size() == max_rank)
        return fail(place, fmt::format("has a size of {} or more than {} of them", size, max_rank));
      sizes.push_back(size);
    }
    TRY(Dims strides, read_strides(tensor, sizes, place));
    const TensorType type = make_tensor(*dtype, std::move(sizes), std::move(strides));
    const std::size_t size = tensor.data() == nullptr ? 0 : tensor.data()->size();
    if (type.static_bytes() != size) return fail(place, fmt::format("{} with {} bytes", str(type), size));
    TRY_STATUS(count_copied(size, place));
    std::vector<std::byte> bytes(size);
    if (size > 0) std::memcpy(bytes.data(), tensor.data()->data(), size);
    return TensorData{type, 0, Storage::owned(std::move(bytes))};
  }

  Result<Dims> read_strides(const bp08::Tensor& tensor, const Dims& sizes, const std::string& place) const {
    const auto order = internal::elements(tensor.dim_order());
    Dims strides(sizes.size());
    std::vector<bool> is_known(sizes.size());
    if (order.size() != sizes.size())
      return fail(place,
                  fmt::format("{} sizes, and dim_order has {} dimensions", sizes.size(), order.size()));
    std::int64_t stride = 1;
    for (std::size_t i = order.size(); i-- > 0;) {
      const std::size_t dim = order[i];
      if (dim >= sizes.size() || is_known[dim]) return fail(place, "dim_order is not a permutation");
      is_known[dim] = true;
      strides[dim] = stride;
      if (__builtin_mul_overflow(stride, std::max<std::int64_t>(sizes[dim].value(), 1), &stride))
        return fail(place, "has too many elements");
    }
    return strides;
  }

  std::span<const std::byte> file_;
  const std::string& name_;
  std::vector<std::byte> aligned_;
  const bp08::BundledProgram* bundle_ = nullptr;
  std::size_t copied_ = 0;
};

}  // namespace

bool is_bundle(std::span<const std::byte> file) {
  return internal::has_text(file, identifier_position, bp08::BundledProgramIdentifier());
}

Result<Bundle> read_bundle(std::span<const std::byte> file, const std::string& name) {
  return guarded([&] { return BundleReader(file, name).run(); });
}

Result<std::span<const std::byte>> program_part(std::span<const std::byte> file, const std::string& name) {
  if (!is_bundle(file)) return file;
  return BundleReader(file, name).program();
}

}  // namespace depute
