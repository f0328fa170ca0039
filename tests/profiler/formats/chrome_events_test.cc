// Reads events as programs write them: with texts for numbers, numbers that are none, bytes that
// are no JSON, and phases besides those of PyTorch.

#include "profiler/formats/chrome_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "profiler/formats/chrome_import.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

Result<ChromeImport> import_text(const std::string& text) {
  std::istringstream in(text);
  return read_chrome_trace(in);
}

const TraceRecord* record_named(const RankTrace& trace, std::string_view name) {
  for (const TraceRecord& record : trace.records)
    if (trace.names[record.name] == name) return &record;
  return nullptr;
}

/// Returns an event of the device on stream 7, with its launch if `correlation` is not empty.
std::string kernel(const std::string& name, const std::string& ts, const std::string& dur,
                   const std::string& correlation = "") {
  return R"({"ph":"X","cat":"kernel","name":")" + name + R"(","pid":0,"tid":7,"ts":)" + ts +
         R"(,"dur":)" + dur + R"(,"args":{"stream":7)" +
         (correlation.empty() ? "" : ",\"correlation\":" + correlation) + "}}";
}

TEST(ChromeEvents, ReadsTimesThatAreTexts) {
  const auto read =
      import_text("[" + kernel("a", "\"1717575960208020.758\"", "\"12.5\"") + "," +
                  kernel("b", "\" 1717575960208040 \"", "\"1e1\"") + "," +
                  kernel("c", "\"soon\"", "3") + "," + kernel("d", "\"late\"", "3") + "]");
  ASSERT_TRUE(read) << read.error().message;
  const RankTrace& trace = read->traces.at(0);
  EXPECT_EQ(record_named(trace, "a")->begin_ns, 1'717'575'960'208'020'758);
  EXPECT_EQ(record_named(trace, "a")->end_ns, 1'717'575'960'208'033'258);
  EXPECT_EQ(record_named(trace, "b")->end_ns, 1'717'575'960'208'050'000);
  EXPECT_EQ(trace.quarantined, 2);
  EXPECT_THAT(read->notes,
              ::testing::Contains("line 1: \"ts\" is \"soon\", which is no time; 1 other place is "
                                  "like that"));
}

