// A server of entries: GET and PUT of URL/NAME, which object stores and web servers with DAV know.
//
// The program curl transfers them, so that the compiler starts without a library for TLS. Its configuration comes
// through its standard input: no secret is in a command line. curl also takes credentials from ~/.netrc, and
// DEPUTE_CACHE_HEADER names a header to send. Redirects are not followed: a header would go along to another server.
//
// An answer is not trusted: it has a limit of time and size, and ResultCache checks its content. A store that cannot be
// reached, or fails twice, gives one error and is not asked again.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "lower/cache/result_store.h"

namespace depute {

struct HttpLimits {
  std::chrono::seconds connect{5};
  std::chrono::seconds transfer{60};  // connection included; DEPUTE_CACHE_SECONDS overrides it
  std::uint64_t max_entry_bytes = std::uint64_t{4} << 30;
  std::chrono::milliseconds grace{5000};  // for curl to end by itself after `transfer`
};

// Does not connect yet. Fails if the URL or one of the environment variables is invalid.
Result<std::unique_ptr<ResultStore>> open_http_store(const std::string& url, HttpLimits limits = {});

}  // namespace depute
