// Whole texts of refusals, kept beside the tests: what a test of an error looks at by its code alone is also
// compared with a file that is read as a diff when it changes.
//
//   ASSERT_TRUE(is_refused(lowered));                          // its whole text stands in refusals.txt
//   EXPECT_EQ(lowered.error().code, "to_backend.split-state");
//
// A folder has one file: RefusalLog::start("tests/unit/lower/refusals.txt"). DEPUTE_UPDATE=1 rewrites the
// entries of the tests that ran.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "depute/program/result.h"

namespace depute {

class RefusalLog : public ::testing::Environment {
 public:
  static RefusalLog* start(std::string path) {
    current_ = new RefusalLog(std::move(path));  // owned by gtest from here on
    ::testing::AddGlobalTestEnvironment(current_);
    return current_;
  }

  static void add(const Diagnostic& refusal) {
    if (current_ == nullptr) return;
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string& text = current_->seen_[std::string(test->test_suite_name()) + "." + test->name()];
    text += "  " + refusal.str() + "\n";
    if (!refusal.hint.empty()) text += "    help: " + refusal.hint + "\n";
  }

  void TearDown() override {
    std::map<std::string, std::string> known = read();
    if (std::getenv("DEPUTE_UPDATE") != nullptr) {
      for (const auto& [test, text] : seen_) known[test] = text;
      std::ofstream file(path_);
      for (const auto& [test, text] : known) file << test << "\n" << text;
      return;
    }
    for (const auto& [test, text] : seen_) EXPECT_EQ(text, known[test]) << "in " << path_ << ", " << test;
  }

 private:
  explicit RefusalLog(std::string path) : path_(std::move(path)) {}

  // A test's name, then its lines, which are indented.
  std::map<std::string, std::string> read() const {
    std::map<std::string, std::string> entries;
    std::ifstream file(path_);
    std::string test;
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with(" ")) {
        entries[test] += line + "\n";
      } else {
        test = line;
      }
    }
    return entries;
  }

  static inline RefusalLog* current_ = nullptr;
  std::string path_;
  std::map<std::string, std::string> seen_;
};

// True for an error, whose text is compared.
template <typename T>
bool is_refused(const Result<T>& result) {
  if (!result) RefusalLog::add(result.error());
  return !result.has_value();
}

}  // namespace depute
