#include "store/trace_url.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

const std::string kSet = "0123456789abcdef0123456789abcdef";

TEST(TraceUrl, IsReadAsItIsWritten) {
  for (const char* daemon :
       {"http://node7", "https://node7.example:7077", "http://[::1]:80", "https://10.0.0.3:1"}) {
    for (const std::int64_t rank : {0L, 7L, 123'456'789'012L}) {
      const TraceUrl url{daemon, kSet, rank};
      EXPECT_EQ(parse_trace_url(url.text()), url) << url.text();
    }
  }
}

TEST(TraceUrl, PathsAndOtherTextsAreNone) {
  const std::string good = "http://node7:7077/v1/traces/" + kSet + "/3";
  ASSERT_TRUE(parse_trace_url(good));
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(parse_trace_url(good.substr(0, length))) << length;
  }
  const auto with_set = [](const std::string& set) {
    return "http://node7:7077/v1/traces/" + set + "/3";
  };
  for (const std::string& other :
       {std::string("/var/traces/v1/traces/") + kSet + "/3", "ftp" + good.substr(4), " " + good,
        good + "x", good + "/", good + "?offset=1", "http://a@b/v1/traces/" + kSet + "/3",
        "http://a/b/v1/traces/" + kSet + "/3", "http:///v1/traces/" + kSet + "/3",
        "http://no de/v1/traces/" + kSet + "/3", with_set(kSet + "0"), with_set(kSet.substr(1)),
        with_set(kSet.substr(1) + "G"), with_set(kSet.substr(1) + "F"),
        with_set(kSet.substr(2) + ".."), "http://node7:7077/v1/traces/" + kSet + "/-3",
        "http://node7:7077/v1/traces/" + kSet + "/99999999999999999999"}) {
    EXPECT_FALSE(parse_trace_url(other)) << other;
  }
}

}  // namespace
}  // namespace hocket
