#include "core/servers/optimizer_state.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/rounds.h"

namespace hocket {
namespace {

TEST(OptimizerState, KeepsEveryValueHoweverItsTensorIsCut) {
  for (std::uint64_t seed = 0; seed < rounds(50); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    OptimizerState state;
    std::map<std::pair<std::uint32_t, std::size_t>, std::array<float, 2>> model;
    for (int times = 0; times < 100; ++times) {
      const TensorRange range{.tensor = static_cast<std::uint32_t>(random() % 3),
                              .offset = random() % 200,
                              .values = random() % 60};
      const int moments = static_cast<int>(random() % 3);
      const std::size_t before = state.bytes(), missing = state.missing_bytes(range, moments);
      const auto pieces = state.take(range, moments);
      ASSERT_TRUE(pieces) << pieces.error().message;
      ASSERT_EQ(state.bytes(), before + missing);
      ASSERT_EQ(state.missing_bytes(range, moments), 0U);
      std::size_t at = 0;
      for (const OptimizerState::Piece& piece : *pieces) {
        ASSERT_EQ(piece.begin, at) << "pieces follow one another";
        at += piece.values;
        for (int moment = 0; moment < OptimizerState::kMostMoments; ++moment) {
          const auto& values = piece.moments[static_cast<std::size_t>(moment)];
          ASSERT_EQ(values.size(), moment < moments ? piece.values : 0);
          for (std::size_t i = 0; i < values.size(); ++i) {
            float& known = model[{range.tensor, range.offset + piece.begin + i}]
                                [static_cast<std::size_t>(moment)];
            ASSERT_EQ(values[i], known);
            known = values[i] = static_cast<float>(random() % 1000);
          }
        }
      }
      ASSERT_EQ(at, range.values) << "pieces cover the range";
      state.give(range);
    }
  }
}

TEST(OptimizerState, RefusesValuesThatAreTaken) {
  OptimizerState state;
  const TensorRange taken{.tensor = 1, .offset = 10, .values = 10};
  ASSERT_TRUE(state.take(taken, 1));
  for (const TensorRange& other : {TensorRange{1, 0, 11}, {1, 19, 1}, {1, 0, 100}, taken}) {
    const auto refused = state.take(other, 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  }
  for (const TensorRange& other : {TensorRange{1, 0, 10}, {1, 20, 5}, {0, 10, 10}})
    EXPECT_TRUE(state.take(other, 1));
  state.give(taken);
  EXPECT_TRUE(state.take(taken, 1));
}

}  // namespace
}  // namespace hocket
