#include "tuner/table/recorded_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/mutate.h"
#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Measurements = RecordedTable::Measurements;

Result<RecordedTable> parse(std::string_view text, const std::string& default_setting = "") {
  return RecordedTable::parse(
      text, {.objective_column = "t", .ignored_columns = {}, .default_setting = default_setting});
}

std::string refusal(std::string_view text, const std::string& default_setting = "") {
  const auto table = parse(text, default_setting);
  EXPECT_FALSE(table) << text;
  return table ? "" : table.error().message;
}

constexpr const char* kSmall =
    "n,t,mode,x\n"
    "4,10,fifo,0.5\n"
    "1,nan,fifo,2\n"
    "4,12,fifo,0.50\n"
    "64,,lifo,2\n"
    "4,oom,fifo,0.5\n";

TEST(RecordedTable, MakesLevelsOfNumbersAndChoicesOfTheRest) {
  const auto table = parse(kSmall).value();
  const auto& parameters = table.space().parameters();
  ASSERT_EQ(parameters.size(), 3U);
  EXPECT_EQ(parameters[0].domain,
            Domain(Levels{{std::int64_t{1}, std::int64_t{4}, std::int64_t{64}}}));
  EXPECT_EQ(parameters[1].domain, Domain(Choices{{"fifo", "lifo"}}));
  EXPECT_EQ(parameters[2].domain, Domain(Levels{{0.5, 2.0}}));
  EXPECT_EQ(table.size(), 3U);
}

TEST(RecordedTable, RepeatedRowsAreMeasurementsAndWhatIsNoNumberFailed) {
  const auto table = parse(kSmall).value();
  const Params four = {{"n", std::int64_t{4}}, {"mode", std::string("fifo")}, {"x", 0.5}};
  ASSERT_TRUE(table.find(four));
  EXPECT_EQ(*table.find(four), (Measurements{10, 12, std::nullopt}));
  EXPECT_EQ(mean_value(*table.find(four)), 11);
  const Params one = {{"n", std::int64_t{1}}, {"mode", std::string("fifo")}, {"x", 2.0}};
  EXPECT_EQ(*table.find(one), Measurements{std::nullopt});
  EXPECT_FALSE(mean_value(*table.find(one)));
  EXPECT_FALSE(table.find({{"n", std::int64_t{1}}, {"mode", std::string("lifo")}, {"x", 2.0}}));
}

TEST(RecordedTable, TheDefaultIsRecorded) {
  constexpr const char* kGrid = "a,b,t\n1,x,1\n1,y,1\n2M,x,1\n";
  EXPECT_EQ(parse("a,t\n1,1\n4194304,1\n9,1\n", "a=4M").value().space().defaults(),
            (Params{{"a", std::int64_t{4194304}}}));
  EXPECT_EQ(parse("a,t\n5,1\n1,1\n3,1\n").value().space().defaults(),
            (Params{{"a", std::int64_t{3}}}));
  EXPECT_EQ(parse(kGrid, "b=y").value().space().defaults(),
            (Params{{"a", std::string("1")}, {"b", std::string("y")}}));
  EXPECT_EQ(parse("a,t\n\"u,v\",1\nw,1\n", "a=u,v").value().space().defaults(),
            (Params{{"a", std::string("u,v")}}));
  EXPECT_THAT(refusal(kGrid, "a=2M,b=y"), HasSubstr("a=2M,b=y is not in the table"));
  EXPECT_THAT(refusal(kGrid, "a=3"), HasSubstr("expected one of 1, 2M"));
  EXPECT_THAT(refusal(kGrid, "c=3"), AllOf(HasSubstr("\"c\""), HasSubstr("\"a\", \"b\"")));
  EXPECT_THAT(refusal(kGrid, "a"), HasSubstr("COLUMN=VALUE"));
  EXPECT_THAT(refusal(kGrid, "a=1,a=1"), HasSubstr("twice"));
  // The middle of each column, (2, 2), was not recorded; the nearest recorded setting is used.
  EXPECT_EQ(parse("a,b,t\n1,1,1\n2,1,1\n3,3,1\n3,2,1\n1,3,1\n").value().space().defaults(),
            (Params{{"a", std::int64_t{2}}, {"b", std::int64_t{1}}}));
}

TEST(RecordedTable, NamesParametersAfterColumns) {
  const auto table = parse("batch size,batch-size,9th,t\n1,2,3,4\n2,2,3,4\n").value();
  EXPECT_EQ(table.columns(), (std::vector<std::string>{"batch size", "batch-size", "9th"}));
  EXPECT_EQ(table.space().parameters()[0].name, "batch_size");
  EXPECT_EQ(table.space().parameters()[1].name, "batch_size_");
  EXPECT_EQ(table.space().parameters()[2].name, "_9th");
}

TEST(RecordedTable, LeavesIgnoredColumnsOut) {
  const auto table = RecordedTable::parse("a,memory,t\n1,5.5,1\n2,,2\n",
                                          {.objective_column = "t", .ignored_columns = {"memory"}});
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->columns(), std::vector<std::string>{"a"});
}

