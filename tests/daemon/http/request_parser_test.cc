#include "daemon/http/request_parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/daemon/http/strict_reading.h"
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

const std::string kPost = "POST /post HTTP/1.1\r\nHost: a\r\n";
const std::string kHidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";

TEST(RequestParser, NeverTakesABodyForARequest) {
  const std::string chunks = "\r\n1\r\nx\r\n0\r\n\r\n";
  const std::string chunked = kPost + "Transfer-Encoding: chunked\r\n\r\n";
  const std::string cases[] = {
      kPost + "Transfer-Encoding: chunked, identity\r\n" + chunks,
      kPost + "Transfer-Encoding: identity\r\n" + chunks,
      kPost + "Transfer-Encoding: xchunked\r\n" + chunks,
      kPost + "Transfer-Encoding: gzip\r\n" + chunks,
      kPost + "Transfer-Encoding: gzip, chunked\r\n" + chunks,
      kPost + "Transfer-Encoding: chunked, chunked\r\n" + chunks,
      kPost + "Transfer-Encoding: chunked;q=1\r\n" + chunks,
      kPost + "Transfer-Encoding: \"chunked\"\r\n" + chunks,
      kPost + "Transfer-Encoding: ,chunked\r\n" + chunks,
      kPost + "Transfer-Encoding:\r\n" + chunks,
      kPost + "Transfer-Encoding: chunked\x0b\r\n" + chunks,
      kPost + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n" + chunks,
      kPost + "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n" + chunks,
      kPost + "Transfer-Encoding:\r\n chunked\r\n" + chunks,
      kPost + "Transfer-Encoding : chunked\r\n" + chunks,
      kPost + " Transfer-Encoding: chunked\r\n" + chunks,
      kPost + "X: a\r\n\tTransfer-Encoding: chunked\r\n" + chunks,
      kPost + "X: a\nTransfer-Encoding: chunked\r\n" + chunks,
      kPost + "X: a\rTransfer-Encoding: chunked\r\n" + chunks,
      kPost + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n" + chunks,
      kPost + "Content-Length: 3\r\nTransfer-Encoding: gzip\r\n" + chunks,
      "POST /post HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n"
      "Transfer-Encoding: chunked\r\n" +
          chunks,
      kPost + "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx",
      kPost + "Content-Length: 1, 1\r\n\r\nx",
      kPost + "Content-Length: +1\r\n\r\nx",
      kPost + "Content-Length: -1\r\n\r\nx",
      kPost + "Content-Length: 0x1\r\n\r\nx",
      kPost + "Content-Length: 1 0\r\n\r\nx",
      kPost + "Content-Length: 1,\r\n\r\nx",
      kPost + "Content-Length:\r\n\r\nx",
      kPost + "Content-Length : 1\r\n\r\nx",
      kPost + "Content-Length: 18446744073709551617\r\n\r\nx",
      kPost + std::string("X: a\0b\r\n\r\n", 10),
      kPost + std::string("X\0: a\r\n\r\n", 9),
      chunked + "+1\r\nx\r\n0\r\n\r\n",
      chunked + "-1\r\nx\r\n0\r\n\r\n",
      chunked + "0x1\r\nx\r\n0\r\n\r\n",
      chunked + " 1\r\nx\r\n0\r\n\r\n",
      chunked + "1\nx\r\n0\r\n\r\n",
      chunked + "1;a\nx\r\n0\r\n\r\n",
      chunked + "1;a=\"\n\"\r\nx\r\n0\r\n\r\n",
      chunked + "1;a=\"\r\"\r\nx\r\n0\r\n\r\n",
      chunked + "1\r\nxy\r\n0\r\n\r\n",
      chunked + "\r\nx\r\n0\r\n\r\n",
      chunked + "10000000000000001\r\nx\r\n0\r\n\r\n",
      chunked + "1\r\nx\r\n0\r\nA: b\nC: d\r\n\r\n",
      chunked + "1\r\nx\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n",
      chunked + "1\r\nx\r\n0\r\nContent-Length: 10\r\n\r\n",
      "POST http://b/ HTTP/1.1\r\nHost: a\r\n\r\n",
      "CONNECT b:80 HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
      "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET / HTTP/1.2\r\nHost: a\r\n\r\n",
      "GET /\r\n",
      "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
  };
  for (const std::string& attack : cases) {
    for (const std::size_t piece_bytes : {1, 3, 10'000}) {
      EXPECT_EQ(parsed(attack + kHidden, piece_bytes), "400") << attack;
    }
  }
  for (const char* value : {"chunked", "Chunked", "\tCHUNKED \t"}) {
    EXPECT_EQ(parsed(kPost + "Transfer-Encoding:" + value + "\r\n" + chunks + kHidden, 5),
              "POST/postx\nGET/hidden\nbetween");
  }
  EXPECT_EQ(parsed(kPost + "Content-Length: 001\r\n\r\nx" + kHidden, 5),
            "POST/postx\nGET/hidden\nbetween");
}

TEST(RequestParser, FieldsAfterTheBodyChangeNothing) {
  RequestParser parser(1000, 500, [](const RequestHead&) { return std::nullopt; });
  const std::string text = kPost +
                           "Transfer-Encoding: chunked\r\n\r\n0\r\nAuthorization: Bearer a\r\n"
                           "Connection: close\r\nLast-Event-ID: 7\r\nIf-None-Match: *\r\n\r\n";
  std::ranges::copy(text, parser.space().begin());
  parser.received(text.size());
  ASSERT_EQ(parser.next(), State::complete);
  const ParsedRequest parsed = parser.take();
  EXPECT_EQ(parsed.request.authorization, "");
  EXPECT_EQ(parsed.request.last_event_id, "");
  EXPECT_EQ(parsed.request.if_none_match, "");
  EXPECT_EQ(parsed.after, AfterResponse::keep_alive);
}

TEST(RequestParser, LinesAmongChunksHaveALimit) {
  const std::string begin = kPost + "Transfer-Encoding: chunked\r\n\r\n";
  const std::string much(2000, 'a');
  for (const std::size_t piece_bytes : {1, 64, 10'000}) {
    EXPECT_EQ(parsed(begin + "1;" + much, piece_bytes), "431");
    EXPECT_EQ(parsed(begin + "1;" + much + "\r\nx\r\n0\r\n\r\n", piece_bytes), "431");
    EXPECT_EQ(parsed(begin + "0\r\nA: " + much, piece_bytes), "431");
    EXPECT_EQ(parsed(begin + "0\r\nA: " + much + "\r\n\r\n", piece_bytes), "431");
  }
}

TEST(RequestParser, ReadsAsTheStrictestReader) {
  const std::string requests =
      "GET /a HTTP/1.1\r\nHost: a\r\n\r\n" + kPost + "Content-Length: 3\r\n\r\nxyz" + kPost +
      "Transfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n0\r\nA: b\r\n\r\n" + kHidden;
  const std::string all[] = {"GET/a\n", "POST/postxyz\n", "POST/postab\n", "GET/hidden\n"};
  ASSERT_EQ(parsed(requests, 10'000), all[0] + all[1] + all[2] + all[3] + "between");
  for (unsigned seed = 0; seed < 20'000; ++seed) {
    std::mt19937_64 random(seed);
    const std::string mutated = seed == 0 ? requests : mutate(requests, random);
    std::string strict;
    std::string_view rest = mutated;
    while (const auto request = read_strictly(rest)) {
      (strict += request->method) += request->target;
      (strict += request->body) += '\n';
      rest.remove_prefix(request->bytes);
    }
    const std::string found = parsed(mutated, 10'000);
    const std::size_t end = found.ends_with('\n') ? found.size() : found.rfind('\n') + 1;
    ASSERT_TRUE(strict.starts_with(found.substr(0, end))) << seed << mutated << "\n" << strict;
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
