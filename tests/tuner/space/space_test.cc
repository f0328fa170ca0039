#include "tuner/space/space.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

const Parameter kCount{"count", IntegerRange{1, 3}, std::int64_t{2}};
const Parameter kRate{"rate", RealRange{0, 1}, 0.5};
const Parameter kOrder{"order", Choices{{"fifo", "priority"}}, std::string("fifo")};
const Parameter kBatch{"batch", Levels{{std::int64_t{1}, std::int64_t{4}}}, std::int64_t{4}};

std::string space_problem(std::vector<Parameter> parameters) {
  const auto space = Space::make(std::move(parameters));
  return space ? "accepted" : space.error().message;
}

TEST(Space, RefusesWhatCannotBeSearched) {
  EXPECT_EQ(space_problem({}), "the search space has no parameter; give at least one");
  EXPECT_EQ(space_problem({kCount, kRate, kCount}), "parameter count is there twice");
  EXPECT_EQ(space_problem({Parameter{"a", IntegerRange{2, 1}, std::int64_t{1}}}),
            "parameter a: low 2 is above high 1");
  std::vector<Parameter> many;
  for (int i = 0; i < 65; ++i)
    many.push_back({numbered("p", i), IntegerRange{0, 1}, std::int64_t{0}});
  EXPECT_EQ(space_problem(many), "the search space has 65 parameters; at most 64 can be searched");
}

TEST(Space, RefusesToSearchASinglePoint) {
  const auto point = Space::make({{"a", IntegerRange{3, 3}, std::int64_t{3}},
                                  {"b", RealRange{1, 1}, 1.0},
                                  {"c", Choices{{"x"}}, std::string("x")}});
  ASSERT_TRUE(point);
  EXPECT_EQ(check_searchable(*point).error().message,
            "the search space has a single point, so there is nothing to choose; widen a range or "
            "add a choice");
  EXPECT_TRUE(check_searchable(Space::make({kOrder}).value()));
}

TEST(Space, AdmitsCompleteParamsInsideOnly) {
  const auto space = Space::make({kCount, kRate, kOrder}).value();
  Params params = space.defaults();
  params["rate"] = std::int64_t{1};
  ASSERT_TRUE(space.admit(params));
  EXPECT_EQ(space.admit(params)->at("rate"), ParameterValue(1.0));

  const auto refused = [&](auto change) {
    Params changed = space.defaults();
    change(changed);
    const auto admitted = space.admit(changed);
    return admitted ? std::string("accepted") : admitted.error().message;
  };
  EXPECT_EQ(refused([](Params& p) { p.erase("rate"); }), "parameter rate has no value");
  EXPECT_EQ(refused([](Params& p) { p["more"] = 1.0; }), "the space has no parameter \"more\"");
  EXPECT_EQ(refused([](Params& p) { p["count"] = std::int64_t{4}; }),
            "parameter count: expected an integer from 1 to 3, found 4");
}

TEST(Space, CountsAndEnumeratesItsPoints) {
  const auto space = Space::make({kCount, kOrder, {"x", RealRange{2, 2}, 2.0}}).value();
  EXPECT_EQ(space.size(), 6u);
  std::set<Params> points;
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    points.insert(space.point_at(i));
    EXPECT_TRUE(space.admit(space.point_at(i)));
  }
  EXPECT_EQ(points.size(), 6u);

  const Parameter wide{"w", IntegerRange{0, INT64_MAX}, std::int64_t{0}};
  Parameter wider = wide;
  wider.name = "v";
  EXPECT_EQ(Space::make({wide, wider}).value().size(), UINT64_MAX);
  EXPECT_EQ(Space::make({wide}).value().size(), std::uint64_t{1} << 63);
}

std::string space_problem(std::vector<Parameter> parameters,
                          const std::vector<std::string>& constraints) {
  const auto space = Space::make(std::move(parameters), constraints);
  return space ? "accepted" : space.error().message;
}

