// Runs shell scripts in the place of Arm's model-converter: what it may do, and where it is looked for.
#include "backends/vgf/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>

#include "backends/vgf/find_converter.h"

namespace depute::vgf {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::array environment = {"PATH", "TMPDIR", "VIRTUAL_ENV", "DEPUTE_MODEL_CONVERTER",
                                    "MODEL_CONVERTER_PATH"};

// A folder for scripts and a folder for temporary files, which must be empty at the end. Restores the environment.
class Convert : public ::testing::Test {
 protected:
  Convert() {
    for (const char* name : environment) {
      const char* value = std::getenv(name);
      before_.emplace_back(value == nullptr ? std::optional<std::string>() : value);
    }
    fs::create_directories(temporary());
    setenv("TMPDIR", temporary().c_str(), 1);
    for (const char* name : {"VIRTUAL_ENV", "DEPUTE_MODEL_CONVERTER", "MODEL_CONVERTER_PATH"}) unsetenv(name);
  }
  ~Convert() override {
    EXPECT_TRUE(fs::is_empty(temporary()));
    for (std::size_t i = 0; i < environment.size(); ++i) {
      if (before_[i]) {
        setenv(environment[i], before_[i]->c_str(), 1);
      } else {
        unsetenv(environment[i]);
      }
    }
    fs::remove_all(folder_);
  }

  fs::path temporary() const { return folder_ / "temporary"; }

  std::string script(const fs::path& name, const std::string& lines) const {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "#!/bin/sh\n" << lines << "\n";
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }

  // Converts with a script, to which $2 is the flatbuffer and $4 the file to write.
  Result<std::vector<std::byte>> convert(const std::string& lines,
                                         std::chrono::milliseconds limit = 60s) const {
    const std::string tosa = "a flatbuffer";
    return convert_to_vgf(std::as_bytes(std::span(tosa)),
                          {.program = script("model-converter", lines), .time_limit = limit});
  }

  fs::path folder_ = fs::temp_directory_path() / ("depute_vgf" + std::to_string(getpid()));

 private:
  std::vector<std::optional<std::string>> before_;
};

TEST_F(Convert, TheFileIsTheResult) {
  const auto vgf = convert("test $1 = -i && test $3 = -o && printf VGF1 > $4 && cat $2 >> $4");
  ASSERT_TRUE(vgf) << vgf.error().str();
  const std::string_view text(reinterpret_cast<const char*>(vgf->data()), vgf->size());
  EXPECT_EQ(text, "VGF1a flatbuffer");
}

TEST_F(Convert, AnErrorIsToldInItsOwnWords) {
  const auto vgf = convert(
      "echo 'WARNING: Read TOSA spec in flatbuffer 1.0.0 is backward compatible with serializer version "
      "1.1.0d' >&2\n"
      "echo \"error: 'tosa.abs' op requires\" >&2; echo Failed to compile network; exit 255");
  ASSERT_FALSE(vgf);
  EXPECT_EQ(vgf.error().code, "vgf");
  EXPECT_EQ(vgf.error().where, folder_ / "model-converter");
  EXPECT_EQ(vgf.error().message, "ended with code 255");
  EXPECT_THAT(vgf.error().details, ElementsAre("error: 'tosa.abs' op requires", "Failed to compile network"));
}

TEST_F(Convert, LongOutputIsCut) {
  const auto vgf = convert("yes a line | head -n 9000; exit 1");
  ASSERT_FALSE(vgf);
  EXPECT_EQ(vgf.error().details.size(), 20);
}

TEST_F(Convert, ItIsStoppedAtTheLimit) {
  const auto begun = std::chrono::steady_clock::now();
  const auto vgf = convert("echo begun; exec sleep 100", 300ms);
  ASSERT_FALSE(vgf);
  EXPECT_EQ(vgf.error().message, "did not end within 0.3 s");
  EXPECT_THAT(vgf.error().details, ElementsAre("begun"));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 20s);
}

TEST_F(Convert, ASignalIsNamed) {
  for (const auto& [name, message] :
       {std::pair("SEGV", "was ended by SIGSEGV"), std::pair("KILL", "was ended by SIGKILL")}) {
    const auto vgf = convert(std::string("kill -") + name + " $$");
    ASSERT_FALSE(vgf);
    EXPECT_EQ(vgf.error().message, message);
  }
}

