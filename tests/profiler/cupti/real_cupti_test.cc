// Loads the vendor's library, whose threads the leak sanitizer cannot stop, so this runs as
// released.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <random>

#include "profiler/cupti/cupti_library.h"
#include "profiler/cupti/cupti_session.h"
#include "profiler/cupti/decoder.h"
#include "profiler/cupti/probe.h"
#include "tests/profiler/cupti/fake_cupti.h"
#include "tests/profiler/cupti/nvtx_variable.h"
#include "tests/set_clock.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

/// The toolkit's library, which these tests can use without a device.
class RealCuptiTest : public testing::Test {
 protected:
  void SetUp() override {
    auto loaded = load_cupti(default_cupti_libraries());
    if (!loaded) GTEST_SKIP() << loaded.error().message;
    real_ = *loaded;
  }

  std::shared_ptr<CuptiApi> real_;
};

TEST_F(RealCuptiTest, IsOfTheVersionThatHocketWasBuiltWith) {
  EXPECT_EQ(real_->version() / 10'000, std::uint32_t{CUPTI_API_VERSION / 10'000});
}

TEST_F(RealCuptiTest, GivesNvtxTheFileThatWasLoaded) {
  const NvtxVariable empty("");
  const std::string path = give_nvtx_to_cupti(default_cupti_libraries());
  EXPECT_THAT(path, HasSubstr("/libcupti.so"));
  EXPECT_EQ(std::getenv(NvtxVariable::kName), path);
  // NVTX calls this function of the library.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr);
  EXPECT_NE(dlsym(library, "InitializeInjectionNvtx2"), nullptr);
  dlclose(library);
}

TEST_F(RealCuptiTest, KeepsTheRealtimeClock) {
  const auto realtime = [] {
    std::timespec now{};
    std::timespec_get(&now, TIME_UTC);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
  };
  const std::int64_t before_ns = realtime();
  std::uint64_t ns = 0;
  ASSERT_EQ(real_->timestamp(ns), CUPTI_SUCCESS);
  EXPECT_LE(before_ns, static_cast<std::int64_t>(ns));
  EXPECT_LE(static_cast<std::int64_t>(ns), realtime());
}

TEST_F(RealCuptiTest, OpensASessionOrSaysWhyNot) {
  const SteadyClock clock;
  const auto opened = CuptiSession::open({.clock = clock, .level = CuptiLevel::l0});
  if (opened) return;
  EXPECT_EQ(opened.error().code, ErrorCode::unavailable);
  EXPECT_THAT(opened.error().message, AllOf(StartsWith("CUPTI: "), EndsWith(kHostLevel)));
}

/// The fake CUPTI of the other tests walks buffers as the library does.
TEST_F(RealCuptiTest, WalksBuffersAsTheFakeDoes) {
  if (real_->version() / 100 != CUPTI_API_VERSION / 100) GTEST_SKIP() << "another version";
  const SetClock clock;
  const FakeCupti fake(clock);
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    RecordBytes buffer;
    for (std::uint64_t i = 1 + random() % 12; i > 0; --i) append(buffer, random_record(random));
    if (random() % 2) buffer.resize(1 + random() % buffer.size());
    if (random() % 4 == 0) append(buffer, RecordBytes(8, 0xff));
    const DecodedBuffer a = decode_buffer(*real_, buffer), b = decode_buffer(fake, buffer);
    ASSERT_EQ(a.activities.size(), b.activities.size());
    ASSERT_EQ(a.quarantined, b.quarantined);
    ASSERT_EQ(a.ignored, b.ignored);
    for (std::size_t i = 0; i < a.activities.size(); ++i) {
      ASSERT_EQ(a.activities[i].type, b.activities[i].type);
      ASSERT_EQ(a.activities[i].begin_ns, b.activities[i].begin_ns);
    }
  }
}

}  // namespace
}  // namespace hocket
