// Writes bundled programs: a flatbuffer of the test cases, whose last vector is the program. The program follows as it is
// written, and the vector's length is filled in behind it:
//
//   | root, test cases, length of the program | program: flatbuffer, segments |
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "bundled_program_generated.h"
#include "depute/tools/bundle.h"
#include "depute/tools/verify.h"
#include "ir/program_names.h"
#include "read/pte.h"
#include "support/guarded.h"
#include "support/output_file.h"
#include "support/try.h"
#include "tools/bundle/write_bundle.h"
#include "tools/run/run.h"
#include "write/segments.h"
#include "write/write_pte.h"

namespace depute {
namespace {

constexpr std::uint32_t schema_version = 2;
constexpr std::uint64_t program_alignment = 32;
// ExecuTorch's tools verify flatbuffers, of which those have to be smaller than 2 GiB.
constexpr std::uint64_t max_bundle_bytes = (std::uint64_t{1} << 31) - 1;
// Room for the tables of a test case, above which the builder is not started.
constexpr std::uint64_t bytes_of_value = 256;

Failure too_large() {
  return failure("bundle", "", "the bundle would have 2 GiB or more, and the format allows less",
                 "put the weights into another file with --ptd, or bundle fewer test cases");
}

Result<const ExecutionPlan*> method_of(std::span<const ExecutionPlan> methods, const std::string& name) {
  const auto found = std::ranges::find(methods, name, &ExecutionPlan::name);
  if (found != methods.end()) return &*found;
  std::vector<std::string_view> names;
  for (const ExecutionPlan& method : methods) names.push_back(method.name);
  return failure("bundle", "",
                 fmt::format("a test case is for the method {}, which the program lacks", printable(name)),
                 fmt::format("its methods are {}", fmt::join(names, ", ")));
}

Result<std::vector<TestCase>> fitting_cases(std::span<const ExecutionPlan> methods,
                                            std::span<const TestCase> cases) {
  std::vector<TestCase> result;
  std::map<std::string, std::size_t> numbers;
  for (const TestCase& test : cases) {
    TRY(const ExecutionPlan* method, method_of(methods, test.method));
    const std::string place = fmt::format("test case {} of {}", numbers[test.method]++, test.method);
    TRY(TestCase fitted, fitting_case(*method, test, place));
    result.push_back(std::move(fitted));
  }
  return result;
}

// Builds everything before the program.
class HeadBuilder {
 public:
  Result<std::vector<std::byte>> run(std::span<const ExecutionPlan> methods, std::span<const TestCase> cases,
                                     std::uint64_t alignment) {
    TRY(std::vector<TestCase> fitted, fitting_cases(methods, cases));
    std::map<std::string, std::vector<TestCase>> suites;
    for (TestCase& test : fitted) {
      TRY_STATUS(count_bytes(test));
      suites[test.method].push_back(std::move(test));
    }
    // The builder works from the end: the program's vector, with one element too many, is created first.
    builder_.ForceVectorAlignment(program_alignment, 1, program_alignment);
    const auto program = builder_.CreateVector(std::vector<std::uint8_t>(program_alignment));
    std::vector<flatbuffers::Offset<bp08::TestSuite>> tables;
    for (const auto& [name, suite] : suites) {
      TRY(const ExecutionPlan* method, method_of(methods, name));
      tables.push_back(suite_table(*method, suite));
    }
    const auto suites_table = builder_.CreateVector(tables);
    bp08::FinishBundledProgramBuffer(
        builder_, bp08::CreateBundledProgram(builder_, schema_version, suites_table, program));
    return head(alignment);
  }

 private:
  Status count_bytes(const TestCase& test) {
    for (const auto* values : {&test.inputs, &test.expected}) {
      for (const RuntimeValue& value : *values) bytes_ += as_tensor(value).byte_size() + bytes_of_value;
    }
    return bytes_ < max_bundle_bytes ? Status() : too_large();
  }

