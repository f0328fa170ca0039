#include "cli/views/top/top_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "cli/output/columns.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TopJob sample_job() {
  return {.name = "gpt2-6x256",
          .ranks = 8,
          .step = 1200,
          .iteration_ns = 41.23e6,
          .exposed_share = 0.198,
          .lanes = {{TraceKind::compute, 0, 0.93},
                    {TraceKind::compute, 1, 0.5},
                    {TraceKind::communication, 0, 0.26},
                    {TraceKind::communication, 1, 0}},
          .version = 12,
          .last_change = "version 12 applied: 3.1 % faster",
          .connected = true};
}

TopShown sample() {
  TopShown shown{.daemon = "http://127.0.0.1:7077", .at_unix_ns = 1'795'291'950'000'000'000};
  shown.data.jobs = {sample_job(),
                     {.name = "bert", .step = 3, .last_change = "", .connected = false}};
  shown.data.push = TopPush{.at_unix_ns = 1'795'291'000'000'000'000,
                            .version = 12,
                            .key = "0d5f2a1c.3c9e77b0",
                            .who = "ada@b7",
                            .origin = "push",
                            .stage = "released",
                            .note = "as on b7"};
  return shown;
}

TEST(TopView, AtEightyColumnsThereIsALineAJob) {
  EXPECT_THAT(
      top_lines(sample(), {80, 24}),
      ElementsAre(
          "hocket top  http://127.0.0.1:7077  2026-11-21T20:12:30Z  2 jobs, 1 away",
          "job          ranks  step  iteration  exposed  busy   version  last change",
          "gpt2-6x256       8  1200    41.2 ms   19.8 %  █▅/▃▁       12  version 12 applie…",
          "bert (away)      -     3          -        -  -          own",
          "last push: version 12 for 0d5f2a1c.3c9e77b0 by ada@b7, released, 2026-11-21T19:…"));
}

TEST(TopView, ANoteIsALineBelowItsJob) {
  TopShown shown = sample();
  shown.data.jobs[0].note = "ring_simple, 8 channels";
  const auto lines = top_lines(shown, {80, 24});
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[3], "  ring_simple, 8 channels");
  // A job and its note stay together.
  for (std::size_t height = 1; height < 6; ++height) {
    const auto few = top_lines(shown, {80, height});
    EXPECT_LE(few.size(), height);
    const auto has = [&](const char* text) {
      return std::ranges::any_of(few,
                                 [&](const auto& line) { return line.find(text) != line.npos; });
    };
    EXPECT_EQ(has("gpt2-6x256"), has("ring_simple")) << height;
  }
}

TEST(TopView, APlacementIsALineBelowItsJob) {
  TopShown shown = sample();
  TopJob& job = shown.data.jobs[0];
  job.placement = TopPlacement{
      .values = {.peak_bytes = 40 << 20, .limit_bytes = 64 << 20, .layers = 8}, .kept_layers = 2};
  job.lanes = {{TraceKind::compute, 0, 0.93},
               {TraceKind::compute, 1, 0.02},
               {TraceKind::communication, 0, 0.26},
               {TraceKind::copy, 0, 0.5},
               {TraceKind::copy, 1, 0.25}};
  job.note = "a note";
  const auto lines = top_lines(shown, {160, 24});
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(
      lines[3],
      "  40 MiB of 64 MiB of device memory, 2 of 8 layers on the device; busy: device 93.0 %; "
      "host 2.0 %; copies to the device 50.0 %; copies to the host 25.0 %");
  EXPECT_EQ(lines[4], "  a note");
  job.placement->streams = 2;
  EXPECT_THAT(top_lines(shown, {160, 24})[3], HasSubstr("busy: device 93.0 %, 2.0 %; copies"));
  job.lanes.clear();
  EXPECT_EQ(top_lines(shown, {160, 24})[3],
            "  40 MiB of 64 MiB of device memory, 2 of 8 layers on the device");
  for (std::size_t height = 1; height < 7; ++height)
    EXPECT_LE(top_lines(shown, {80, height}).size(), height);
}

