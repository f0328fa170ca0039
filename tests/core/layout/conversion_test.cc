#include "core/layout/conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/graph_builder.h"
#include "core/graph/maths.h"
#include "tests/core/graph/same_values.h"
#include "tests/core/layout/rank_values.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

/// Returns "all_gather data+tensor" and so on, joined by ", ".
std::string steps_of(const Layout& from, const Layout& to) {
  const Mesh mesh = data_tensor();
  const auto steps = convert_layout(from, to, mesh);
  std::string text;
  for (const ConversionStep& step : steps) {
    text += (text.empty() ? "" : ", ") + std::string(to_string(step.kind));
    for (std::size_t i = 0; i < step.axes.size(); ++i)
      text += (i == 0 ? " " : "+") + mesh.axes()[step.axes[i]].name;
  }
  return text;
}

/// A layout of two dimensions: per axis "-", "0", "1" or "+" for a partial sum.
Layout layout_of(const char* states) {
  Layout layout(2);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (states[axis] == '+') layout.make_partial(axis);
    if (states[axis] == '0' || states[axis] == '1')
      layout.divide(axis, {static_cast<std::size_t>(states[axis] - '0'), 1});
  }
  return layout;
}

struct Expected {
  const char *from, *to, *steps;
};

class ConversionTable : public testing::TestWithParam<Expected> {};

TEST_P(ConversionTable, HasTheCommunicationThatItNeeds) {
  EXPECT_EQ(steps_of(layout_of(GetParam().from), layout_of(GetParam().to)), GetParam().steps);
}

INSTANTIATE_TEST_SUITE_P(
    Of, ConversionTable,
    testing::Values(Expected{"--", "--", ""}, Expected{"--", "0-", "slice data"},
                    Expected{"--", "00", "slice data, slice tensor"},
                    Expected{"-0", "--", "all_gather tensor"},
                    Expected{"00", "--", "all_gather data+tensor"},
                    Expected{"01", "--", "all_gather data, all_gather tensor"},
                    Expected{"+-", "--", "all_reduce data"},
                    Expected{"++", "--", "all_reduce data+tensor"},
                    Expected{"+-", "0-", "reduce_scatter data"},
                    Expected{"++", "00", "reduce_scatter data+tensor"},
                    Expected{"++", "0-", "reduce_scatter data, all_reduce tensor"},
                    Expected{"+0", "-0", "all_reduce data"},
                    Expected{"+0", "--", "all_reduce data, all_gather tensor"},
                    Expected{"-0", "-1", "all_to_all tensor"},
                    Expected{"+-", "-0", "slice tensor, all_reduce data"},
                    // The inner division of a dimension is in the way of the outer one.
                    Expected{"-0", "00", "all_gather tensor, slice data, slice tensor"},
                    Expected{"00", "-0", "all_gather data+tensor, slice tensor"},
                    Expected{"--", "+-", "summand data"}, Expected{"0-", "0+", "summand tensor"},
                    Expected{"0-", "+-", "all_gather data, summand data"}));

TEST(Conversion, CountsTheBytesThatARankSends) {
  const ValueType type{NumberType::float32, {16, 16}};
  const Mesh mesh = data_tensor();
  const auto bytes = [&](const char* from, const char* to) {
    return sent_bytes(convert_layout(layout_of(from), layout_of(to), mesh), type, mesh);
  };
  EXPECT_EQ(bytes("--", "00"), 0);
  EXPECT_EQ(bytes("-+", "--"), 2 * 1024 * 3 / 4);
  EXPECT_EQ(bytes("-+", "-0"), 1024 * 3 / 4);
  EXPECT_EQ(bytes("-0", "--"), 1024 * 3 / 4);
  EXPECT_EQ(bytes("00", "--"), 1024 * 7 / 8);
  EXPECT_EQ(bytes("0+", "0-"), 2 * 512 * 3 / 4);
  EXPECT_EQ(bytes("-0", "-1"), 256 * 3 / 4);
}

/// A value is brought from any layout to any other, and is the same.
TEST(Conversion, KeepsEachNumber) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (std::uint64_t round = 0; round < rounds(300); ++round) {
    const Mesh mesh = random_mesh(8, random);
    const Shape shape{16, 16};
    GraphBuilder builder;
    const Value x = builder.parameter("x", shape);
    builder.output("y", x);
    const Graph graph = builder.build().value();
    const Layout from = random_layout(shape, mesh, random), to = random_layout(shape, mesh, random);
    LayoutPlan plan{.mesh = mesh};
    plan.operands.emplace_back();
    const auto steps = convert_layout(from, to, mesh);
    plan.versions = {{{from, 0, {}}, {to, 0, steps}}};
    plan.outputs = {1};
    EXPECT_EQ(difference_on_ranks(graph, plan, random_residues(graph, random())), "")
        << to_string(from, mesh) << " to " << to_string(to, mesh);
  }
}

}  // namespace
}  // namespace hocket
