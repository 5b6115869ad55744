// Files that appear whole or not at all, interned texts, hashes, parallel loops.
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "depute/program/hash.h"
#include "depute/program/name.h"
#include "depute/program/result.h"
#include "support/hasher.h"
#include "support/mapped_file.h"
#include "support/output_file.h"
#include "support/parallel_for.h"
#include "support/stack.h"

namespace depute {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("depute_support_test" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  fs::path folder_;
};

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST_F(Files, OutputWithoutCommitLeavesNothing) {
  {
    auto file = OutputFile::create(path("a"));
    ASSERT_TRUE(file.has_value());
    ASSERT_TRUE(file->write(bytes_of("text")).has_value());
  }
  EXPECT_EQ(count(), 0u);
}

TEST_F(Files, CommitReplacesAndPadsAndCopiesFromMappings) {
  std::string large(200'000, 'x');
  std::ofstream(path("in")) << large;
  auto mapped = MappedFile::open(path("in"));
  ASSERT_TRUE(mapped.has_value());
  {
    auto file = OutputFile::create(path("out"));
    ASSERT_TRUE(file.has_value());
    ASSERT_TRUE(file->write(bytes_of("head")).has_value());
    ASSERT_TRUE(file->pad_to(8192).has_value());
    EXPECT_EQ(file->position(), 8192u);
    ASSERT_TRUE(file->write_from(**mapped, (*mapped)->bytes()).has_value());
    ASSERT_TRUE(file->commit().has_value());
  }
  auto out = MappedFile::open(path("out"));
  ASSERT_TRUE(out.has_value());
  std::string_view text(reinterpret_cast<const char*>((*out)->bytes().data()), (*out)->bytes().size());
  EXPECT_EQ(text.substr(0, 5), std::string_view("head\0", 5));
  EXPECT_EQ(text.substr(8192), large);
  EXPECT_EQ(count(), 2u) << "no temporary file is left";
}

// Short pieces of a mapping wait in memory among bytes of other kinds; their order in the file stays.
TEST_F(Files, PiecesOfAllSizesKeepTheirOrder) {
  std::string source;
  for (int i = 0; i < 100'000; ++i) source += std::to_string(i);
  std::ofstream(path("in")) << source;
  auto mapped = MappedFile::open(path("in"));
  ASSERT_TRUE(mapped.has_value());
  std::string expected;
  auto file = OutputFile::create(path("out"));
  ASSERT_TRUE(file.has_value());
  std::size_t from = 0;
  for (std::size_t i = 0; i < 2000; ++i) {
    const std::size_t size = i % 500 == 499 ? 70'000 : i % 97 * 13;
    from = (from * 31 + 7 * i) % (source.size() - size);
    const std::string literal(i % 7, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(file->write_from(**mapped, (*mapped)->bytes().subspan(from, size)).has_value());
    ASSERT_TRUE(file->write(bytes_of(literal)).has_value());
    expected += source.substr(from, size) + literal;
    if (i % 300 == 0) {
      const std::string large(i * 300, 'L');
      ASSERT_TRUE(file->write(bytes_of(large)).has_value());
      expected += large;
    }
    ASSERT_EQ(file->position(), expected.size());
  }
  ASSERT_TRUE(file->commit().has_value());
  std::ifstream in(path("out"));
  const std::string written{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(written == expected);
}

// The calls of a writer, on whatever it writes to.
void write_all_kinds(Output& out, const MappedFile& mapped) {
  ASSERT_TRUE(out.skip_to(100).has_value());
  ASSERT_TRUE(out.write(bytes_of("body")).has_value());
  ASSERT_TRUE(out.pad_to(9000).has_value());
  ASSERT_TRUE(out.write_from(mapped, mapped.bytes()).has_value());
  ASSERT_TRUE(out.write_from(mapped, mapped.bytes().subspan(7, 20)).has_value());
  ASSERT_TRUE(out.write_at(3, bytes_of("head")).has_value());
  EXPECT_EQ(out.position(), 9000u + mapped.bytes().size() + 20u);
}

TEST_F(Files, MemoryGetsTheBytesOfTheFile) {
  std::ofstream(path("in")) << std::string(200'000, 'x') << "end";
  auto mapped = MappedFile::open(path("in"));
  ASSERT_TRUE(mapped.has_value());
  auto file = OutputFile::open(path("out"));
  ASSERT_TRUE(file.has_value());
  write_all_kinds(**file, **mapped);
  ASSERT_TRUE((*file)->commit().has_value());

  std::vector<std::byte> bytes(3);
  OutputBytes memory(bytes);
  write_all_kinds(memory, **mapped);
  EXPECT_EQ(bytes.size(), 3u) << "nothing appears before commit()";
  ASSERT_TRUE(memory.commit().has_value());
  auto written = MappedFile::open(path("out"));
  ASSERT_TRUE(written.has_value());
  EXPECT_TRUE(std::ranges::equal(bytes, (*written)->bytes()));
}

TEST_F(Files, MissingAndOddFilesAreRefused) {
  EXPECT_FALSE(MappedFile::open(path("missing")).has_value());
  EXPECT_FALSE(MappedFile::open(folder_.string()).has_value());
  EXPECT_FALSE(OutputFile::create(path("no/such/folder")).has_value());
  EXPECT_FALSE(OutputFile::create(folder_.string()).has_value());
}

TEST(Symbols, EqualTextIsOneSymbolInAllThreads) {
  std::vector<std::thread> threads;
  std::vector<Name> symbols(8);
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < 1000; ++j) Name("thread_test_" + std::to_string(j));
      symbols[i] = Name("thread_test_7");
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (Name symbol : symbols) EXPECT_EQ(symbol, symbols[0]);
  EXPECT_TRUE(Name("").empty());
  EXPECT_EQ(Name::from_id(symbols[0].id()), symbols[0]);
}

// What a terminal is given is UTF-8 without characters that control it.
TEST(Printable, EscapesWhatIsNoText) {
  EXPECT_EQ(printable("a\nb\x1b[0m\x7f"), "a\\nb\\x1b[0m\\x7f");
  for (const char* text : {"\u00a0", "\u00e4", "\u0800", "\ud7ff", "\ufffd", "\U00010000", "\U0010fffd"})
    EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable("\u009b"), "\\xc2\\x9b");
  EXPECT_EQ(printable("x\x90y"), "x\\x90y");
  EXPECT_EQ(printable("\u202e"), "\\xe2\\x80\\xae");                 // writes from right to left
  EXPECT_EQ(printable("\u2028"), "\\xe2\\x80\\xa8");                 // ends a line
  EXPECT_EQ(printable("\xef\xbf\xbe"), "\\xef\\xbf\\xbe");           // U+FFFE
  EXPECT_EQ(printable("\xe4\xb8"), "\\xe4\\xb8");                    // ends too early
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");                    // fits in fewer
  EXPECT_EQ(printable("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf");           // the same
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // half of a pair
  EXPECT_EQ(printable("\xf0\x8f\xbf\xbf"), "\\xf0\\x8f\\xbf\\xbf");  // fits in fewer
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond the last
  EXPECT_EQ(printable("\xe2\x82x"), "\\xe2\\x82x");
  EXPECT_EQ(printable("\xf0\x9f\x98x"), "\\xf0\\x9f\\x98x");
}

TEST(Hashing, LengthsArePartOfTheHash) {
  Hasher a;
  a.add("ab");
  a.add("c");
  Hasher b;
  b.add("a");
  b.add("bc");
  EXPECT_NE(a.finish(), b.finish());
  EXPECT_EQ(hash128({}).hex().size(), 32u);
}

// Runs the function on a thread with a stack of 128 KiB.
void on_small_stack(std::function<void()> function) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 128 * 1024), 0);
  pthread_t thread{};
  const auto call = [](void* argument) -> void* {
    (*static_cast<std::function<void()>*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, call, &function), 0);
  pthread_join(thread, nullptr);
}

TEST(Stack, AThreadWithLittleOfItContinuesOnAnother) {
  EXPECT_TRUE(has_enough_stack());
  const auto here = with_enough_stack([] { return std::this_thread::get_id(); });
  EXPECT_EQ(here, std::this_thread::get_id());
  on_small_stack([] {
    EXPECT_FALSE(has_enough_stack());
    const auto other = with_enough_stack([] { return std::this_thread::get_id(); });
    EXPECT_NE(other, std::this_thread::get_id());
    with_enough_stack([] { EXPECT_TRUE(has_enough_stack()); });
    EXPECT_THROW(with_enough_stack([] { throw std::runtime_error("deep"); }), std::runtime_error);
  });
}

TEST(ParallelFor, ALoopInsideABodyAddsNoThreads) {
  for (int jobs : {1, 3}) {
    std::atomic<int> calls = 0;
    std::atomic<int> running = 0;
    std::atomic<int> most = 0;
    parallel_for(6, jobs, [&](std::size_t) {
      parallel_for(100, jobs, [&](std::size_t) {
        int now = ++running;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        ++calls;
        --running;
      });
    });
    EXPECT_EQ(calls, 600);
    EXPECT_LE(most, jobs);
  }
}

TEST(ParallelFor, ExceptionsComeOutWhenAllThreadsAreDone) {
  for (int jobs : {1, 4}) {
    std::atomic<int> running = 0;
    auto body = [&](std::size_t i) {
      ++running;
      if (i == 20) {
        --running;
        throw std::runtime_error("body 20");
      }
      --running;
    };
    EXPECT_THROW(parallel_for(1000, jobs, body), std::runtime_error);
    EXPECT_EQ(running, 0);
    parallel_for(3, jobs, [&](std::size_t) { ++running; });  // threads are usable afterwards
    EXPECT_EQ(running, 3);
  }
}

TEST(ParallelFor, CallsEveryIndexOnce) {
  for (int jobs : {1, 2, 7}) {
    std::vector<std::atomic<int>> calls(1000);
    parallel_for(calls.size(), jobs, [&](std::size_t i) { ++calls[i]; });
    for (const auto& count : calls) EXPECT_EQ(count, 1);
  }
}

}  // namespace
}  // namespace depute