TEST(TopView, AtFortyColumnsTheMostTellingStay) {
  EXPECT_THAT(
      top_lines(sample(), {40, 24}),
      ElementsAre("hocket top  http://127.0.0.1:7077  2026…",
                  "job          step  iteration  exposed", "gpt2-6x256   1200    41.2 ms   19.8 %",
                  "bert (away)     3          -        -",
                  "last push: version 12 for 0d5f2a1c.3c9e…"));
}

TEST(TopView, SaysThatTheDaemonIsAwayAndKeepsWhatWasKnown) {
  TopShown shown = sample();
  shown.trouble = "cannot reach it";
  shown.trouble_since_ns = 12'345'678'900;
  const auto lines = top_lines(shown, {80, 24});
  EXPECT_EQ(lines[1], "no answer for 12 s, asking again: cannot reach it");
  EXPECT_THAT(lines[3], HasSubstr("gpt2"));
}

TEST(TopView, OfHundredsOfJobsThoseThatFitAndHowManyMore) {
  TopShown shown;
  for (int i = 0; i < 500; ++i) {
    shown.data.jobs.push_back(sample_job());
    shown.data.jobs.back().name = "job" + std::to_string(i);
    shown.data.jobs.back().connected = i % 2 == 0;
  }
  const auto lines = top_lines(shown, {80, 24});
  ASSERT_EQ(lines.size(), 24u);
  EXPECT_THAT(lines[2], HasSubstr("job0 "));
  EXPECT_THAT(lines[3], HasSubstr("job2 ")) << "those that can be reached come first";
  EXPECT_EQ(lines[22], "and 480 more");
  EXPECT_EQ(lines[23], "last push: none");
  EXPECT_EQ(top_lines(shown, {80, 0}).size(), 503u) << "without a height there is room for all";
}

TEST(TopView, AsManyAsFitExactlyAreAllShown) {
  TopShown shown;
  shown.data.jobs = {sample_job(), sample_job()};
  EXPECT_EQ(top_lines(shown, {80, 5}).size(), 5u);
  EXPECT_THAT(top_lines(shown, {80, 5})[3], Not(HasSubstr("more")));
  EXPECT_EQ(top_lines(shown, {80, 4})[2], "and 2 more");
}

/// Random jobs and sizes: no line is too wide, there are not too many lines, and each job is
/// counted.
TEST(TopView, FitsAnyTerminal) {
  const char* const kPieces[] = {"gpt2-", "größe", "訓練", "🚂", "e\xcc\x81", "x", " "};
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto text = [&](std::size_t most) {
      std::string made;
      for (auto left = random() % most; left > 0; --left) made += kPieces[random() % 7];
      return made;
    };
    TopShown shown{.daemon = text(10), .at_unix_ns = 5};
    const auto jobs = random() % 60;
    for (std::size_t i = 0; i < jobs; ++i) {
      TopJob job = sample_job();
      job.name = text(40);
      job.last_change = text(200);
      job.step = static_cast<std::int64_t>(random() >> (1 + random() % 63));
      job.iteration_ns = static_cast<double>(random());
      job.connected = random() % 2 == 0;
      job.lanes.assign(random() % 130, {TraceKind::compute, 0, 0.5});
      shown.data.jobs.push_back(std::move(job));
    }
    if (random() % 3 == 0) shown.trouble = text(50);
    const TopSize size{random() % 130, random() % 40};
    const auto lines = top_lines(shown, size);
    if (size.height > 0) {
      EXPECT_LE(lines.size(), size.height);
    } else {
      EXPECT_GE(lines.size(), jobs + 3);
    }
    for (const auto& line : lines) EXPECT_LE(columns_of(line), size.width) << line;
  }
}

}  // namespace
}  // namespace hocket