TEST(RecordedTable, FurtherObjectivesAreNoParameters) {
  const std::string text = "a,objective:t,objective:m,trial:x\n1,2,8,y\n2,3,,\n";
  const std::pair<const char*, double> cases[] = {{"objective:t", 2}, {"objective:m", 8}};
  for (const auto& [column, value] : cases) {
    const auto table = RecordedTable::parse(text, {.objective_column = column});
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(table->columns(), std::vector<std::string>{"a"});
    EXPECT_EQ(mean_value(*table->find({{"a", std::int64_t{1}}})), value);
  }
}

TEST(RecordedTable, NamesLineAndColumnOfWhatItRefuses) {
  EXPECT_THAT(refusal(""), HasSubstr("empty"));
  EXPECT_THAT(refusal("a,t\n"), HasSubstr("no rows"));
  EXPECT_THAT(refusal("a,b\n1,2\n"), AllOf(HasSubstr("\"t\""), HasSubstr("\"a\", \"b\"")));
  EXPECT_THAT(refusal("t\n1\n"), HasSubstr("nothing to choose"));
  EXPECT_THAT(refusal("a,a,t\n1,1,1\n"), HasSubstr("\"a\" twice"));
  EXPECT_THAT(refusal("a,,t\n1,1,1\n"), HasSubstr("column 2"));
  EXPECT_THAT(refusal("a,t\n1,1\n1,2,3\n"), AllOf(HasSubstr("line 3"), HasSubstr("found 3")));
  EXPECT_THAT(refusal("a,t\n1,1\n,2\n"), AllOf(HasSubstr("line 3"), HasSubstr("\"a\" is empty")));
  EXPECT_THAT(refusal("a,t\n\xff,1\n"), AllOf(HasSubstr("line 2"), HasSubstr("UTF-8")));
  EXPECT_THAT(refusal("a,t\n\"1,1\n"), HasSubstr("line 2"));
  std::string wide = "t";
  for (int i = 0; i < 64; ++i) wide += ",c" + std::to_string(i);
  EXPECT_THAT(refusal(wide + "\n"), AllOf(HasSubstr("65 columns"), HasSubstr("at most 64")));
}

TEST(RecordedTable, HasARowLimit) {
  std::string text = "a,t\n";
  for (std::size_t i = 0; i < RecordedTable::kMaxRows; ++i) text += i % 2 ? "1,1\n" : "2,1\n";
  EXPECT_TRUE(parse(text));
  EXPECT_THAT(refusal(text + "1,1\n"), AllOf(HasSubstr("2000002"), HasSubstr("2000000 rows")));
}

TEST(RecordedTable, NearestIsTheSettingItselfWhereItWasRecorded) {
  const auto table = parse("a,b,t\n1,x,1\n2,x,1\n3,x,1\n4,y,1\n").value();
  table.for_each([&](const Params& params, const Measurements&) {
    EXPECT_EQ(table.nearest(params, [](const Params&) { return true; }), params);
    EXPECT_NE(table.nearest(params, [&](const Params& p) { return p != params; }), params);
  });
  EXPECT_FALSE(table.nearest(table.space().defaults(), [](const Params&) { return false; }));
  // A number one step away is nearer than a different choice.
  EXPECT_EQ(table.nearest({{"a", std::int64_t{4}}, {"b", std::string("x")}},
                          [](const Params&) { return true; }),
            (Params{{"a", std::int64_t{3}}, {"b", std::string("x")}}));
}

TEST(RecordedTable, FindsEverySettingOfARandomTable) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::map<std::vector<std::int64_t>, double> sums;
    std::string text = "p,q,r,t\n";
    for (auto rows = pick(random, 1, 200); rows > 0; --rows) {
      const std::vector<std::int64_t> setting = {pick(random, -3, 3), pick(random, 0, 1) << 40,
                                                 pick(random, 1, 20)};
      const auto value = pick(random, -100, 100);
      sums[setting] += static_cast<double>(value);
      for (const auto coordinate : setting) text += std::to_string(coordinate) + ",";
      text += std::to_string(value) + "\n";
    }
    const auto table = parse(text).value();
    ASSERT_EQ(table.size(), sums.size());
    for (const auto& [setting, sum] : sums) {
      const auto* found = table.find({{"p", setting[0]}, {"q", setting[1]}, {"r", setting[2]}});
      ASSERT_TRUE(found);
      double total = 0;
      for (const auto& value : *found) total += value.value();
      EXPECT_EQ(total, sum);
    }
  }
}

TEST(RecordedTable, NoDamageCrashesTheReader) {
  const std::string text = std::string(kSmall) + "\"9\",\"1e3\",\"a,\"\"b\",-7\r\n";
  std::mt19937_64 random(1);
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    SCOPED_TRACE(i);
    const auto table = parse(mutate(text, random));
    if (!table) {
      ASSERT_FALSE(table.error().message.empty());
      continue;
    }
    ++read;
    ASSERT_TRUE(table->find(table->space().defaults()));
    std::size_t settings = 0;
    table->for_each([&](const Params& params, const Measurements& measurements) {
      ++settings;
      ASSERT_TRUE(table->space().admit(params));
      ASSERT_FALSE(measurements.empty());
      ASSERT_EQ(table->find(params), &measurements);
    });
    ASSERT_EQ(settings, table->size());
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace hocket
