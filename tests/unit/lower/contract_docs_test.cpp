// docs/contract.md names a test for each of its rows: each is there, once, in the files that its letter
// stands for.
//
//   Tests: **C** `tests/unit/lower/contract*_test.cpp`, ...
//   | ExecuTorch | Depute | C CompileSpecsReachTheBackendAndTheDelegate, PY test_runs_as_eager |
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace depute {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path << ": run from the root of the repository";
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::smatch> matches(const std::string& text, const char* expression) {
  std::regex regex(expression);
  return {std::sregex_iterator(text.begin(), text.end(), regex), {}};
}

// The names of the tests in a file: Suite.Name and Name, or test_file.test_name and test_name.
void add_tests(const fs::path& file, std::multiset<std::string>& names) {
  std::string text = read_file(file);
  for (const std::smatch& test : matches(text, R"(TEST(_F|_P)?\((\w+), (\w+)\))")) {
    names.insert(test.str(3));
    names.insert(test.str(2) + "." + test.str(3));
  }
  for (const std::smatch& test : matches(text, R"(\ndef (test_\w+)\()")) {
    names.insert(test.str(1));
    names.insert(file.stem().string() + "." + test.str(1));
  }
}

// Of a file, of all files in a folder, or of those that `*` in a file's name stands for.
std::multiset<std::string> tests_in(const fs::path& place) {
  std::string name = place.filename();
  std::size_t star = name.find('*');
  bool is_folder = fs::is_directory(place);
  std::multiset<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(is_folder ? place : place.parent_path())) {
    std::string file = entry.path().filename();
    bool fits = is_folder || file == name ||
                (star != std::string::npos && file.size() >= name.size() - 1 &&
                 file.starts_with(name.substr(0, star)) && file.ends_with(name.substr(star + 1)));
    if (fits && entry.is_regular_file()) add_tests(entry.path(), names);
  }
  return names;
}

struct Row {
  std::string text;
  std::string tests;  // the last cell
};

std::vector<Row> rows_of(const std::string& page) {
  std::vector<Row> rows;
  for (const std::smatch& line : matches(page, R"(\n(\| [^\n]*) \|(?=\n))")) {
    std::string text = line.str(1);
    Row row{text, text.substr(text.rfind(" | ") + 3)};
    if (row.tests != "test") rows.push_back(row);
  }
  return rows;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> items;
  for (const std::smatch& item : matches(text, R"([^,]+)"))
    items.push_back(std::regex_replace(item.str(), std::regex(R"(^ +| +$)"), ""));
  return items;
}

TEST(ContractDocs, EveryRowNamesTestsThatAreThere) {
  std::string page = read_file("docs/contract.md");
  std::map<std::string, std::multiset<std::string>> tests_of;  // by letter
  for (const std::smatch& entry : matches(page, R"(\*\*(\w+)\*\*\s`([^`]+)`)"))
    tests_of[entry.str(1)] = tests_in(entry.str(2));
  ASSERT_GE(tests_of.size(), 8u);
  for (const auto& [letter, names] : tests_of) EXPECT_FALSE(names.empty()) << letter;

  std::vector<Row> rows = rows_of(page);
  EXPECT_GE(rows.size(), 91u);
  for (const Row& row : rows) {
    std::string letter;
    for (std::string item : split(row.tests)) {
      if (item.starts_with('`')) {  // a file that is a test
        EXPECT_TRUE(fs::is_regular_file(item.substr(1, item.size() - 2))) << item << "\n" << row.text;
        continue;
      }
      if (std::size_t space = item.find(' '); space != std::string::npos) {
        letter = item.substr(0, space);
        item = item.substr(space + 1);
      }
      EXPECT_EQ(tests_of[letter].count(item), 1u) << letter << " " << item << "\n" << row.text;
    }
  }
}

TEST(ContractDocs, ARowWithoutATestWouldBeFound) {
  std::string page = "\n| a | b | test |\n|---|---|---|\n| x | y | C One, Two |\n| u | `v|w` | – |\n";
  std::vector<Row> rows = rows_of(page);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(split(rows[0].tests), (std::vector<std::string>{"C One", "Two"}));
  EXPECT_EQ(rows[1].tests, "–");
}

}  // namespace
}  // namespace depute
