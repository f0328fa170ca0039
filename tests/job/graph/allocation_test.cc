// A step allocates only the bodies of divisible tasks, one each.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include "tests/job/graph/language_model.h"
#include "tests/job/step/submitters.h"

namespace {
std::atomic<long> allocations = 0;
}

// Not inlined: GCC would report new and free() of one object as a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace hocket {
namespace {

TEST(GraphSteps, AllocatesNothingInAStep) {
  const LanguageModel model(small_gpt2(2, 32, 16), {.steps = 4});
  ImmediateSubmitter submitter;
  model->attach(submitter);
  model.submit_step(0);  // BLAS allocates its buffers in the first product
  const long before = allocations;
  const int divisible = submitter.divisible;
  for (int step = 1; step < 4; ++step) model.submit_step(step);
  EXPECT_LE(allocations - before, submitter.divisible - divisible);
  EXPECT_GT(before, 0);
}

}  // namespace
}  // namespace hocket