TEST_F(Convert, NoFileIsAnError) {
  const auto vgf = convert("echo nothing to do");
  ASSERT_FALSE(vgf);
  EXPECT_EQ(vgf.error().message, "wrote no file");
  EXPECT_THAT(vgf.error().details, ElementsAre("nothing to do"));
}

TEST_F(Convert, AnotherFileIsAnError) {
  for (const char* lines : {": > $4", "echo VG > $4", "cp $2 $4"}) {
    const auto vgf = convert(lines);
    ASSERT_FALSE(vgf) << lines;
    EXPECT_EQ(vgf.error().message, "wrote a file that is not a VGF file") << lines;
  }
}

TEST_F(Convert, WhatItLeavesInTheFolderIsRemoved) {
  EXPECT_TRUE(convert("printf VGF1 > $4; mkdir $2.d; echo > $2.d/more"));
}

TEST_F(Convert, AProgramThatIsAbsent) {
  const auto vgf = convert_to_vgf({}, {.program = folder_ / "none"});
  ASSERT_FALSE(vgf);
  EXPECT_EQ(vgf.error().code, "run");
}

TEST_F(Convert, TheVersionIsWhatItReports) {
  Converter converter{.program =
                          script("model-converter",
                                 R"(test "$1" = --version && echo '{' && echo '  "version": "d8c1b8e",')")};
  ASSERT_TRUE(converter.version()) << converter.version().error().str();
  EXPECT_EQ(*converter.version(), "d8c1b8e");
  converter.program = script("model-converter", "echo hello");
  ASSERT_FALSE(converter.version());
  EXPECT_EQ(converter.version().error().message, "does not report its version");
}

// --- where it is

TEST_F(Convert, WithoutItTheErrorSaysWhatToInstall) {
  setenv("PATH", "/nowhere::", 1);
  const auto found = Converter::find();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().str(), "[vgf] Arm's model-converter, which makes VGF files, is not installed");
  EXPECT_THAT(found.error().hint, HasSubstr("pip install ai-ml-sdk-model-converter"));
}

TEST_F(Convert, TheOptionIsFirstAndThenTheEnvironment) {
  const std::string option = script("a/mine", ""), variable = script("b/mine", ""),
                    theirs = script("c/mine", "");
  const std::string on_path = script("d/model_converter", ""),
                    active = script(
                        "e/lib/python3.11/site-packages/model_converter/binaries/bin/model-converter", "");
  setenv("PATH", ("/nowhere:" + (folder_ / "d").string()).c_str(), 1);
  setenv("VIRTUAL_ENV", (folder_ / "e").c_str(), 1);
  setenv("MODEL_CONVERTER_PATH", theirs.c_str(), 1);
  setenv("DEPUTE_MODEL_CONVERTER", variable.c_str(), 1);
  EXPECT_EQ(*find_converter(option), option);
  EXPECT_EQ(*find_converter(), variable);
  unsetenv("DEPUTE_MODEL_CONVERTER");
  EXPECT_EQ(*find_converter(), theirs);
  unsetenv("MODEL_CONVERTER_PATH");
  EXPECT_EQ(*find_converter(), on_path);
  setenv("PATH", "/nowhere", 1);
  EXPECT_EQ(*find_converter(), active);
}

TEST_F(Convert, ANameThatIsNoProgramIsAnError) {
  setenv("DEPUTE_MODEL_CONVERTER", "/nowhere/it", 1);
  for (const auto& [option, message] :
       {std::pair("", "DEPUTE_MODEL_CONVERTER names it, but it is not a program"),
        std::pair("/nowhere/it", "the option converter names it, but it is not a program")}) {
    const auto found = find_converter(option);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().where, "/nowhere/it");
    EXPECT_EQ(found.error().message, message);
  }
}

TEST_F(Convert, AScriptOfPipIsReplacedByItsProgram) {
  const std::string name = script("venv/bin/model-converter", "");
  EXPECT_EQ(*find_converter(name), name);
  const std::string program =
      script("venv/lib/python3.11/site-packages/model_converter/binaries/bin/model-converter", "");
  EXPECT_EQ(*find_converter(name), program);
  EXPECT_EQ(*find_converter(program), program);
}

}  // namespace
}  // namespace depute::vgf