  flatbuffers::Offset<bp08::TestSuite> suite_table(const ExecutionPlan& method,
                                                   const std::vector<TestCase>& suite) {
    std::vector<flatbuffers::Offset<bp08::TestCase>> cases;
    for (const TestCase& test : suite) {
      const auto inputs = value_tables(method, method.inputs, test.inputs);
      const auto expected = value_tables(method, method.outputs, test.expected);
      cases.push_back(
          bp08::CreateTestCase(builder_, builder_.CreateVector(inputs), builder_.CreateVector(expected)));
    }
    const auto name = builder_.CreateString(method.name);
    return bp08::CreateTestSuite(builder_, name, builder_.CreateVector(cases));
  }

  std::vector<flatbuffers::Offset<bp08::Value>> value_tables(const ExecutionPlan& method,
                                                             std::span<const std::int32_t> indices,
                                                             std::span<const RuntimeValue> values) {
    std::vector<flatbuffers::Offset<bp08::Value>> tables;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const RuntimeValue& value = values[i];
      if (const auto* number = std::get_if<std::int64_t>(&value)) {
        tables.push_back(value_table(bp08::Content::Int, bp08::CreateInt(builder_, *number)));
      } else if (const auto* real = std::get_if<double>(&value)) {
        tables.push_back(value_table(bp08::Content::Double, bp08::CreateDouble(builder_, *real)));
      } else if (const auto* truth = std::get_if<bool>(&value)) {
        tables.push_back(value_table(bp08::Content::Bool, bp08::CreateBool(builder_, *truth)));
      } else {
        const EValue& planned = method.values[static_cast<std::size_t>(indices[i])];
        tables.push_back(value_table(
            bp08::Content::Tensor, tensor_table(std::get<TensorData>(value), method.tensors[planned.first])));
      }
    }
    return tables;
  }

  template <typename T>
  flatbuffers::Offset<bp08::Value> value_table(bp08::Content kind, flatbuffers::Offset<T> content) {
    return bp08::CreateValue(builder_, kind, content.Union());
  }

  flatbuffers::Offset<bp08::Tensor> tensor_table(const TensorData& data, const PlanTensor& tensor) {
    std::vector<std::int32_t> sizes;
    for (const SymInt& size : data.type.sizes) sizes.push_back(static_cast<std::int32_t>(size.value()));
    const std::vector<std::uint8_t> order(tensor.dim_order.begin(), tensor.dim_order.end());
    const TensorData elements = ordered(data, order);
    const std::span<const std::byte> bytes = elements.dense_bytes();
    const auto sizes_vector = builder_.CreateVector(sizes);
    builder_.ForceVectorAlignment(bytes.size(), 1, constant_alignment);
    const auto bytes_vector =
        builder_.CreateVector(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    return bp08::CreateTensor(builder_, static_cast<std::int8_t>(tensor.scalar_type), sizes_vector,
                              bytes_vector, builder_.CreateVector(order));
  }

  // The flatbuffer without the vector's elements, with zeros behind its first 8 bytes so that the program is aligned.
  std::vector<std::byte> head(std::uint64_t alignment) const {
    const auto built = std::as_bytes(builder_.GetBufferSpan()).first(builder_.GetSize() - program_alignment);
    const std::size_t room = align(built.size(), std::max(alignment, program_alignment)) - built.size();
    std::vector<std::byte> bytes(built.size() + room);
    std::ranges::copy(built.first(header_position), bytes.begin());
    std::ranges::copy(built.subspan(header_position),
                      bytes.begin() + static_cast<std::ptrdiff_t>(header_position + room));
    std::uint32_t root = 0;
    std::memcpy(&root, built.data(), sizeof root);
    put<std::uint32_t>(bytes, 0, static_cast<std::uint32_t>(root + room));
    return bytes;
  }

  flatbuffers::FlatBufferBuilder builder_;
  std::uint64_t bytes_ = 0;
};

// The place of the program in the file: a file of its own for the writer of the program.
class ProgramPart : public Output {
 public:
  static Result<std::unique_ptr<Output>> open(std::unique_ptr<Output> whole, std::vector<std::byte> head) {
    TRY_STATUS(whole->skip_to(head.size()));
    return std::unique_ptr<Output>(new ProgramPart(std::move(whole), std::move(head)));
  }

