#include "core/cuda/collectives/device_collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tests/core/cuda/model_device.h"

namespace hocket {
namespace {

using testing::HasSubstr;

/// Records the pieces to exchange.
class NotingRanks final : public SoleRankCollective {
 public:
  explicit NotingRanks(int ranks) : ranks_(ranks) {}

  int world_size() const override { return ranks_; }
  Result<void> exchange(CollectiveKind kind, std::span<const DevicePiece> pieces, int,
                        DeviceStream) override {
    last_kind = kind;
    last_pieces.assign(pieces.begin(), pieces.end());
    return {};
  }

  CollectiveKind last_kind = CollectiveKind::all_to_all;
  std::vector<DevicePiece> last_pieces;

 private:
  const int ranks_;
};

TEST(DeviceCollective, CutsValuesIntoAnEqualPieceForEachRank) {
  for (int ranks = 1; ranks <= 5; ++ranks) {
    for (std::size_t count = 0; count <= 20; ++count) {
      std::vector<float> values(count);
      NotingRanks collective(ranks);
      for (const auto kind : {CollectiveKind::reduce_scatter, CollectiveKind::all_gather}) {
        const auto ok = kind == CollectiveKind::all_gather
                            ? collective.all_gather(values, 0, {})
                            : collective.reduce_scatter(values, 0, {});
        EXPECT_EQ(ok.has_value(), count % static_cast<std::size_t>(ranks) == 0);
        if (!ok) {
          EXPECT_EQ(ok.error().code, ErrorCode::invalid_argument);
          EXPECT_THAT(ok.error().message, HasSubstr(std::to_string(count) + " values"));
          continue;
        }
        EXPECT_EQ(collective.last_kind, kind);
        ASSERT_EQ(collective.last_pieces.size(), static_cast<std::size_t>(ranks));
        const ValueSpan all = values;
        std::size_t next = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          const DevicePiece& piece = collective.last_pieces[static_cast<std::size_t>(rank)];
          EXPECT_EQ(piece.owner, rank);
          EXPECT_EQ(piece.values.data(), all.subspan(next, 0).data());
          next += piece.values.size();
        }
        EXPECT_EQ(next, count);
      }
    }
  }
}

TEST(DeviceCollective, TheRootOfABroadcastIsARank) {
  NotingRanks collective(4);
  std::vector<float> values(3);
  EXPECT_TRUE(collective.broadcast(values, 3, 0, {}));
  ASSERT_EQ(collective.last_pieces.size(), 1u);
  EXPECT_EQ(collective.last_pieces[0].owner, 3);
  for (const int root : {-1, 4}) {
    const auto ok = collective.broadcast(values, root, 0, {});
    ASSERT_FALSE(ok);
    EXPECT_THAT(ok.error().message, HasSubstr("must be from 0 to 3"));
  }
}

TEST(DeviceCollective, ARankAloneSendsToItself) {
  ModelDevice device;
  SoleRankCollective alone(&device);
  const DeviceStream stream = device.create_stream(StreamPriority::normal).value();
  std::vector<float> values{1, 2, 3, 4, 5}, received(5);
  const ValueSpan from = values, to = received;
  const DeviceMessage messages[] = {{from.subspan(0, 2), 0, true},
                                    {to.subspan(0, 2), 0, false},
                                    {to.subspan(2, 3), 0, false},
                                    {from.subspan(2, 3), 0, true}};
  ASSERT_TRUE(alone.exchange_messages(messages, 0, stream));
  ASSERT_TRUE(device.synchronize(stream));
  EXPECT_EQ(received, values);
  const auto unequal = alone.exchange_messages(std::span(messages).first(1), 0, stream);
  ASSERT_FALSE(unequal);
  EXPECT_THAT(unequal.error().message, HasSubstr("as many bytes as it sends"));
  EXPECT_FALSE(SoleRankCollective().exchange_messages(messages, 0, stream));
}

}  // namespace
}  // namespace hocket
