// Names and symbolic expressions go with the programs that have them, and not before.
#include "depute/program/name_scope.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "depute/backend/backend_op.h"
#include "depute/compiler/compiler.h"
#include "depute/program/text.h"
#include "depute/tools/report.h"
#include "ir/sym/sym_internal.h"
#include "support/names/interned.h"
#include "support/parallel_for.h"
#include "tests/unit/compile/numbered_model.h"
#include "tests/unit/parse.h"
#include "tools/diff/diff.h"

namespace depute {
namespace {

// Counts the entries in the tables of the process.
struct InternedCount {
  std::size_t names = count_names();
  std::size_t expressions = sym::count_expressions();
  friend bool operator==(const InternedCount&, const InternedCount&) = default;
  friend std::ostream& operator<<(std::ostream& out, const InternedCount& count) {
    return out << count.names << " names, " << count.expressions << " expressions";
  }
};

InternedCount count_interned() {
  return {};
}

std::span<const std::byte> bytes_of_text(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// The model, alive as long as `text` is.
Exported load_numbered(const Compiler& compiler, const std::string& text) {
  return must(compiler.load(bytes_of_text(text), nullptr));
}

LowerOptions options_for(int number) {
  LowerOptions options{.verify_each_pass = number % 5 == 0};
  if (number % 2 == 0) options.backends = {{"xnnpack"}};
  if (number % 3 == 0) options.jobs = 2;
  return options;
}

struct Made {
  std::string text;
  Executable executable;
  Report report;
  PteFile file;
};

Made make_numbered(const Compiler& compiler, int number) {
  std::string text = numbered_model(number);
  Exported exported = load_numbered(compiler, text);
  Executable executable = must(to_executorch(must(compiler.lower(std::move(exported), options_for(number)))));
  Report report = make_report(executable, {.splits = true, .page = true});
  PteFile file = must(write(executable));
  return {std::move(text), std::move(executable), std::move(report), std::move(file)};
}

// Reads all names of what was made.
std::string text_of(const Made& made) {
  return print(made.executable.program()) + print(made.executable.delegated().normalized()) +
         report_json(made.report) + report_html(made.report);
}

// Lowers models once, so that the tables have what stays for good.
void warm_up(const Compiler& compiler) {
  for (int number = 1'000'000; number < 1'000'030; ++number) text_of(make_numbered(compiler, number));
}

bool is_kept(std::string_view text) {
  const NameScope::Use use(NameScope::make());
  const std::size_t before = count_names();
  return Name::scoped(text).str() == text && count_names() == before;
}

TEST(NameScope, ItsNamesEndWithIt) {
  warm_up(Compiler());
  const InternedCount before = count_interned();
  NameScope scope = NameScope::make();
  {
    const NameScope::Use use(scope);
    const Name name = Name::scoped("of_the_first_scope");
    EXPECT_EQ(name, Name::scoped("of_the_first_scope"));
    EXPECT_EQ(symbols_of((SymInt::symbol("first_symbol") * 3 + 7).expr()).front().str(), "first_symbol");
  }
  EXPECT_GE(count_interned().names, before.names + 2);
  EXPECT_GE(count_interned().expressions, before.expressions + 2);
  scope = NameScope();
  EXPECT_EQ(count_interned(), before);
}

TEST(NameScope, ANameLivesAsLongAsOneScopeThatUsesIt) {
  const InternedCount before = count_interned();
  NameScope first = NameScope::make();
  NameScope second = NameScope::make();
  Name name;
  for (const NameScope* scope : {&first, &second, &first, &second}) {  // by turns
    const NameScope::Use use(*scope);
    const Name again = Name::scoped("a name of two scopes");
    EXPECT_TRUE(name.empty() || again == name);
    name = again;
  }
  first = NameScope();
  EXPECT_EQ(name.str(), "a name of two scopes");
  NameScope third = second.copy();
  second = NameScope();
  EXPECT_EQ(name.str(), "a name of two scopes");
  third = NameScope();
  EXPECT_EQ(count_interned(), before);
}

TEST(NameScope, AnExpressionKeepsItsParts) {
  const InternedCount before = count_interned();
  NameScope first = NameScope::make();
  NameScope second = NameScope::make();
  SymInt size = 0;
  {
    const NameScope::Use use(first);
    size = SymInt::symbol("first_part") * SymInt::symbol("second_part") + 5;
  }
  const std::string text = size.str();
  {
    const NameScope::Use use(second);
    EXPECT_EQ(SymInt(must(parse_sym(text))), size);
  }
  first = NameScope();
  EXPECT_EQ(size.str(), text);
  second = NameScope();
  EXPECT_EQ(count_interned(), before);
}

// The second scope has only an expression around one of the first.
TEST(NameScope, AnExpressionKeepsPartsOfOtherScopes) {
  NameScope first = NameScope::make();
  const NameScope second = NameScope::make();
  SymInt size = 0, twice = 0;
  {
    const NameScope::Use use(first);
    size = SymInt::symbol("part_of_the_first");
  }
  {
    const NameScope::Use use(second);
    twice = size * 2;
  }
  const std::string text = twice.str();
  first = NameScope();
  EXPECT_TRUE(is_kept("part_of_the_first"));
  EXPECT_EQ(twice.str(), text);
}

TEST(NameScope, ScopesThatTakeTurnsDoNotGrow) {
  const InternedCount before = count_interned();
  NameScope first = NameScope::make();
  NameScope second = NameScope::make();
  for (int i = 0; i < 100'000; ++i) {
    const NameScope::Use use(i % 2 == 0 ? first : second);
    EXPECT_FALSE(Name::scoped("taken in turns").empty());
  }
  first = NameScope();
  EXPECT_GT(count_interned().names, before.names);
  second = NameScope();
  EXPECT_EQ(count_interned(), before);
}

TEST(NameScope, WordsOfCodeStay) {
  Name word, first_scoped;
  {
    const NameScope::Use use(NameScope::make());
    word = Name("a word of code");
    first_scoped = Name::scoped("a name of a model, then a word of code");
    EXPECT_EQ(Name("a name of a model, then a word of code"), first_scoped);
  }
  EXPECT_EQ(word.str(), "a word of code");
  EXPECT_EQ(first_scoped.str(), "a name of a model, then a word of code");
}

TEST(NameScope, ModelsLeaveNothing) {
  const Compiler compiler;
  warm_up(compiler);
  const InternedCount before = count_interned();
  for (int number = 0; number < 300; ++number) EXPECT_FALSE(make_numbered(compiler, number).file.pte.empty());
  EXPECT_EQ(count_interned(), before);
}

TEST(NameScope, ProgramsOutliveTheirCompiler) {
  warm_up(Compiler());
  const InternedCount before = count_interned();
  {
    std::vector<Made> kept;
    std::vector<std::string> texts;
    for (int number = 0; number < 20; ++number) {
      const Compiler compiler;
      kept.push_back(make_numbered(compiler, number));
      texts.push_back(text_of(kept.back()));
    }
    for (std::size_t i : {3, 11, 0, 7}) {
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
      texts.erase(texts.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(text_of(kept[i]), texts[i]);
  }
  EXPECT_EQ(count_interned(), before);
}

// Every stage alone keeps its names.
TEST(NameScope, EachStageKeepsItsNames) {
  const Compiler compiler;
  warm_up(compiler);
  const InternedCount before = count_interned();
  for (int kept = 0; kept < 5; ++kept) {
    std::shared_ptr<const Program> program;
    {
      const std::string text = numbered_model(7);
      const Exported exported = load_numbered(compiler, text);
      const Edge edge = must(compiler.to_edge(exported));
      const Delegated delegated = must(compiler.to_backend(edge, {.backends = {{"xnnpack"}}}));
      const Delegated lowered = must(lower_undelegated(delegated));
      const std::array programs{exported.shared_program(), edge.shared_program(), delegated.shared_program(),
                                lowered.shared_program(),
                                std::make_shared<const Program>(clone(lowered.program()))};
      program = programs[static_cast<std::size_t>(kept)];
    }
    EXPECT_NE(print(*program).find("7"), std::string::npos);
  }
  EXPECT_EQ(count_interned(), before);
}

// A server may keep a model, and lower it many times under names of its own.
TEST(NameScope, AKeptModelDoesNotGrow) {
  const Compiler compiler;
  warm_up(compiler);
  const std::string text = numbered_model(5);
  const Exported exported = load_numbered(compiler, text);
  const InternedCount before = count_interned();
  for (int number = 0; number < 20; ++number) {
    const Delegated lowered =
        must(compiler.lower(exported, {.constants = {{fmt::format("constant_{}", number), {1.0}}}}));
    EXPECT_NE(lowered.program().find_method(fmt::format("constant_{}", number)), nullptr);
  }
  EXPECT_EQ(count_interned(), before);
}

TEST(NameScope, JoinedMethodsKeepTheirNames) {
  const Compiler compiler;
  warm_up(compiler);
  const InternedCount before = count_interned();
  {
    const std::string first = numbered_model(1), second = numbered_model(2);
    const Exported joined = must(compiler.join(
        {{"encode", load_numbered(compiler, first)}, {"decode", load_numbered(compiler, second)}}));
    const std::string text = print(joined.program());
    EXPECT_NE(text.find("%cosh_1"), std::string::npos);
    EXPECT_NE(text.find("%cosh_2"), std::string::npos);
    EXPECT_EQ(print(must(compiler.to_edge(joined)).program()).find("linear_3"), std::string::npos);
  }
  EXPECT_EQ(count_interned(), before);
}

TEST(NameScope, ADiffKeepsTheNamesOfBothReports) {
  const Compiler compiler;
  warm_up(compiler);
  const InternedCount before = count_interned();
  {
    LoweringDiff diff;
    {
      const LoweringFacts first{.name = "first", .report = make_numbered(compiler, 31).report};
      const LoweringFacts second{.name = "second", .report = make_numbered(compiler, 33).report};
      diff = compare(first, second);
    }
    const std::string text = diff_text(diff);
    EXPECT_NE(text.find("%relu_31"), std::string::npos) << text;
    EXPECT_NE(text.find("%relu_33"), std::string::npos) << text;
    EXPECT_TRUE(is_kept("relu_31") && is_kept("relu_33"));
  }
  EXPECT_EQ(count_interned(), before);
}

// A callback may return a program that has a scope of its own.
TEST(NameScope, TransformsMayReturnOtherPrograms) {
  const Compiler compiler;
  warm_up(compiler);
  const InternedCount before = count_interned();
  {
    const Transform replace = [](const Program&) -> Result<Program> {
      const NameScope::Use use(NameScope::make());
      return parse_program(numbered_model(9));
    };
    const std::string text = numbered_model(8);
    const Delegated lowered = must(
        compiler.lower(load_numbered(compiler, text), {.backends = {{"xnnpack"}}, .transforms = {replace}}));
    EXPECT_NE(print(lowered.program()).find("_9"), std::string::npos);
  }
  EXPECT_EQ(count_interned(), before);
}

TEST(NameScope, ThreadsOfALoopUseTheScopeOfTheCaller) {
  const InternedCount before = count_interned();
  {
    const NameScope::Use use(NameScope::make());
    parallel_for(64, 4, [](std::size_t i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_FALSE(Name::scoped(fmt::format("of_index_{}", i)).empty());
    });
    EXPECT_EQ(count_interned().names, before.names + 64);
  }
  EXPECT_EQ(count_interned(), before);
}

TEST(NameScope, CompilersOnSeveralThreads) {
  warm_up(Compiler());
  const InternedCount before = count_interned();
  {
    std::array<std::vector<Made>, 4> made;
    std::vector<std::thread> threads;
    for (std::vector<Made>& mine : made) {
      threads.emplace_back([&mine] {
        const Compiler compiler;
        for (int number = 0; number < 40; ++number) {  // the same models on all threads
          mine.push_back(make_numbered(compiler, number));
          if (mine.size() > 4) mine.erase(mine.begin());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < made[0].size(); ++i) {
      const std::string text = print(made[0][i].executable.program());
      for (const std::vector<Made>& other : made) EXPECT_EQ(print(other[i].executable.program()), text);
    }
  }
  EXPECT_EQ(count_interned(), before);
}

}  // namespace
}  // namespace depute