  Status write(std::span<const std::byte> bytes) override { return whole_->write(bytes); }
  Status write_from(const MappedFile& source, std::span<const std::byte> bytes) override {
    return whole_->write_from(source, bytes);
  }
  Status skip_to(std::uint64_t offset) override { return whole_->skip_to(head_.size() + offset); }
  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
    return whole_->write_at(head_.size() + offset, bytes);
  }
  std::uint64_t position() const override { return whole_->position() - head_.size(); }
  Status commit() override {
    if (whole_->position() > max_bundle_bytes) return too_large();
    put<std::uint32_t>(head_, head_.size() - sizeof(std::uint32_t), static_cast<std::uint32_t>(position()));
    TRY_STATUS(whole_->write_at(0, head_));
    return whole_->commit();
  }

 private:
  ProgramPart(std::unique_ptr<Output> whole, std::vector<std::byte> head)
      : whole_(std::move(whole)), head_(std::move(head)) {}

  std::unique_ptr<Output> whole_;
  std::vector<std::byte> head_;
};

}  // namespace

Result<WriteSummary> write_bundle_to(const OpenOutput& open, const Executable& executable,
                                     std::span<const TestCase> cases, const std::string& path) {
  return guarded([&]() -> Result<WriteSummary> {
    const NameScope::Use use(names_of(executable.program()));
    const WriteOptions& options = executable.options();
    TRY(const std::vector<std::byte> head,
        HeadBuilder().run(executable.plan().methods, cases,
                          std::max(options.segment_alignment, options.delegate_alignment)));
    const OpenOutput open_part = [&](const std::string& name) -> Result<std::unique_ptr<Output>> {
      TRY(std::unique_ptr<Output> file, open(name));
      if (name != path) return file;
      return ProgramPart::open(std::move(file), head);
    };
    TRY(WriteSummary summary,
        write_pte_to(open_part, executable.program(), executable.plan(), path, options));
    summary.file_bytes += head.size();
    return summary;
  });
}

Result<std::vector<TestCase>> with_expected_outputs(const Executable& executable, std::vector<TestCase> cases,
                                                    const Program* model) {
  return guarded([&]() -> Result<std::vector<TestCase>> {
    TRY(std::vector<TestCase> result, fitting_cases(executable.plan().methods, cases));
    const Program& reference = model != nullptr ? *model : executable.delegated().normalized();
    for (TestCase& test : result) {
      if (!test.expected.empty()) continue;
      TRY(test.expected, reference_outputs(reference, test.method, test.inputs));
    }
    return result;
  });
}

Result<std::vector<std::byte>> bundle_program(std::span<const std::byte> pte, std::span<const TestCase> cases,
                                              const std::string& name) {
  return guarded([&]() -> Result<std::vector<std::byte>> {
    TRY(const PteContents contents, read_pte(pte, name));
    TRY(std::vector<std::byte> head, HeadBuilder().run(contents.methods, cases, default_segment_alignment));
    std::vector<std::byte> bundle;
    TRY(const std::unique_ptr<Output> file,
        ProgramPart::open(std::make_unique<OutputBytes>(bundle), std::move(head)));
    TRY_STATUS(file->write(pte));
    TRY_STATUS(file->commit());
    return bundle;
  });
}

Result<PteFile> write_bundle(const Executable& executable, std::span<const TestCase> cases,
                             const std::string& name) {
  PteFile result{.name = name};
  const auto open = [&](const std::string& path) -> Result<std::unique_ptr<Output>> {
    return std::make_unique<OutputBytes>(path == name ? result.pte : result.external[path]);
  };
  TRY(result.summary, write_bundle_to(open, executable, cases, name));
  return result;
}

Result<PteFile> write_bundle_file(const Executable& executable, std::span<const TestCase> cases,
                                  const std::string& path) {
  TRY(WriteSummary summary, write_bundle_to(OutputFile::open, executable, cases, path));
  return PteFile{.name = path, .summary = std::move(summary)};
}

}  // namespace depute