TEST(Space, ConstraintsExcludePoints) {
  const auto space = Space::make({kCount, kOrder, kBatch}, {"count*batch<=8", "order==fifo"});
  ASSERT_TRUE(space) << space.error().message;
  EXPECT_EQ(space->size(), 12u);
  EXPECT_EQ(space->allowed_size(), 5u);
  Params params = space->defaults();
  params["count"] = std::int64_t{3};
  EXPECT_FALSE(space->allows(params));
  EXPECT_FALSE(space->allows(space->encode(params)));
  EXPECT_EQ(space->admit(params).error().message,
            "constraint count*batch<=8 excludes count=3, batch=4");
  params["batch"] = std::int64_t{1};
  EXPECT_TRUE(space->allows(params));
  EXPECT_TRUE(space->admit(params));
  params["order"] = std::string("priority");
  EXPECT_EQ(space->admit(params).error().message, "constraint order==fifo excludes order=priority");
}

TEST(Space, RefusesConstraintsThatLeaveNoChoice) {
  EXPECT_EQ(
      space_problem({kCount}, {"counts<=2"}),
      "constraint \"counts<=2\": no parameter is named \"counts\" (character 1); did you mean "
      "\"count\"; there are count");
  EXPECT_EQ(space_problem({kCount}, {"count!=2"}),
            "the default is excluded; change it or relax the constraint: constraint count!=2 "
            "excludes count=2; with count=1 it is allowed");
  EXPECT_EQ(space_problem({kCount}, {"count>=2", "count<=2"}),
            "the constraints leave a single point of 3; relax count>=2, without which there would "
            "be 2");
  EXPECT_EQ(space_problem({kCount, kBatch}, {"count<=2", "batch>4", "count>=1"}),
            "the constraints leave no point of 6; relax batch>4, without which there would be 4");
  EXPECT_EQ(space_problem({kCount}, {"count>7", "count>8"}),
            "the constraints leave no point of 3; relax count>7, which excludes 3, and at least "
            "one other");
  EXPECT_EQ(space_problem({kCount}, std::vector<std::string>(65, "count<=2")),
            "the search space has 65 constraints; at most 64 are kept");
  // A single point that the constraints do not reduce is checked by check_searchable().
  EXPECT_EQ(space_problem({{"a", IntegerRange{3, 3}, std::int64_t{3}}}, {"a<=3"}), "accepted");
}

TEST(Space, AConditionalConstraintBindsOnlyWhereItsConditionHolds) {
  const auto space = Space::make({kCount, kOrder, kBatch}, {"count<=2 if order==priority"});
  ASSERT_TRUE(space) << space.error().message;
  Params params = space->defaults();
  params["count"] = std::int64_t{3};
  EXPECT_TRUE(space->admit(params));
  params["order"] = std::string("priority");
  EXPECT_EQ(space->admit(params).error().message,
            "constraint count<=2 if order==priority excludes count=3, order=priority");
  EXPECT_EQ(space->allowed_size(), 10u);
}

TEST(Space, SaysOfALargeSpaceWhatIsAllowedInsteadOfTheDefault) {
  const Parameter wide{"wide", IntegerRange{1, 1 << 20}, std::int64_t{1 << 19}};
  EXPECT_EQ(space_problem({wide, kOrder}, {"wide<=4K if order==fifo"}),
            "the default is excluded; change it or relax the constraint: constraint wide<=4K if "
            "order==fifo excludes wide=524288, order=fifo; with wide=2049 it is allowed");
  EXPECT_EQ(space_problem({wide, kOrder}, {"wide<=4K", "wide>8K"}),
            "the default is excluded; change it or relax the constraint: constraint wide<=4K "
            "excludes wide=524288; of 1024 settings spread over the space the constraints allow "
            "none, so they may contradict one another");
}

