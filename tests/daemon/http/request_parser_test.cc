#include "daemon/http/request_parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/mutate.h"

namespace hocket {
namespace {

using State = RequestParser::State;

/// Returns the parser's output for bytes that arrive in pieces of at most `piece_bytes`.
std::string parsed(std::string_view bytes, std::size_t piece_bytes) {
  RequestParser parser(1000, 500, [](const RequestHead&) { return std::nullopt; });
  std::string out;
  while (!bytes.empty()) {
    const auto space = parser.space();
    const std::size_t count = std::min({space.size(), piece_bytes, bytes.size()});
    std::copy_n(bytes.begin(), count, space.begin());
    parser.received(count);
    bytes.remove_prefix(count);
    for (State state; (state = parser.next()) != State::needs_more;) {
      if (state == State::refused) return out + std::to_string(parser.refusal().status);
      if (state == State::needs_continue) continue;
      const ParsedRequest request = parser.take();
      out += request.request.method + request.request.target + request.request.body + "\n";
    }
  }
  return out + (parser.is_within_request() ? "within" : "between");
}

TEST(RequestParser, WhatComesOutDoesNotDependOnHowItIsCut) {
  const std::string requests =
      "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
      "POST /b HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nxyz"
      "PUT /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n0\r\n\r\n";
  ASSERT_EQ(parsed(requests, 10'000), "GET/a\nPOST/bxyz\nPUT/cab\nbetween");
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::string mutated = seed == 0 ? requests : mutate(requests, random);
    const std::string whole = parsed(mutated, 10'000);
    for (const std::size_t bytes : {1, 2, 7}) {
      // An error may be detected later, once the header is complete, but never earlier.
      const std::string pieces = parsed(mutated, bytes);
      const std::size_t requests_end = whole.rfind('\n') + 1;
      ASSERT_EQ(pieces.substr(0, requests_end), whole.substr(0, requests_end)) << mutated;
      const std::string end = pieces.substr(requests_end);
      ASSERT_TRUE(end == whole.substr(requests_end) || end == "within") << mutated << end;
    }
  }
}

/// Returns whether a request of that begin and these fields opens the page.
bool opens_page(const std::string& begin, const std::string& fields) {
  bool opens = false;
  RequestParser parser(1000, 500, [&](const RequestHead& head) {
    opens = head.opens_page;
    return std::nullopt;
  });
  const std::string text = begin + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
  std::ranges::copy(text, parser.space().begin());
  parser.received(text.size());
  EXPECT_EQ(parser.next(), State::complete);
  return opens;
}

TEST(RequestParser, SeesThatSomebodyOpensThePage) {
  const std::string link = "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
  EXPECT_TRUE(opens_page("GET /", link));
  EXPECT_TRUE(opens_page("GET /?a=b", link));
  EXPECT_FALSE(opens_page("GET /v1/jobs", link));
  EXPECT_FALSE(opens_page("POST /", link));
  EXPECT_FALSE(opens_page("GET /", "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n"));
  EXPECT_FALSE(opens_page("GET /", "Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: document\r\n"));
  EXPECT_FALSE(opens_page("GET /", ""));
}

TEST(RequestParser, HoldsItsLimits) {
  const auto post = [](std::size_t header_bytes, std::size_t body_bytes) {
    const std::string begin =
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body_bytes) + "\r\nX: ";
    return begin + std::string(header_bytes - begin.size() - 4, 'x') + "\r\n\r\n" +
           std::string(body_bytes, 'y');
  };
  const std::string most = "POST/" + std::string(500, 'y') + "\n";
  for (const std::size_t piece_bytes : {1, 64, 10'000}) {
    SCOPED_TRACE(piece_bytes);
    EXPECT_EQ(parsed(post(1000, 500) + post(1000, 500), piece_bytes), most + most + "between");
    EXPECT_EQ(parsed(post(1001, 0), piece_bytes), "431");
    EXPECT_EQ(parsed(post(1000, 500) + post(1001, 500), piece_bytes), most + "431");
    EXPECT_EQ(parsed(post(100, 501), piece_bytes), "413");
    EXPECT_EQ(parsed(post(2000, 0).substr(0, 999), piece_bytes), "within");
    EXPECT_EQ(parsed(post(2000, 0).substr(0, 1001), piece_bytes), "431");
  }
}

}  // namespace
}  // namespace hocket
