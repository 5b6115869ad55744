// Programs that are run to their end: their output, their limits.
#include "support/process/run_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

namespace depute {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr ProgramLimits wide = {.time = 60s, .max_file_bytes = 1 << 20};

Ended shell(const std::string& script, std::string_view input = {}, const ProgramLimits& limits = wide) {
  auto ended = run_program({"sh", "-c", script}, input, limits);
  EXPECT_TRUE(ended) << ended.error().str();
  return std::move(*ended);
}

TEST(RunProgram, AProgramHasItsInputAndBothOfItsOutputsAreRead) {
  const Ended ended = shell("cat; echo told >&2; exit 7", "some words\n");
  EXPECT_EQ(ended.output, "some words\ntold\n");
  EXPECT_EQ(ended.code, 7);
}

TEST(RunProgram, AProgramThatReadsNothingIsNotWaitedFor) {
  EXPECT_EQ(shell("exit 0", std::string(1 << 16, 'x')).code, 0);
  EXPECT_FALSE(run_program({"sh", "-c", "exit 0"}, std::string((1 << 16) + 1, 'x'), wide));
}

TEST(RunProgram, OutputHasALimit) {
  const Ended ended = shell("yes | head -c 200000; echo; exit 3");
  EXPECT_EQ(ended.output.size(), std::size_t{1} << 16);
  EXPECT_EQ(ended.code, 3);
}

TEST(RunProgram, ProgramsThatTakeTooLongAreKilled) {
  for (const char* script : {"exec sleep 100", "exec yes", "exec >&- 2>&-; exec sleep 100"}) {
    const auto begun = Clock::now();
    EXPECT_EQ(shell(script, {}, {.time = 200ms, .max_file_bytes = 1}).code, 128 + SIGKILL) << script;
    EXPECT_LT(Clock::now() - begun, 20s) << script;
  }
}

TEST(RunProgram, FilesHaveALimit) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("depute_spawn" + std::to_string(getpid()));
  const std::string once_limited = "until ulimit -f | grep -q '^[0-9]'; do :; done; ";
  EXPECT_EQ(shell(once_limited + "exec head -c 9000000 /dev/zero > " + path).code, 128 + SIGXFSZ);
  EXPECT_EQ(std::filesystem::file_size(path), wide.max_file_bytes);
  std::filesystem::remove(path);
}

TEST(RunProgram, AProgramThatDoesNotExistIsAnError) {
  const auto ended = run_program({"no-such-program"}, {}, wide);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().str(), "[run] no-such-program: there is no such program on PATH");
}

}  // namespace
}  // namespace depute
