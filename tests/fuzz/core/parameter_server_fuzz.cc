// Any bytes that a rank sends to a parameter server are refused, or do what its requests say: a
// rank is let in only as one that the server expects, and sums stay within the limit of memory,
// are those of what was pushed, and are gone when every rank has left.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "core/servers/part_sums.h"
#include "core/servers/rank_register.h"
#include "core/servers/wire.h"

namespace {

using namespace hocket;
namespace wire = server_wire;

constexpr std::size_t kLimitBytes = 4000;
constexpr int kRanks = 2;

/// The rest of the input.
struct Bytes {
  template <class Message>
  bool read(Message& message) {
    if (left.size() < sizeof message) return false;
    std::memcpy(&message, left.data(), sizeof message);
    left.remove_prefix(sizeof message);
    return true;
  }
  std::string_view left;
};

struct NoWaiter final : SumWaiter {
  void wake() override {}
};

void check_memory(const PartSums& sums) {
  HOCKET_CHECK(sums.used_bytes() + sums.kept_bytes() + sums.state_bytes() <= kLimitBytes,
               "memory is limited");
}

void push(PartSums& sums, const PartKey& key, int rank, std::uint64_t values, bool finishes,
          const PartUpdate* update = nullptr) {
  auto summand = sums.begin_push(key, rank, values, update);
  check_memory(sums);
  if (!summand || !finishes) return;
  std::ranges::fill(summand->values(), 1.0F);
  (void)sums.finish_push(std::move(*summand));
}

/// Takes what the rank can take, and pulls some of it.
void take(PartSums& sums, int rank, std::size_t pulled, std::size_t values, bool updates) {
  std::array<PartKey, 3> keys;
  const auto taken = sums.take_sums(rank, keys, std::make_shared<NoWaiter>());
  for (std::size_t i = 0; taken && i < std::min(*taken, pulled); ++i) {
    const auto sum = sums.pull(keys[i], rank, values);
    if (!sum) continue;
    // Each summand is of 1s.
    for (const float value : sum->values())
      HOCKET_CHECK(value == kRanks || updates, "the sum is of one summand of each rank");
    HOCKET_CHECK(!sums.pull(keys[i], rank, values), "a sum is pulled once");
  }
}

/// Carries out the requests that follow, alternately of each rank, as long as they are possible.
void serve_requests(Bytes bytes) {
  PartSums sums(kRanks, kLimitBytes);
  wire::Request request;
  bool updates = false;
  for (int turn = 0; bytes.read(request) && wire::check_request(request); ++turn) {
    const int rank = turn % kRanks;
    const PartKey key = {request.collective, request.offset_bytes};
    const auto times = static_cast<std::size_t>(request.timeout_ns % 4);
    switch (request.operation) {
      case wire::kPush:
        push(sums, key, rank, request.values, times != 1);
        if (times == 2) push(sums, key, 1 - rank, request.values, true);
        break;
      case wire::kUpdate: {
        wire::Update received;
        if (!bytes.read(received)) break;
        const auto update = wire::from_wire(received);
        if (!update) break;
        updates = true;
        push(sums, key, rank, request.values, times != 1, &*update);
        if (times == 2) push(sums, key, 1 - rank, request.values, true, &*update);
        break;
      }
      case wire::kAwait:
        take(sums, rank, times, request.values, updates);
        (void)sums.unfinished(rank, request.collective);
        break;
      case wire::kPull:
        (void)sums.pull(key, rank, request.values);
        break;
      default:
        sums.lose(rank);
    }
    check_memory(sums);
  }
  for (int rank = 0; rank < kRanks; ++rank) sums.lose(rank);
  HOCKET_CHECK(sums.used_bytes() == 0, "memory is left when every rank is gone");
}

void introduce(const wire::RankIdentity& rank) {
  RankRegister ranks({.ranks = kRanks, .server = 0, .servers = 1}, 1);
  if (!ranks.enter(rank)) return;
  HOCKET_CHECK(rank.rank >= 0 && rank.rank < kRanks, "it let an unknown rank in");
  HOCKET_CHECK(!ranks.enter(rank), "a second connection is beyond the limit");
  HOCKET_CHECK(ranks.end_connection(rank.rank, false), "the rank is gone");
}

void read_answers(Bytes bytes) {
  greeting::Verdict verdict;
  if (!bytes.read(verdict) || !greeting::is_refusal(verdict.outcome)) return;
  const auto text = bytes.left.substr(0, verdict.outcome.text_bytes);
  const Error error = greeting::error_of(verdict.outcome, text);
  HOCKET_CHECK(greeting::refusal_of(error).outcome.code == verdict.outcome.code,
               "a code is not sent as it was read");
  HOCKET_CHECK(error.message.find('\n') == std::string::npos, "a message has one line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes = {std::string_view(reinterpret_cast<const char*>(data), size)};
  read_answers(bytes);
  serve_requests(bytes);
  Bytes rest = bytes;
  greeting::Introduction introduction;
  wire::RankIdentity rank;
  if (!rest.read(introduction) || !rest.read(rank) ||
      !greeting::check_opening(wire::kProtocol, introduction.opening, "the rank")) {
    return 0;
  }
  introduce(rank);
  serve_requests(rest);
  return 0;
}
