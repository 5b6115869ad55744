#include "read/pte.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

namespace depute {
namespace {

namespace fs = std::filesystem;

// Files of ExecuTorch's own flow; tests run from the top of the tree.
std::vector<fs::path> reference_programs() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator("tests/models/samples/ref")) paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

std::vector<std::byte> file_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// Reading a damaged file either fails with a place or gives something whose indices can be followed.
void expect_harmless(std::span<const std::byte> bytes) {
  auto file = read_pte(bytes, "x.pte");
  if (!file) {
    EXPECT_EQ(file.error().code, "read_pte");
    EXPECT_TRUE(file.error().where.starts_with("x.pte: ")) << file.error().str();
    return;
  }
  for (const ExecutionPlan& method : file->methods) {
    for (std::int32_t index : method.args) ASSERT_LT(static_cast<std::size_t>(index), method.values.size());
    for (const EValue& value : method.values) {
      if (value.kind == EValue::Kind::Tensor) {
        ASSERT_LT(value.first, method.tensors.size());
      }
    }
  }
}

TEST(ReadPte, ReadsExecuTorchsFiles) {
  ASSERT_EQ(reference_programs().size(), 19);
  for (const fs::path& path : reference_programs()) {
    auto bytes = file_bytes(path);
    EXPECT_TRUE(is_pte(bytes));
    auto file = read_pte(bytes, path.filename());
    ASSERT_TRUE(file) << file.error().str();
    EXPECT_FALSE(file->methods.empty());
    for (const ExecutionPlan& method : file->methods) EXPECT_FALSE(method.instructions.empty());
  }
}

TEST(ReadPte, ReadsControlFlowAndDelegates) {
  auto cond = read_pte(file_bytes("tests/models/samples/ref/cond.portable.pte"), "cond");
  ASSERT_TRUE(cond) << cond.error().str();
  auto is_jump = [](const Instruction& i) { return i.kind == Instruction::Kind::JumpFalseCall; };
  EXPECT_EQ(std::ranges::count_if(cond->methods[0].instructions, is_jump), 2);

  auto mlp = read_pte(file_bytes("tests/models/samples/ref/mlp.xnnpack.pte"), "mlp");
  ASSERT_TRUE(mlp) << mlp.error().str();
  ASSERT_FALSE(mlp->methods[0].delegates.empty());
  EXPECT_EQ(mlp->methods[0].delegates[0].backend_id, "XnnpackBackend");
  EXPECT_FALSE(mlp->named_data.empty());
}

TEST(ReadPte, RefusesWhatIsNoPte) {
  for (std::size_t size : {0, 3, 8, 63, 64, 200}) {
    std::vector<std::byte> bytes(size, std::byte{0x41});
    EXPECT_FALSE(is_pte(bytes));
    EXPECT_FALSE(read_pte(bytes, "x.pte"));
  }
}

TEST(ReadPte, TruncatedFilesAreHarmless) {
  for (const char* name : {"mlp.xnnpack.pte", "dynamic.portable.pte", "cond.portable.pte"}) {
    auto bytes = file_bytes(fs::path("tests/models/samples/ref") / name);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      std::vector<std::byte> head(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_FALSE(read_pte(head, "x.pte")) << name << " " << size;
    }
  }
}

TEST(ReadPte, DamagedFilesAreHarmless) {
  std::mt19937 random(7);
  for (const fs::path& path : reference_programs()) {
    auto original = file_bytes(path);
    auto parsed = read_pte(original, "x.pte");
    std::size_t interesting = std::min<std::size_t>(original.size(), parsed->flatbuffer_bytes);
    for (int round = 0; round < 400; ++round) {
      auto bytes = original;
      auto flips = 1 + random() % 4;
      for (std::size_t i = 0; i < flips; ++i) {
        std::byte& byte = bytes[random() % interesting];
        byte = random() % 2 == 0 ? static_cast<std::byte>(random())
                                 : byte ^ static_cast<std::byte>(1 << random() % 8);
      }
      expect_harmless(bytes);
    }
  }
}

TEST(ReadPte, UnalignedBytesAreRead) {
  auto bytes = file_bytes("tests/models/samples/ref/multi.portable.pte");
  bytes.insert(bytes.begin(), std::byte{0});
  EXPECT_TRUE(read_pte(std::span(bytes).subspan(1), "x.pte"));
}

}  // namespace
}  // namespace depute