TEST(Space, AllowsWhatItsConstraintsDo) {
  int accepted = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto space = random_constrained_space(random);
    if (!space) {
      ++refused;
      ASSERT_NE(space.error().message, "");
      continue;
    }
    ++accepted;
    ASSERT_TRUE(space->admit(space->defaults()));
    UnitPoint unit;
    for (std::size_t i = 0; i < space->parameters().size(); ++i) {
      unit.push_back(random_unit(random));
    }
    const bool allows = space->allows(unit);
    ASSERT_EQ(space->allows(space->decode(unit)), allows);
    ASSERT_EQ(bool(space->admit(space->decode(unit))), allows);
    if (const auto near = space->snap_allowed(unit)) {
      ASSERT_TRUE(space->admit(space->decode(*near)));
      ASSERT_TRUE(!space->allows(space->snap(unit)) || *near == space->snap(unit));
    }
    if (space->size() > 3000) continue;
    std::vector<std::uint64_t> indices;
    for (std::uint64_t i = 0; i < space->size(); ++i) {
      if (space->admit(space->point_at(i))) indices.push_back(i);
    }
    ASSERT_EQ(space->allowed_indices(), indices);
    ASSERT_EQ(space->allowed_size(), indices.size());
  }
  EXPECT_GT(accepted, 500);
  EXPECT_GT(refused, 100);
}

TEST(Space, DecodedPointsAreInsideAndSnappingSettles) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Space space = random_space(random);
    UnitPoint unit;
    for (std::size_t i = 0; i < space.parameters().size(); ++i) {
      unit.push_back(random_unit(random));
    }
    const Params params = space.decode(unit);
    ASSERT_TRUE(space.admit(params));
    ASSERT_EQ(*space.admit(params), params);
    ASSERT_EQ(space.snap(unit), space.encode(params));
  }
}

TEST(Space, JsonComesBack) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto made = random_constrained_space(random);
    if (!made) continue;
    const Space& space = *made;
    ASSERT_EQ(to_json(space).contains("constraints"), !space.constraints().empty());
    const auto read = space_from_json(nlohmann::json::parse(to_json(space).dump()));
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(*read, space);
  }
}

TEST(Space, JsonErrorsNameTheField) {
  auto document = to_json(Space::make({kCount, kOrder, kBatch}).value());
  const auto refused = [&](auto change) {
    auto changed = document;
    change(changed);
    const auto read = space_from_json(changed);
    return read ? std::string("accepted") : read.error().message;
  };
  EXPECT_EQ(
      refused([](auto& d) { d["parameters"][0]["type"] = "bool"; }),
      "search space: field \"parameters[0].type\": expected one of int, float, choice, levels, "
      "found \"bool\"");
  EXPECT_EQ(refused([](auto& d) { d["parameters"][0].erase("log"); }),
            "search space: field \"parameters[0].log\" is missing");
  EXPECT_EQ(refused([](auto& d) { d["parameters"][1].erase("default"); }),
            "search space: field \"parameters[1].default\" is missing");
  EXPECT_EQ(refused([](auto& d) { d["parameters"][0]["default"] = 9; }),
            "parameter count, default: expected an integer from 1 to 3, found 9");
  EXPECT_EQ(refused([](auto& d) {
              d["parameters"][2]["levels"] = {1, 4.5};
            }),
            "parameter batch: levels must be all integers or all reals");
  EXPECT_EQ(refused([](auto& d) { d["parameters"][2]["levels"] = {true}; }),
            "search space: field \"parameters[2].levels[0]\": expected a number or a string, found "
            "true");
  EXPECT_EQ(refused([](auto& d) { d["constraints"] = {1}; }),
            "search space: field \"constraints[0]\": expected a string, found 1");
  EXPECT_EQ(
      refused([](auto& d) { d["constraints"] = {"count<="}; }),
      std::string("constraint \"count<=\": expected a parameter, a number or (, found the end "
                  "(character 8); ") +
          kConstraintSyntaxText);
  EXPECT_EQ(refused([](auto& d) { d["version"] = 2; }),
            "search space: field \"version\": this program reads versions 1 to 1, found 2; use a "
            "newer hocket");
}

TEST(Space, MutatedJsonNeverYieldsABadSpace) {
  const std::string valid =
      to_json(Space::make({kCount, kRate, kOrder, kBatch}, {"count<=batch", "order!='priority'"})
                  .value())
          .dump();
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto document = nlohmann::json::parse(mutated(valid, random), nullptr, false);
    if (document.is_discarded()) continue;
    const auto space = space_from_json(document);
    if (space) {
      ASSERT_TRUE(space->admit(space->defaults()));
    }
  }
}

}  // namespace
}  // namespace hocket
