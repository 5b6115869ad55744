// Blocks of the payload, processors, and what Vela's scripts may do: run shell scripts in its place.
#include "backends/ethosu/payload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "backends/ethosu/target.h"

namespace depute::ethosu {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

VelaOutput sample() {
  VelaOutput output;
  output.commands.assign(20, std::byte{7});
  output.scratch_size = 512;
  output.inputs = {{.shape = {1, 1, 1, 1, 4, 32}, .element_size = 1, .offset = 256, .region = 1}};
  output.outputs = output.inputs;
  return output;
}

TEST(Payload, BlocksArePadded) {
  const auto bytes = write_payload(sample());
  // Seven headers; 20 bytes of commands take 32, no weights none, the size 16, and a tensor of the border 40 and so 48.
  ASSERT_EQ(bytes.size(), 7 * 32 + 32 + 16 + 48 + 48);
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  EXPECT_STREQ(text, "vela_bin_stream");
  EXPECT_STREQ(text + 32, "cmd_data");
  std::int32_t size = 0;
  std::memcpy(&size, text + 48, sizeof size);
  EXPECT_EQ(size, 20);
  EXPECT_STREQ(text + 96, "weight_data");
  EXPECT_STREQ(text + 128, "scratch_size");
}

TEST(Payload, Description) {
  const auto text = describe_payload(write_payload(sample()));
  ASSERT_TRUE(text);
  EXPECT_EQ(*text,
            "cmd_data: 20 bytes\nweight_data: 0 bytes\nscratch_size: 512 bytes\ninputs: 40 bytes\n"
            "  [1, 1, 1, 1, 4, 32] of 1 bytes each, offset 256, region 1\noutputs: 40 bytes\n"
            "  [1, 1, 1, 1, 4, 32] of 1 bytes each, offset 256, region 1\n");
}

TEST(Payload, DamagedBytesAreErrors) {
  const auto bytes = write_payload(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(describe_payload(std::span(bytes).first(size))) << size;
  auto other = bytes;
  other[0] = std::byte{'x'};
  EXPECT_FALSE(describe_payload(other));
  other = bytes;
  std::memset(other.data() + 48, 0xff, 4);
  EXPECT_FALSE(describe_payload(other));
}

TEST(Target, MemoriesFollowFromTheProcessor) {
  const auto target = find_target("ethos-u55-128");
  ASSERT_TRUE(target);
  EXPECT_THAT(
      target->flags(),
      ElementsAre("--accelerator-config=ethos-u55-128", "--config=Arm/vela.ini", "--output-format=raw",
                  "--system-config=Ethos_U55_High_End_Embedded", "--memory-mode=Shared_Sram"));
  EXPECT_EQ(find_target("ethos-u65-256")->memory_mode, "Dedicated_Sram_384KB");
  EXPECT_EQ(find_target("ethos-u85-512")->memory_mode, "Sram_Only");
  EXPECT_FALSE(find_target("cortex-m55"));
}

class Vela : public ::testing::Test {
 protected:
  ~Vela() override { fs::remove_all(folder_); }
  Result<VelaOutput> compile(const std::string& lines) const {
    fs::create_directories(folder_);
    const fs::path path = folder_ / "vela";
    std::ofstream(path) << "#!/bin/sh\n" << lines << "\n";
    fs::permissions(path, fs::perms::owner_all);
    const std::vector<std::string> flags = {"--flag"};
    return compile_with_vela({}, path, flags);
  }
  fs::path folder_ = fs::temp_directory_path() / ("depute_ethosu" + std::to_string(getpid()));
};

TEST_F(Vela, ErrorsAreToldWithoutTheTraceback) {
  const auto output = compile(
      "echo 'Traceback (most recent call last):'; echo '  File \"vela\", line 8, in <module>'\n"
      "echo '    sys.exit(main())'; echo 'RuntimeError: Compilation failed: Mul'; exit 1");
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code, "ethosu");
  EXPECT_EQ(output.error().message, "ended with code 1");
  EXPECT_THAT(output.error().details, ElementsAre("RuntimeError: Compilation failed: Mul"));
}

TEST_F(Vela, NoFileIsAnError) {
  const auto output = compile("test $1 = --flag && echo 'Warning: not supported'");
  ASSERT_FALSE(output);
  EXPECT_THAT(output.error().message, HasSubstr("gave no commands"));
  EXPECT_THAT(output.error().details, ElementsAre("Warning: not supported"));
}

TEST_F(Vela, AnotherFileIsAnError) {
  EXPECT_FALSE(compile("d=${2#--output-dir=}; mkdir -p $d; echo PK > $d/out_vela.npz"));
  EXPECT_FALSE(compile("d=${2#--output-dir=}; mkdir -p $d; : > $d/out_vela.npz"));
}

TEST_F(Vela, TheEnvironmentNamesIt) {
  setenv("DEPUTE_VELA", "/nowhere/vela", 1);
  const auto found = find_vela();
  unsetenv("DEPUTE_VELA");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, "DEPUTE_VELA names it, but it is not a program");
  EXPECT_THAT(found.error().hint, HasSubstr("pip install ethos-u-vela"));
  EXPECT_EQ(find_vela("/nowhere/vela").error().message, "the option vela names it, but it is not a program");
}

}  // namespace
}  // namespace depute::ethosu
