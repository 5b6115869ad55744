// Several outputs of one run: all of them appear, or what was there before is there again.
#include "support/output_set.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <span>

#include "support/clean_up.h"
#include "support/mapped_file.h"
#include "support/temporary_file.h"
#include "support/try.h"

namespace depute {
namespace {

namespace fs = std::filesystem;

class OutputSets : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("depute_output_set_test" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void put(const std::string& name, const std::string& text) { std::ofstream(path(name)) << text; }

  // What lies in the folder: files with their text, folders with "/".
  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      std::string& text = found[entry.path().filename().string()];
      if (entry.is_directory()) {
        text = "/";
      } else {
        std::ifstream in(entry.path());
        text.assign(std::istreambuf_iterator<char>(in), {});
      }
    }
    return found;
  }

  Status write(OutputSet& outputs, const std::string& name, std::string_view text) {
    TRY(std::unique_ptr<Output> output, outputs.open(path(name)));
    TRY_STATUS(output->write(std::as_bytes(std::span(text))));
    return output->commit();
  }

  fs::path folder_;
};

using Contents = std::map<std::string, std::string>;

TEST_F(OutputSets, AllAppearAtOnce) {
  put("b", "older b");
  OutputSet outputs;
  ASSERT_TRUE(write(outputs, "a", "new a"));
  ASSERT_TRUE(write(outputs, "b", "new b"));
  ASSERT_TRUE(write(outputs, "c", "new c"));
  EXPECT_FALSE(fs::exists(path("a")));
  EXPECT_EQ(contents()["b"], "older b");
  ASSERT_TRUE(outputs.put_in_place());
  EXPECT_EQ(contents(), (Contents{{"a", "new a"}, {"b", "new b"}, {"c", "new c"}}));
}

TEST_F(OutputSets, WhatIsNotPutInPlaceLeavesNothing) {
  put("a", "older a");
  {
    OutputSet outputs;
    ASSERT_TRUE(write(outputs, "a", "new a"));
    ASSERT_TRUE(write(outputs, "b", "new b"));
  }
  EXPECT_EQ(contents(), (Contents{{"a", "older a"}}));
}

// Something takes a place between the check and the end: the renames before it are undone.
class RenameFails : public OutputSets, public ::testing::WithParamInterface<int> {};

TEST_P(RenameFails, AndAllIsAsItWas) {
  put("a", "older a");
  put("c", "older c");
  auto outputs = std::make_unique<OutputSet>();
  const std::string names[] = {"a", "b", "c", "d"};
  const std::string& blocked = names[GetParam()];
  for (const std::string& name : names) ASSERT_TRUE(write(*outputs, name, "new " + name));
  fs::remove(path(blocked));
  fs::create_directories(path(blocked) + "/full");
  Contents before = {{"a", "older a"}, {"c", "older c"}};
  before[blocked] = "/";
  Status placed = outputs->put_in_place();
  ASSERT_FALSE(placed);
  EXPECT_EQ(placed.error().where, path(blocked));
  EXPECT_TRUE(placed.error().details.empty()) << placed.error().str();
  outputs.reset();
  EXPECT_EQ(contents(), before);
}

INSTANTIATE_TEST_SUITE_P(EachInTurn, RenameFails, ::testing::Range(0, 4));

TEST_F(OutputSets, InputsAndOtherOutputsAreNotReplaced) {
  put("in", "model");
  fs::create_hard_link(path("in"), path("hard"));
  fs::create_symlink(path("in"), path("soft"));
  fs::create_directory_symlink(folder_, path("there"));
  OutputSet outputs;
  outputs.add_input(path("in"));
  for (const char* name : {"in", "hard", "soft", "there/in", "./in"}) {
    Status reserved = outputs.reserve("-o", path(name));
    ASSERT_FALSE(reserved) << name;
    EXPECT_EQ(reserved.error().code, "usage") << name;
  }
  ASSERT_TRUE(outputs.reserve("-o", path("out")));
  for (const char* name : {"out", "./out", "there/out"}) {
    EXPECT_FALSE(outputs.reserve("--report", path(name))) << name;
  }
  EXPECT_TRUE(outputs.add_late_input(path("in"))) << "it is no output";
}

TEST_F(OutputSets, LinksThatLeadNowhereAreNotReplaced) {
  fs::create_symlink("absent", path("dangling"));
  fs::create_symlink("loop", path("loop"));
  OutputSet outputs;
  for (const char* name : {"dangling", "loop"}) {
    const Status reserved = outputs.reserve("-o", path(name));
    ASSERT_FALSE(reserved) << name;
    EXPECT_EQ(reserved.error().message, "is a symbolic link to a file that does not exist");
  }
}

