#include "plugins/nccl/agreement/call_digest.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "tests/rounds.h"

namespace hocket::nccl {
namespace {

struct Call {
  std::uint32_t function;
  std::uint64_t bytes;
  std::uint32_t operations;
};

std::uint64_t digest_of(const std::vector<Call>& calls,
                        std::uint64_t digest = call_digest::kEmpty) {
  for (const Call& call : calls) {
    digest = call_digest::add(digest, call.function, call.bytes, call.operations);
  }
  return digest;
}

std::vector<Call> any_calls(std::mt19937_64& random) {
  std::vector<Call> calls(2 + random() % 20);
  for (Call& call : calls) {
    call = {static_cast<std::uint32_t>(random() % 5), std::uint64_t{1} << random() % 34,
            static_cast<std::uint32_t>(1 + random() % 8)};
  }
  return calls;
}

TEST(CallDigest, DependsOnEveryFieldAndOnTheOrder) {
  for (std::uint64_t seed = 0; seed < rounds(4000); ++seed) {
    std::mt19937_64 random(seed);
    const auto calls = any_calls(random);
    const std::uint64_t digest = digest_of(calls);
    const std::size_t at = random() % calls.size();
    auto other = calls;
    other[at].function ^= 1;
    EXPECT_NE(digest_of(other), digest) << "seed " << seed;
    other = calls;
    other[at].bytes += 4;
    EXPECT_NE(digest_of(other), digest) << "seed " << seed;
    other = calls;
    other[at].operations += 1;
    EXPECT_NE(digest_of(other), digest) << "seed " << seed;
    other = calls;
    other.insert(other.begin() + static_cast<std::ptrdiff_t>(at), calls[at]);
    EXPECT_NE(digest_of(other), digest) << "seed " << seed;
    other = calls;
    other[0].bytes = 8;
    other[1].bytes = 16;
    const std::uint64_t ordered = digest_of(other);
    std::swap(other[0], other[1]);
    EXPECT_NE(digest_of(other), ordered) << "seed " << seed;
  }
}

TEST(CallDigest, DigestsThatDifferStayDifferentWhileEqualCallsFollow) {
  for (std::uint64_t seed = 0; seed < rounds(4000); ++seed) {
    std::mt19937_64 random(seed);
    const std::uint64_t one = random();
    const std::uint64_t other = one ^ (std::uint64_t{1} << random() % 64);
    const auto calls = any_calls(random);
    EXPECT_NE(digest_of(calls, one), digest_of(calls, other)) << "seed " << seed;
  }
}

TEST(CallDigest, SingleCallsDoNotCollide) {
  std::set<std::uint64_t> seen;
  std::size_t calls = 0;
  for (std::uint32_t function = 0; function < 5; ++function) {
    for (std::uint64_t bytes = 0; bytes < 4096; bytes += 4) {
      for (const std::uint32_t operations : {1u, 2u, 3u, 16u}) {
        seen.insert(call_digest::add(call_digest::kEmpty, function, bytes, operations));
        ++calls;
      }
    }
  }
  EXPECT_EQ(seen.size(), calls);
}

}  // namespace
}  // namespace hocket::nccl
