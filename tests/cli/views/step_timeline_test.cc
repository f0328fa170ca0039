#include "cli/views/step_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <regex>
#include <set>

#include "tests/tuner/explain/well_formed.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kMs = 1'000'000;

class Recorded {
 public:
  Recorded& add(TraceKind kind, std::int32_t lane, const std::string& name, std::int64_t begin_ns,
                std::int64_t end_ns) {
    TraceRecord record;
    record.kind = kind;
    record.lane = lane;
    record.name = static_cast<std::uint32_t>(trace.names.size());
    record.begin_ns = begin_ns;
    record.end_ns = end_ns;
    trace.names.push_back(name);
    trace.records.push_back(record);
    return *this;
  }

  TimelineStep step(std::int64_t begin_ns, std::int64_t end_ns) {
    put_in_order(trace);
    return {.title = "job",
            .detail = "iteration 3",
            .trace = &trace,
            .begin_ns = begin_ns,
            .end_ns = end_ns};
  }

  RankTrace trace;
};

/// A box as drawn.
struct Box {
  std::string name;
  double x = 0, y = 0, width = 0;
  std::string fill;
};

std::vector<Box> boxes_of(const std::string& svg) {
  static const std::regex box(
      "<rect x=\"([^\"]*)\" y=\"([^\"]*)\" width=\"([^\"]*)\" height=\"[^\"]*\" "
      "fill=\"([^\"]*)\"><title>(.*?), [^,]*</title></rect>");
  std::vector<Box> boxes;
  for (std::sregex_iterator it(svg.begin(), svg.end(), box), end; it != end; ++it) {
    boxes.push_back(
        {(*it)[5], std::stod((*it)[1]), std::stod((*it)[2]), std::stod((*it)[3]), (*it)[4]});
  }
  return boxes;
}

Box box_of(const std::string& svg, const std::string& name) {
  const auto boxes = boxes_of(svg);
  const auto found = std::ranges::find(boxes, name, &Box::name);
  EXPECT_NE(found, boxes.end()) << name;
  return found == boxes.end() ? Box{} : *found;
}

std::string drawing(const std::vector<TimelineStep>& steps) {
  const std::string svg = step_timeline_svg(steps);
  EXPECT_EQ(xml_complaint(svg), "") << svg;
  return svg;
}

TEST(StepTimeline, DrawsARowALaneAndSaysWhatTheStepTook) {
  Recorded recorded;
  recorded.add(TraceKind::compute, 0, "block.0", 0, 40 * kMs)
      .add(TraceKind::compute, 0, "block.0.dx", 40 * kMs, 80 * kMs)
      .add(TraceKind::communication, 0, "block.0", 80 * kMs, 130 * kMs)
      .add(TraceKind::communication, 1, "late", 70 * kMs, 90 * kMs)
      .add(TraceKind::compute, 0, "block.0.adamw", 130 * kMs, 140 * kMs)
      .add(TraceKind::copy, 0, "copy", 130 * kMs, 140 * kMs)
      .add(TraceKind::range, 0, "marked", 0, 150 * kMs)
      .add(TraceKind::call, 0, "called", 0, 150 * kMs);
  const std::string svg = drawing({recorded.step(0, 150 * kMs)});
  EXPECT_THAT(svg,
              AllOf(HasSubstr(">job: 150 ms an iteration, 50 ms exposed communication<"),
                    HasSubstr(">iteration 3<"), HasSubstr(">stream 0<"), HasSubstr(">channel 0<"),
                    HasSubstr(">channel 1<"), HasSubstr(">copies 0<"), HasSubstr(">ms<"),
                    HasSubstr(">140<"), HasSubstr(">forward<")));
  EXPECT_THAT(svg, AllOf(Not(HasSubstr("marked")), Not(HasSubstr("called"))));
  const auto boxes = boxes_of(svg);
  ASSERT_EQ(boxes.size(), 6U);
  EXPECT_EQ(box_of(svg, "block.0.dx").y, box_of(svg, "block.0").y);
  EXPECT_NE(box_of(svg, "late").y, boxes.back().y);
  std::set<std::string> fills;
  for (const Box& box : boxes) fills.insert(box.fill);
  EXPECT_EQ(fills.size(), 5U) << "forward, backward, update, communication, copy";
}

