// Any text is refused with an error, or gives a description that is valid in both forms and is
// written and read back as the same value. Programs of ranks are folded, or refused with an error.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "core/base/check.h"
#include "core/description/step_description.h"
#include "core/description/step_programs.h"
#include "core/programs/fold_order.h"
#include "core/programs/job_fold.h"

constexpr std::int64_t kMostFoldedRanks = 64;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto step = hocket::parse_step_description({reinterpret_cast<const char*>(data), size});
  if (!step) return 0;
  HOCKET_CHECK(hocket::validate(*step), "what was read is not valid");
  HOCKET_CHECK(hocket::validate(hocket::expand(*step)), "its general form is not valid");
  if (hocket::takes_part_by_rank(*step) && step->ranks <= kMostFoldedRanks) {
    const auto fold = hocket::fold_job(*step);
    if (fold) (void)hocket::check_order_of_submission(*fold);
  }
  const auto read_back = hocket::parse_step_description(hocket::to_json(*step).dump());
  HOCKET_CHECK(read_back && *read_back == *step, "it is not read back as it was written");
  return 0;
}
