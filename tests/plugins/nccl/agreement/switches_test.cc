// The laws of simulated_job.h in many jobs: about 20,000 gates, or as many as the environment
// variable HOCKET_NCCL_SWITCHES says. HOCKET_NCCL_SEED repeats one job.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "plugins/nccl/agreement/arbiter.h"
#include "tests/plugins/nccl/agreement/simulated_job.h"
#include "tests/rounds.h"

namespace hocket::nccl {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 10) : otherwise;
}

void print(const JobCounts& counts, std::uint64_t jobs) {
  std::cout << jobs << " jobs (" << counts.jobs_with_faults << " with faults, "
            << counts.jobs_frozen << " frozen, " << counts.recoveries << " recovered), "
            << counts.proposals << " proposals, gates: " << counts.went << " went, "
            << counts.stayed << " stayed (";
  for (std::size_t reason = 1; reason < counts.stayed_by_reason.size(); ++reason) {
    std::cout << (reason > 1 ? "; " : "") << text_of(static_cast<StayReason>(reason)) << ": "
              << counts.stayed_by_reason[reason];
  }
  std::cout << "), " << counts.completed_items << " items, " << counts.defaults
            << " verdicts by default; jobs with two settings in the excepted cases: "
            << counts.excepted_a << " (a), " << counts.excepted_b << " (b)\n";
}

TEST(Switches, NoJobBreaksALaw) {
  const std::uint64_t wanted = number_from("HOCKET_NCCL_SWITCHES", rounds(20000));
  const std::uint64_t only = number_from("HOCKET_NCCL_SEED", 0);
  JobCounts counts;
  std::uint64_t seed = only != 0 ? only : 1;
  std::uint64_t failures = 0;
  for (; counts.went + counts.stayed < wanted && failures < 3; ++seed) {
    SimulatedJob job(seed);
    const std::string broken = job.run();
    counts.add(job.counts());
    if (!broken.empty()) {
      ++failures;
      ADD_FAILURE() << broken << "; repeat it with HOCKET_NCCL_SEED=" << seed;
    }
    if (only != 0) break;
  }
  print(counts, seed - (only != 0 ? only - 1 : 1));
  if (only != 0 || failures > 0) return;
  // The cases that the laws are about have happened.
  EXPECT_GT(counts.jobs_frozen, 0u);
  EXPECT_GT(counts.recoveries, 0u);
  EXPECT_GT(counts.defaults, 0u);
  for (std::size_t reason = 1; reason < counts.stayed_by_reason.size(); ++reason) {
    const auto stayed = static_cast<StayReason>(reason);
    if (stayed == StayReason::withdrawn) continue;
    EXPECT_GT(counts.stayed_by_reason[reason], 0u) << text_of(stayed);
  }
}

}  // namespace
}  // namespace hocket::nccl