TEST_F(OutputSets, OwnerGroupAndPermissionsStay) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  put("a", "older a");
  ASSERT_EQ(chown(path("a").c_str(), 1234, 1235), 0);
  ASSERT_EQ(chmod(path("a").c_str(), 0640), 0);
  OutputSet outputs;
  ASSERT_TRUE(write(outputs, "a", "new a"));
  ASSERT_TRUE(outputs.put_in_place());
  struct stat info{};
  ASSERT_EQ(stat(path("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 1234U);
  EXPECT_EQ(info.st_gid, 1235U);
  EXPECT_EQ(info.st_mode & 0777, 0640U);
}

TEST_F(OutputSets, ALateInputIsNotReplaced) {
  put("data", "weights");
  OutputSet outputs;
  ASSERT_TRUE(outputs.reserve("-o", path("data")));
  EXPECT_FALSE(outputs.add_late_input(path("data")));
}

TEST_F(OutputSets, AnInputThatChangesIsAnError) {
  const std::map<std::string, std::function<void()>> changes = {
      {"longer", [&] { std::ofstream(path("in"), std::ios::app) << "more"; }},
      {"rewritten", [&] { fs::last_write_time(path("in"), fs::file_time_type::clock::now()); }},
      {"replaced", [&] { fs::rename(path("other"), path("in")); }},
      {"removed", [&] { fs::remove(path("in")); }}};
  for (const auto& [name, change] : changes) {
    put("in", "model");
    put("other", "model");
    fs::last_write_time(path("in"), fs::file_time_type());
    put("out", "older");
    {
      OutputSet outputs;
      outputs.add_input(path("in"));
      ASSERT_TRUE(write(outputs, "out", "new"));
      change();
      const Status placed = outputs.put_in_place();
      ASSERT_FALSE(placed) << name;
      EXPECT_EQ(placed.error().str(), "[open] " + path("in") + ": the file changed while it was read");
    }
    EXPECT_EQ(contents()["out"], "older") << name;
  }
}

TEST_F(OutputSets, AFileThatIsCutWhileItIsReadEndsTheProcess) {
  put("in", "model");
  const auto read_cut_file = [&] {
    clean_up_on_signals();
    auto temporary = TemporaryFile::create(path("out"), 0666);
    auto file = MappedFile::open(path("in"));
    fs::resize_file(path("in"), 0);
    const volatile std::byte* byte = (*file)->bytes().data();
    return static_cast<int>(*byte);
  };
  EXPECT_EXIT(exit(read_cut_file()), ::testing::ExitedWithCode(1),
              "error.open.: .*/in: the file changed while it was read\n  help: ");
  EXPECT_EQ(contents(), (Contents{{"in", ""}}));
}

TEST_F(OutputSets, CopyingAFileThatIsCutIsAnError) {
  for (const std::size_t size : {std::size_t{10'000}, std::size_t{1'000'000}}) {
    put("in", std::string(size, 'x'));
    auto file = MappedFile::open(path("in"));
    ASSERT_TRUE(file);
    fs::resize_file(path("in"), 0);
    OutputSet outputs;
    auto output = outputs.open(path("out"));
    ASSERT_TRUE(output);
    Status written = (*output)->write_from(**file, (*file)->bytes());
    if (written) written = (*output)->pad_to(10'000'000);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().message, "the file changed while it was read");
  }
}

TEST_F(OutputSets, AStreamIsWrittenBeforeFilesAreReplaced) {
  put("a", "older a");
  OutputSet outputs;
  ASSERT_TRUE(write(outputs, "a", "new a"));
  auto full = outputs.open("/dev/full");
  ASSERT_TRUE(full) << full.error().str();
  ASSERT_TRUE((*full)->write(std::as_bytes(std::span("text"))));
  ASSERT_TRUE((*full)->commit());
  full->reset();
  EXPECT_FALSE(outputs.put_in_place());
  EXPECT_EQ(contents()["a"], "older a");
}

TEST_F(OutputSets, ADeviceMayBeSeveralOutputsAndAFileOne) {
  OutputSet outputs;
  for (const char* option : {"-o", "--report"}) ASSERT_TRUE(outputs.reserve(option, "/dev/null"));
  for (int i = 0; i < 2; ++i) {
    auto output = outputs.open("/dev/null");
    ASSERT_TRUE(output) << output.error().str();
    ASSERT_TRUE((*output)->commit());
  }
  ASSERT_TRUE(write(outputs, "a", "new a"));
  EXPECT_FALSE(outputs.open(path("a"))) << "it is open already";
  ASSERT_TRUE(outputs.put_in_place());
  EXPECT_EQ(contents(), (Contents{{"a", "new a"}}));
}

TEST_F(OutputSets, NamesLeftByAnotherRunAreNotTaken) {
  auto first = TemporaryFile::create(path("a"), 0666);
  ASSERT_TRUE(first);
  auto second = TemporaryFile::create(path("a"), 0666);
  ASSERT_TRUE(second);
  EXPECT_NE(first->path(), second->path());
}

TEST_F(OutputSets, TemporaryFilesCanBeRemovedAtOnce) {
  std::vector<TemporaryFile> files;
  for (int i = 0; i < 5; ++i) files.push_back(std::move(*TemporaryFile::create(path("a"), 0666)));
  EXPECT_EQ(contents().size(), 5);
  run_clean_ups();
  EXPECT_TRUE(contents().empty());
}

}  // namespace
}  // namespace depute
