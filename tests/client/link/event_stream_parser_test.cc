#include "client/link/event_stream_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/mutate.h"

namespace hocket {
namespace {

using Events = std::vector<ServerEvent>;

/// Parses consecutive `pieces` and returns their events.
Events parse(const std::vector<std::string>& pieces) {
  EventStreamParser parser;
  Events events;
  for (const auto& piece : pieces) {
    const auto ok = parser.feed(piece, [&](const ServerEvent& event) { events.push_back(event); });
    EXPECT_TRUE(ok) << ok.error().message;
  }
  return events;
}

TEST(EventStreamParser, ReadsWhatTheStandardSays) {
  EXPECT_EQ(parse({"\xEF\xBB\xBF"
                   "id: 12\nevent: config\ndata: {\ndata:}\n\n"}),
            (Events{{"12", "config", "{\n}"}}));
  // The id applies to later events as well; the type does not.
  EXPECT_EQ(parse({"id:1\nevent:a\ndata:x\n\ndata:  y\n\n"}),
            (Events{{"1", "a", "x"}, {"1", "message", " y"}}));
  EXPECT_EQ(parse({": ping\n\n:\n\nevent: a\n\ndata\n\nretry: 10\nnonsense: 1\n\n"}),
            (Events{{"", "message", ""}}));
  EXPECT_EQ(parse({std::string("id: a\0b\ndata: x\n\n", 17)}), (Events{{"", "message", "x"}}));
  EXPECT_EQ(parse({"data: never ended\n"}), Events{});
  EXPECT_EQ(parse({"data: a\r\rdata: b\r\nevent: x\r\n\r\ndata: c\n\n"}),
            (Events{{"", "message", "a"}, {"", "x", "b"}, {"", "message", "c"}}));
}

TEST(EventStreamParser, GivesTheSameEventsHoweverTheStreamIsCut) {
  std::mt19937_64 random(11);
  const std::string valid =
      "\xEF\xBB\xBF: ping\r\n\r\nid: 1\revent: config\rdata: {}\r\rid: 2\ndata: a\ndata: b\n\n";
  for (int i = 0; i < 2000; ++i) {
    SCOPED_TRACE("seed 11, round " + std::to_string(i));
    const std::string text = i == 0 ? valid : mutate(valid, random);
    std::vector<std::string> pieces, bytes;
    for (const char c : text) {
      bytes.emplace_back(1, c);
      if (pieces.empty() || random() % 4 == 0) pieces.emplace_back();
      pieces.back() += c;
    }
    const Events whole = parse({text});
    ASSERT_EQ(parse(pieces), whole);
    ASSERT_EQ(parse(bytes), whole);
  }
  EXPECT_EQ(parse({valid}), (Events{{"1", "config", "{}"}, {"2", "message", "a\nb"}}));
}

TEST(EventStreamParser, RefusesALineOrDataThatIsTooLong) {
  const auto fed = [](const std::string& text) {
    EventStreamParser parser(16);
    Result<void> ok;
    for (const char c : text) {
      if (ok) ok = parser.feed({&c, 1}, [](const ServerEvent&) {});
    }
    return ok;
  };
  EXPECT_TRUE(fed("data:4567890123\ndata:\n\n"));
  EXPECT_THAT(fed("data:678901234567").error().message, testing::HasSubstr("a line is longer"));
  EXPECT_THAT(fed("data:45678901\ndata:12345678\n\n").error().message,
              testing::HasSubstr("the data of an event is longer than 16 bytes"));
}

}  // namespace
}  // namespace hocket
