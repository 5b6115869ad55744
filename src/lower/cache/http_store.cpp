#include "lower/cache/http_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <thread>

#include "platform/parse_number.h"
#include "platform/signals.h"
#include "support/output_file.h"
#include "support/process/run_program.h"
#include "support/temporary_folder.h"
#include "support/try.h"

namespace depute {
namespace {

using namespace std::chrono_literals;

constexpr const char* header_variable = "DEPUTE_CACHE_HEADER";
constexpr const char* seconds_variable = "DEPUTE_CACHE_SECONDS";
constexpr int max_seconds = 24 * 60 * 60;
constexpr std::size_t max_header_bytes = 16384;
constexpr std::size_t max_url_bytes = 4096;
constexpr int max_attempts = 2;
constexpr auto before_retry = 200ms;
constexpr std::size_t max_told_bytes = 200;  // of curl's own words
constexpr std::string_view status_word = "status ";

// Exit codes of curl.
constexpr int http_error = 22;  // the status is 400 or more
constexpr int timed_out = 28;
constexpr int lost_connection[] = {18, 52, 55, 56};  // before the end of the answer

struct Answer {
  int status = 0;     // of HTTP; 0: none
  int code = 0;       // curl's exit code
  std::string words;  // curl's error

  bool has_status() const { return (code == 0 || code == http_error) && status > 0 && status < 500; }
  bool may_be_retried() const { return status >= 500 || std::ranges::count(lost_connection, code) > 0; }
};

bool is_control(unsigned char c) {
  return std::iscntrl(c) != 0;
}

// A value of curl's configuration.
std::string config_value(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// "https://user:password@host/path" is printed as "https://host/path". A password may have an '@' or '/', too.
std::string without_user(const std::string& url) {
  const std::size_t start = url.find("//") + 2;
  const std::size_t end = url.rfind('@');
  return end == url.npos || end < start ? url : url.substr(0, start) + url.substr(end + 1);
}

// The line of curl's output that starts with `word`, without it; empty if there is none.
std::string_view line_after(std::string_view output, std::string_view word) {
  while (!output.empty()) {
    const std::size_t end = std::min(output.find('\n'), output.size());
    const std::string_view line = output.substr(0, end);
    if (line.starts_with(word)) return line.substr(word.size());
    output.remove_prefix(std::min(end + 1, output.size()));
  }
  return {};
}

class HttpStore : public ResultStore {
 public:
  HttpStore(const std::string& url, std::string header, HttpLimits limits)
      : ResultStore(without_user(url)), url_(url), header_(std::move(header)), limits_(limits) {}

  Result<std::shared_ptr<const MappedFile>> find(const std::string& name) override {
    if (is_given_up_) return nullptr;
    TRY(const TemporaryFolder folder, TemporaryFolder::create("depute-cache"));
    const std::string path = folder.path() + '/' + name;
    TRY(const int status, ask(name, {}, path));
    if (status == 404 || status == 410) return nullptr;
    if (status != 200) return refused(status);
    TRY(std::shared_ptr<const MappedFile> file, MappedFile::open(path));
    // The file goes with its folder: only the bytes may be given to others, not the path.
    const std::span<const std::byte> bytes = file->bytes();
    return MappedFile::in_memory(bytes, std::move(file), place_of(name));
  }

  Status keep(const std::string& name, const std::function<Status(Output&)>& write) override {
    if (is_given_up_ || is_read_only_) return {};
    TRY(const TemporaryFolder folder, TemporaryFolder::create("depute-cache"));
    const std::string path = folder.path() + '/' + name;
    TRY(OutputFile out, OutputFile::create(path));
    TRY_STATUS(write(out));
    if (out.position() > limits_.max_entry_bytes)
      return failure("cache", place_of(name),
                     fmt::format("a result of {} bytes exceeds {} bytes, the limit for a server",
                                 out.position(), limits_.max_entry_bytes));
    TRY_STATUS(out.commit());
    TRY(const int status, ask(name, path, path + ".answer"));
    if (status >= 200 && status < 300) return {};
    is_read_only_ = status != 413;  // too large: another entry may not be
    return refused(status);
  }

 private:
  Failure refused(int status) const {
    return failure("cache", place(),
                   fmt::format("the server answered {}{}", status,
                               status >= 300 && status < 400 ? ", a redirect, which is not followed" : ""));
  }

  std::string config(const std::string& name, const std::string& upload, const std::string& output) const {
    std::string text = fmt::format(
        "silent\nshow-error\nfail\ngloboff\nnetrc-optional\nproto = \"=http,https\"\nconnect-timeout = {}\n"
        "max-time = {}\nmax-filesize = {}\nwrite-out = \"\\n{}%{{http_code}}\\n\"\nurl = {}\noutput = {}\n",
        std::min(limits_.connect, limits_.transfer).count(), limits_.transfer.count(),
        limits_.max_entry_bytes, status_word, config_value(joined(url_, name)), config_value(output));
    if (!upload.empty()) text += fmt::format("upload-file = {}\n", config_value(upload));
    if (!header_.empty()) text += fmt::format("header = {}\n", config_value(header_));
    return text;
  }

  Result<Answer> ask_once(const std::string& settings) const {
    // --disable, which must come first, ignores ~/.curlrc.
    TRY(const Ended curl,
        run_program({"curl", "--disable", "--config", "-"}, settings,
                    {.time = limits_.transfer + limits_.grace, .max_file_bytes = limits_.max_entry_bytes}));
    Answer answer{.code = curl.code};
    const std::string_view status = line_after(curl.output, status_word);
    std::from_chars(status.data(), status.data() + status.size(), answer.status);
    answer.words = printable(line_after(curl.output, "curl: ").substr(0, max_told_bytes));
    if (curl.code == 128 + platform::file_limit_signal)
      answer.words = fmt::format("the answer exceeds {} bytes", limits_.max_entry_bytes);
    if (curl.code == 128 + platform::kill_signal)
      answer.words = fmt::format("no answer within {} s", limits_.transfer.count());
    if (answer.words.empty()) answer.words = fmt::format("curl ended with code {}", curl.code);
    return answer;
  }

  // Returns the status of HTTP. Anything else than an answer below 500 is an error, after which the store is given up.
  Result<int> ask(const std::string& name, const std::string& upload, const std::string& output) {
    const std::string text = config(name, upload, output);
    Answer answer;
    for (int attempt = 1; attempt <= max_attempts; ++attempt) {
      if (attempt > 1) std::this_thread::sleep_for(before_retry);
      Result<Answer> asked = ask_once(text);
      if (!asked) return give_up(fmt::format("{}: {}", asked.error().where, asked.error().message));
      answer = std::move(*asked);
      if (answer.has_status()) return answer.status;
      if (!answer.may_be_retried()) break;
    }
    if (answer.code == http_error) return give_up(fmt::format("the server answered {}", answer.status));
    if (answer.code == timed_out) answer.words += fmt::format(", {} allows more", seconds_variable);
    return give_up(answer.words);
  }

  Failure give_up(std::string_view reason) {
    is_given_up_ = true;
    return failure("cache", place(), fmt::format("{}; the server is not asked again in this run", reason));
  }

  std::string url_;  // with user and password
  std::string header_;
  HttpLimits limits_;
  bool is_given_up_ = false;
  bool is_read_only_ = false;
};

// Messages do not repeat a URL that is invalid: it may have a password.
Status check_url(const std::string& url) {
  const bool is_http = url.starts_with("http://") || url.starts_with("https://");
  std::string_view fault;
  if (!is_http) fault = "expected a folder, or a URL that starts with http:// or https://";
  if (std::ranges::any_of(url, is_control) || url.find_first_of(" ?#") != url.npos)
    fault = "the URL has a space, a control character, '?' or '#'";
  if (url.size() > max_url_bytes) fault = "the URL is too long";
  if (fault.empty()) return {};
  return failure("usage", "--cache", fault,
                 "write it as text, like https://host/path: entries are in URL/KEY.result");
}

// One line, "Name: value". Its value is never printed.
Result<std::string> read_header() {
  const char* variable = std::getenv(header_variable);
  const std::string header = variable == nullptr ? "" : variable;
  const std::size_t name = std::min(header.find(':'), header.size());
  const bool has_name = name > 0 && name < header.size() &&
                        std::ranges::all_of(
                            header.substr(0, name),
                            [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
  if (header.empty() ||
      (has_name && header.size() <= max_header_bytes && std::ranges::none_of(header, is_control)))
    return header;
  return failure("usage", header_variable, "expected one header line",
                 "write it like 'Authorization: Bearer TOKEN'");
}

Result<std::chrono::seconds> read_seconds(std::chrono::seconds otherwise) {
  const char* variable = std::getenv(seconds_variable);
  if (variable == nullptr) return otherwise;
  const std::string_view text = variable;
  const auto seconds = parse_number<int>(text);
  if (seconds && *seconds >= 1 && *seconds <= max_seconds) return std::chrono::seconds(*seconds);
  return failure("usage", seconds_variable,
                 fmt::format("'{}' is not a number of seconds from 1 to {}", printable(text.substr(0, 40)),
                             max_seconds));
}

}  // namespace

Result<std::unique_ptr<ResultStore>> open_http_store(const std::string& url, HttpLimits limits) {
  TRY_STATUS(check_url(url));
  TRY(std::string header, read_header());
  TRY(limits.transfer, read_seconds(limits.transfer));
  return std::make_unique<HttpStore>(url, std::move(header), limits);
}

}  // namespace depute
