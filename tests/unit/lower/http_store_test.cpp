// Tests the store of a server with a script in the place of curl: curl that fails in its own ways, and limits of gigabytes.
#include "lower/cache/http_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "depute/program/data.h"

namespace depute {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

class HttpStoreTest : public testing::Test {
 protected:
  HttpStoreTest() : path_(std::getenv("PATH")) {
    folder_ = fs::temp_directory_path() / ("depute_http_store" + std::to_string(getpid()));
    fs::create_directories(folder_);
    setenv("PATH", (folder_.string() + ":" + path_).c_str(), 1);
    unsetenv("DEPUTE_CACHE_SECONDS");
  }
  ~HttpStoreTest() override {
    setenv("PATH", path_.c_str(), 1);
    fs::remove_all(folder_);
  }

  // The script finds its configuration in $config, and counts its calls.
  std::unique_ptr<ResultStore> store(const std::string& script, HttpLimits limits = {}) {
    const fs::path curl = folder_ / "curl";
    std::ofstream(curl) << "#!/bin/sh\necho >> " << (folder_ / "calls").string() << "\nconfig=$(cat)\n"
                        << "output=$(echo \"$config\" | sed -n 's/^output = \"\\(.*\\)\"$/\\1/p')\n"
                        << script << "\n";
    fs::permissions(curl, fs::perms::owner_all);
    auto made = open_http_store("http://me:secret@host/x", limits);
    EXPECT_TRUE(made) << made.error().str();
    return std::move(*made);
  }

  // The message of a failed find().
  static std::string fault(ResultStore& store) {
    auto file = store.find("k.result");
    return file ? "found" : file.error().message;
  }

  std::size_t calls() const {
    std::ifstream file(folder_ / "calls");
    return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
  }

  fs::path folder_;
  std::string path_;
};

Status keep(ResultStore& store, std::size_t size) {
  return store.keep("k.result", [&](Output& out) { return out.write(std::vector<std::byte>(size)); });
}

TEST_F(HttpStoreTest, FindsTheBytesOfTheAnswer) {
  auto made = store("printf abc > \"$output\"; echo; echo status 200");
  auto file = made->find("k.result");
  ASSERT_TRUE(file) << file.error().str();
  EXPECT_EQ((*file)->bytes().size(), 3U);
  EXPECT_EQ((*file)->path(), "http://host/x/k.result");
  // The downloaded file is gone: a worker cannot map it.
  EXPECT_FALSE(place_in_file(*Storage::mapped(*file, (*file)->bytes())));
}

TEST_F(HttpStoreTest, AnAnswerIsNotLargerThanAnEntry) {
  auto made = store("exec cat /dev/zero > \"$output\"", {.max_entry_bytes = 100'000});
  EXPECT_EQ(fault(*made), "the answer exceeds 100000 bytes; the server is not asked again in this run");
}

TEST_F(HttpStoreTest, ResultsThatAreTooLargeAreNotSent) {
  auto made = store("echo status 201", {.max_entry_bytes = 100});
  EXPECT_THAT(keep(*made, 101).error().message, HasSubstr("a result of 101 bytes exceeds 100 bytes"));
  EXPECT_EQ(calls(), 0U);
  EXPECT_TRUE(keep(*made, 100));
  EXPECT_EQ(calls(), 1U);
}

TEST_F(HttpStoreTest, ACurlThatDoesNotEndIsKilled) {
  auto made = store("exec sleep 100", {.transfer = 1s, .grace = 100ms});
  EXPECT_EQ(fault(*made), "no answer within 1 s; the server is not asked again in this run");
  EXPECT_EQ(fault(*made), "found");  // nothing, without asking
  EXPECT_TRUE(keep(*made, 1));
  EXPECT_EQ(calls(), 1U);
}

TEST_F(HttpStoreTest, WordsOfCurlAreShortAndPrintable) {
  auto made = store("printf 'curl: (9) \\033[31m' ; head -c 9000 /dev/zero | tr '\\0' x; exit 9");
  const std::string told = fault(*made);
  EXPECT_THAT(told, HasSubstr("(9) \\x1b[31mxxx"));
  EXPECT_LT(told.size(), 300U);
}

TEST_F(HttpStoreTest, AnAnswerWithoutAStatusIsAFault) {
  EXPECT_THAT(fault(*store("exit 0")), HasSubstr("curl ended with code 0"));
  EXPECT_THAT(fault(*store("echo status nonsense")), HasSubstr("curl ended with code 0"));
}

TEST_F(HttpStoreTest, APlaceHasNoPassword) {
  auto made = store("exit 0");
  EXPECT_EQ(made->place(), "http://host/x");
  EXPECT_EQ(made->place_of("k"), "http://host/x/k");
  EXPECT_THAT(open_http_store("http://a:b@c/d@host/x").value()->place(), Not(HasSubstr("b@c")));
}

}  // namespace
}  // namespace depute