TEST(ChromeEvents, ReadsIdentitiesOfAnySize) {
  // Neighbours that a double does not tell apart, and texts.
  const std::vector<std::pair<std::string, std::string>> ids = {
      {"18446744073709551617", "18446744073709551618"},
      {"\"0x7f3a00000001\"", "\"0x7f3a00000002\""},
      {"9223372036854775807", "9223372036854775806"}};
  for (const auto& [first, second] : ids) {
    SCOPED_TRACE(first);
    const auto launch = [](const std::string& id, const std::string& ts) {
      return R"({"ph":"X","cat":"cuda_runtime","name":"launch","pid":1,"tid":1,"dur":1,"ts":)" +
             ts + R"(,"args":{"correlation":)" + id + "}}";
    };
    const auto read =
        import_text("[" + launch(first, "10") + "," + launch(second, "20") + "," +
                    kernel("a", "100", "5", first) + "," + kernel("b", "110", "5", second) + "]");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(record_named(read->traces.at(0), "a")->submitted_ns, 10'000);
    EXPECT_EQ(record_named(read->traces.at(0), "b")->submitted_ns, 20'000);
    const auto by_arrow =
        import_text("[" + kernel("a", "100", "5", first) +
                    R"(,{"ph":"s","cat":"ac2g","pid":1,"tid":1,"ts":10,"id":)" + first + "}]");
    ASSERT_TRUE(by_arrow);
    EXPECT_EQ(record_named(by_arrow->traces.at(0), "a")->submitted_ns, 10'000);
  }
}

TEST(ChromeEvents, ArrowsEndAtWorkThatNamesNoLaunch) {
  const auto read =
      import_text("[" + kernel("a", "100", "5") + "," + kernel("b", "200", "5", "3") + R"(,
    {"ph":"s","cat":"fwdbwd","name":"fwdbwd","pid":1,"tid":1,"ts":50,"id":3},
    {"ph":"s","cat":"flow","name":"launch","pid":1,"tid":1,"ts":60,"id":9},
    {"ph":"f","bp":"e","cat":"flow","name":"launch","pid":0,"tid":7,"ts":100,"id":9}])");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(record_named(read->traces.at(0), "a")->submitted_ns, 60'000);
  EXPECT_EQ(record_named(read->traces.at(0), "b")->submitted_ns, 0)
      << "arrows to the backward pass are no launches";
}

TEST(ChromeEvents, PairsEventsThatBelongToNoThread) {
  const auto read = import_text(R"([
    {"ph":"b","cat":"request","name":"decode","id":"0x1","pid":1,"tid":1,"ts":10},
    {"ph":"b","cat":"request","name":"decode","id":"0x2","pid":1,"tid":1,"ts":20},
    {"ph":"n","cat":"request","name":"token","id":"0x1","pid":1,"tid":1,"ts":25},
    {"ph":"b","cat":"request","name":"inner","id":"0x1","pid":1,"tid":1,"ts":26},
    {"ph":"e","cat":"request","name":"inner","id":"0x1","pid":1,"tid":2,"ts":28},
    {"ph":"e","cat":"request","name":"decode","id":"0x1","pid":1,"tid":2,"ts":30},
    {"ph":"e","cat":"request","name":"decode","id":"0x2","pid":1,"tid":1,"ts":50},
    {"ph":"b","cat":"other","name":"local","id2":{"local":"0x1"},"pid":1,"ts":60},
    {"ph":"e","cat":"other","name":"local","id2":{"local":"0x1"},"pid":1,"ts":65},
    {"ph":"S","cat":"old","name":"old","id":7,"pid":1,"ts":70},
    {"ph":"F","cat":"old","name":"old","id":7,"pid":1,"ts":77},
    {"ph":"b","cat":"request","name":"open","id":"0x3","pid":1,"tid":1,"ts":90}])");
  ASSERT_TRUE(read) << read.error().message;
  const RankTrace& trace = read->traces.at(0);
  ASSERT_EQ(trace.records.size(), 5U);
  EXPECT_EQ(trace.records[0].end_ns, 30'000);
  EXPECT_EQ(trace.records[1].end_ns, 50'000);
  EXPECT_EQ(record_named(trace, "inner")->end_ns, 28'000);
  EXPECT_EQ(record_named(trace, "local")->end_ns, 65'000);
  EXPECT_EQ(record_named(trace, "old")->end_ns, 77'000);
  EXPECT_EQ(trace.quarantined, 1) << "one never ends";
}

TEST(ChromeEvents, AnEndWithANameLeavesThoseBegunSinceWithoutEnds) {
  const auto read = import_text(R"([
    {"ph":"B","name":"outer","pid":1,"tid":1,"ts":2},
    {"ph":"B","name":"never ends","pid":1,"tid":1,"ts":3},
    {"ph":"E","name":"outer","pid":1,"tid":1,"ts":9}])");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(record_named(read->traces.at(0), "outer")->end_ns, 9'000);
  EXPECT_EQ(record_named(read->traces.at(0), "never ends"), nullptr);
  EXPECT_EQ(read->traces.at(0).quarantined, 1);
}

TEST(ChromeEvents, ReadsWhatIsBesideNumbersThatAreNone) {
  for (const char* const no_number : {"NaN", "-Infinity", "nan", "-nan", "inf", "Infinity"}) {
    SCOPED_TRACE(no_number);
    const auto read =
        import_text("[" + kernel("a", "10", "5") + ",\n" + kernel("b", no_number, "5") + ",\n" +
                    kernel("NaN", "20", "5") + ",\n" + kernel("c", "30", no_number) + "]");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_NE(record_named(read->traces.at(0), "a"), nullptr);
    EXPECT_NE(record_named(read->traces.at(0), "NaN"), nullptr);
    EXPECT_EQ(read->traces.at(0).quarantined, 2);
    EXPECT_THAT(read->notes, ::testing::Contains(HasSubstr("line 2: a number is NaN or infinite")));
  }
}

TEST(ChromeEvents, OneBadByteCostsOneEventAndIsNamed) {
  std::vector<std::string> events;
  for (int i = 0; i < 400; ++i) {
    events.push_back(kernel("k" + std::to_string(i), std::to_string(10 * i + 1), "5"));
  }
  const auto text_of = [&] {
    std::string text = "{\"schemaVersion\":1,\"traceEvents\":[\n";
    for (std::size_t i = 0; i < events.size(); ++i) text += (i == 0 ? "" : ",\n") + events[i];
    return text + "\n]}";
  };
  const std::string whole = events[200];
  struct Damage {
    std::string byte, said;
    std::size_t lost = 0;
  };
  const std::vector<Damage> damages = {
      {"\xff", "UTF-8", 0}, {"\x01", "control character", 0}, {"\xe2\x82", "UTF-8", 0}};
  for (const auto& [byte, said, lost] : damages) {
    events[200] = whole;
    events[200].insert(events[200].find("k200"), byte);
    const auto read = import_text(text_of());
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->traces.at(0).records.size(), 400 - lost);
    EXPECT_THAT(read->notes,
                ::testing::Contains(::testing::AllOf(HasSubstr("line 202"), HasSubstr(said))));
  }
  // Anywhere else, the event is lost, and its neighbours are not.
  for (std::size_t at = 0; at < whole.size(); ++at) {
    SCOPED_TRACE(at);
    events[200] = whole;
    events[200][at] = '\x7f';
    const auto read = import_text(text_of());
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_GE(read->traces.at(0).records.size(), 398U);
    EXPECT_NE(record_named(read->traces.at(0), "k199"), nullptr);
    EXPECT_NE(record_named(read->traces.at(0), "k202"), nullptr);
  }
  EXPECT_THAT(import_text(text_of())->notes, ::testing::Contains(HasSubstr("is no JSON")));
}

TEST(ChromeEvents, StepsAreMarkedInAnyCategory) {
  for (const char* const category : {"cpu_op", "Operator", "user_annotation", "", "python"}) {
    SCOPED_TRACE(category);
    std::string text = "[" + kernel("a", "12", "5") + "," + kernel("b", "112", "5");
    for (int step = 3; step < 5; ++step) {
      text += R"(,{"ph":"X","cat":")" + std::string(category) + R"(","name":"ProfilerStep#)" +
              std::to_string(step) + R"(","pid":1,"tid":1,"dur":90,"ts":)" +
              std::to_string(100 * step - 290) + "}";
    }
    const auto read = import_text(text + "]");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->traces.at(0).step_starts,
              (std::vector<StepStart>{{3, 10'000}, {4, 110'000}, {5, 200'000}}));
  }
  // Each stream of the device has ranges if the host was not recorded.
  const auto device = import_text("[" + kernel("a", "12", "5") + R"(,
    {"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#7","pid":0,"tid":7,"ts":12,"dur":40},
    {"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#7","pid":0,"tid":9,"ts":30,"dur":40},
    {"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#8","pid":0,"tid":7,"ts":60,"dur":40}
    ])");
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(device->traces.at(0).step_starts,
            (std::vector<StepStart>{{7, 12'000}, {8, 60'000}, {9, 100'000}}));
}

TEST(ChromeEvents, AStepWithoutAnEndIsNone) {
  const auto read = import_text("[" + kernel("a", "12", "5") + "," + kernel("b", "112", "5") + R"(,
    {"ph":"B","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":10},
    {"ph":"E","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":100},
    {"ph":"B","cat":"user_annotation","name":"ProfilerStep#2","pid":1,"tid":1,"ts":110}])");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->traces.at(0).step_starts, (std::vector<StepStart>{{1, 10'000}, {2, 100'000}}));
}

TEST(ChromeEvents, NumberedRangesAreStepsIfWorkLiesInThem) {
  std::string work, steps, beats;
  for (int i = 0; i < 5; ++i) {
    const std::string at = std::to_string(100 * i + 10), number = std::to_string(i + 40);
    work += "," + kernel("a" + number, at, "50");
    steps += R"(,{"ph":"X","cat":"user_annotation","name":"iteration )" + number +
             R"(","pid":1,"tid":1,"dur":100,"ts":)" + std::to_string(100 * i) + "}";
    beats += R"(,{"ph":"X","cat":"user_annotation","name":"batch )" + number +
             R"(","pid":1,"tid":2,"dur":10,"ts":)" + std::to_string(9000 + 10 * i) + "}";
  }
  const auto read = import_text("[" + (work + beats + steps).substr(1) + "]");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->traces.at(0).step_starts.size(), 6U);
  EXPECT_EQ(read->traces.at(0).step_starts[0], (StepStart{40, 0}));
  const auto without = import_text("[" + (work + beats).substr(1) + "]");
  ASSERT_TRUE(without);
  EXPECT_TRUE(without->traces.at(0).step_starts.empty());
}

}  // namespace
}  // namespace hocket
