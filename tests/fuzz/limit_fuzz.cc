// Any text is refused with an error, or gives a limit whose text reads back as the same limit, and
// which can be checked against a trial.

#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "tuner/trial/limit.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto limit = hocket::parse_limit({reinterpret_cast<const char*>(data), size});
  if (!limit) return 0;
  HOCKET_CHECK(hocket::parse_limit(hocket::to_text(*limit)) == *limit,
               "it is not read back as it was written");
  hocket::TrialEvidence evidence;
  evidence.stdout_text = "loss=4.5\n";
  static_cast<void>(hocket::limit_problem(*limit, 0, evidence));
  return 0;
}
