#include <cstddef>

#include "profiler/clocks/clock_fit.h"

namespace hocket {
namespace {

constexpr int kMostRounds = 4096;
constexpr int kPieceBits = 22;
constexpr std::size_t kPieces = 3;
constexpr std::uint64_t kPieceEnd = std::uint64_t{1} << kPieceBits;

/// Splits a time into floats that represent it exactly: each holds an integer below 2²⁴.
void put(std::int64_t time_ns, std::span<float> pieces) {
  auto rest = static_cast<std::uint64_t>(time_ns);
  for (std::size_t i = 0; i < kPieces; ++i) {
    pieces[i] = static_cast<float>(rest % kPieceEnd);
    rest /= kPieceEnd;
  }
}

Result<std::int64_t> take(std::span<const float> pieces) {
  std::uint64_t time = 0;
  for (std::size_t i = kPieces; i-- > 0;) {
    const float piece = pieces[i];
    const bool is_piece = piece >= 0 && piece < static_cast<float>(kPieceEnd) &&
                          piece == static_cast<float>(static_cast<std::uint64_t>(piece));
    if (!is_piece) {
      return failure(ErrorCode::unavailable,
                     "a sum over the ranks is not what one of them put in; let all ranks take part "
                     "once, over a collective that adds exactly");
    }
    time = time << kPieceBits | static_cast<std::uint64_t>(piece);
  }
  return static_cast<std::int64_t>(time);
}

Result<std::vector<ClockRound>> run_rounds(Collective& collective, const Clock& clock, int rounds,
                                           std::uint64_t first_index) {
  std::vector<ClockRound> own;
  for (int i = 0; i < rounds; ++i) {
    float value = 1;
    ClockRound round;
    round.begin_ns = clock.now_ns();
    const auto ok = collective.all_reduce({&value, 1}, first_index + static_cast<unsigned>(i));
    round.end_ns = clock.now_ns();
    HOCKET_TRY(ok);
    own.push_back(round);
  }
  return own;
}

/// Shares all ranks' rounds: each rank fills its own slots, and the sum over the ranks has all of
/// them.
Result<std::vector<std::vector<ClockRound>>> tell_all(Collective& collective,
                                                      std::span<const ClockRound> own,
                                                      std::uint64_t index) {
  const auto ranks = static_cast<std::size_t>(collective.world_size());
  std::vector<float> floats(ranks * own.size() * 2 * kPieces);
  const auto slot = [&](std::size_t rank, std::size_t round, std::size_t which) {
    return std::span(floats).subspan(((rank * own.size() + round) * 2 + which) * kPieces, kPieces);
  };
  for (std::size_t i = 0; i < own.size(); ++i) {
    put(own[i].begin_ns, slot(static_cast<std::size_t>(collective.rank()), i, 0));
    put(own[i].end_ns, slot(static_cast<std::size_t>(collective.rank()), i, 1));
  }
  HOCKET_TRY(collective.all_reduce(floats, index));

  std::vector<std::vector<ClockRound>> all(ranks, std::vector<ClockRound>(own.size()));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      const auto begin_ns = take(slot(rank, i, 0)), end_ns = take(slot(rank, i, 1));
      HOCKET_TRY(begin_ns);
      HOCKET_TRY(end_ns);
      all[rank][i] = {*begin_ns, *end_ns};
    }
  }
  return all;
}

}  // namespace

Result<std::vector<std::vector<ClockRound>>> exchange_clocks(Collective& collective,
                                                             const Clock& clock, int rounds,
                                                             std::uint64_t first_index) {
  constexpr auto kWhere = "clock exchange";
  if (rounds < 1 || rounds > kMostRounds) {
    return failure(ErrorCode::invalid_argument, "clock exchange: " + std::to_string(rounds) +
                                                    " rounds, expected 1 to " +
                                                    std::to_string(kMostRounds));
  }
  const auto own = run_rounds(collective, clock, rounds, first_index);
  if (!own) return failure(own.error().in(kWhere));
  auto all = tell_all(collective, *own, first_index + static_cast<unsigned>(rounds));
  if (!all) return failure(all.error().in(kWhere));
  return all;
}

}  // namespace hocket