TEST(StepTimeline, StepsHaveOneScale) {
  Recorded slow, fast;
  slow.add(TraceKind::compute, 0, "a", 0, 100).add(TraceKind::compute, 0, "b", 100, 400);
  fast.add(TraceKind::compute, 0, "c", 7000, 7100).add(TraceKind::compute, 0, "d", 7100, 7300);
  const std::string svg = drawing({slow.step(0, 400), fast.step(7000, 7300)});
  EXPECT_NEAR(box_of(svg, "a").width, box_of(svg, "c").width, 0.02);
  EXPECT_NEAR(box_of(svg, "a").x, box_of(svg, "c").x, 0.02);
  EXPECT_NEAR(box_of(svg, "d").width, 200 * box_of(svg, "b").width / 300, 0.5);
  EXPECT_LT(box_of(svg, "a").y, box_of(svg, "c").y);
  EXPECT_NEAR(box_of(svg, "b").x + box_of(svg, "b").width, 884, 1) << "the longest fills the width";
}

TEST(StepTimeline, BoxesHaveNamesOrTheEndsOfThemWhereThereIsRoom) {
  Recorded recorded;
  recorded.add(TraceKind::compute, 0, "wide.enough.task", 0, 600)
      .add(TraceKind::compute, 0, "a.very.long.name.of.a.task", 600, 680)
      .add(TraceKind::compute, 0, "nowhere", 680, 685)
      .add(TraceKind::compute, 0, "rest", 685, 1000);
  const std::string svg = drawing({recorded.step(0, 1000)});
  EXPECT_THAT(svg, AllOf(HasSubstr(">wide.enough.task</text>"), HasSubstr(">of.a.task</text>"),
                         Not(HasSubstr(">nowhere</text>"))));
  EXPECT_THAT(svg, AllOf(HasSubstr(">computation</text>"), Not(HasSubstr(">backward</text>"))));
}

TEST(StepTimeline, OverlapsOfALaneAreInFurtherRows) {
  Recorded recorded;
  recorded.add(TraceKind::compute, 2, "a", 0, 100).add(TraceKind::compute, 2, "b", 50, 150);
  const std::string svg = drawing({recorded.step(0, 200)});
  EXPECT_THAT(svg, AllOf(HasSubstr(">stream 2<"), HasSubstr(">stream 2 (2)<")));
  EXPECT_LT(box_of(svg, "a").y, box_of(svg, "b").y);
}

TEST(StepTimeline, EachRecordOfTheIterationIsDrawnOnceWithinIt) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    Recorded recorded;
    for (std::int64_t i = 0, count = below(80); i < count; ++i) {
      const std::int64_t begin = below(1000);
      recorded.add(static_cast<TraceKind>(below(5)), static_cast<std::int32_t>(below(3)),
                   "t" + std::to_string(i), begin, begin + below(3) * below(300));
    }
    const std::int64_t begin_ns = below(600), end_ns = begin_ns + 1 + below(800);
    const std::string svg = drawing({recorded.step(begin_ns, end_ns)});
    std::multiset<std::string> drawn, expected;
    for (const Box& box : boxes_of(svg)) {
      drawn.insert(box.name);
      EXPECT_GE(box.x, 84);
      EXPECT_LE(box.x + box.width, 884.5);
    }
    for (const TraceRecord& record : recorded.trace.records) {
      if (record.kind == TraceKind::range || record.kind == TraceKind::call) continue;
      const bool is_inside = record.begin_ns == record.end_ns
                                 ? record.begin_ns >= begin_ns && record.begin_ns < end_ns
                                 : record.begin_ns < end_ns && record.end_ns > begin_ns;
      if (is_inside) expected.insert(recorded.trace.names[record.name]);
    }
    EXPECT_EQ(drawn, expected);
  }
}

TEST(StepTimeline, IsWellFormedWhateverTheNamesAre) {
  Recorded recorded;
  for (const char* name : {"<b>&\"'", "\xff\xfe", "", "größer.反向传播", "bell\a", "..", "."}) {
    recorded.add(TraceKind::compute, 0, name, 0, 300);
  }
  recorded.trace.records.front().name = 99;
  TimelineStep step = recorded.step(0, 300);
  step.title = step.detail = "<&>";
  drawing({step});
  drawing({});
  Recorded empty;
  drawing({empty.step(0, INT64_MAX)});
  EXPECT_THAT(drawing({empty.step(5, 6)}), HasSubstr("1 ns an iteration, 0 ns exposed"));
}

TEST(PhaseOf, IsToldByTheName) {
  for (const char* name : {"block.0.mlp.dx", "head.dw", "AddmmBackward0", "backward 1 out"}) {
    EXPECT_EQ(phase_of(name), TaskPhase::backward) << name;
  }
  for (const char* name : {"block.0.adamw", "Optimizer.step#SGD.step", "update", "head.round"}) {
    EXPECT_EQ(phase_of(name), TaskPhase::update) << name;
  }
  for (const char* name : {"block.0.mlp", "forward 1 out", "loss", "", "dx", "round"}) {
    EXPECT_EQ(phase_of(name), TaskPhase::forward) << name;
  }
}

}  // namespace
}  // namespace hocket
