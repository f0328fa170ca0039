#include "cli/output/interim_text.h"

#include <gtest/gtest.h>

#include "tuner/space/parameter_syntax.h"

namespace hocket {
namespace {

InterimStudy some_interim() {
  InterimStudy interim{
      .study = "s",
      .definition = {.space = Space::make({parse_parameter("X=int:1..9").value()}).value(),
                     .objective = parse_objective("step[ms]=regex:t=(.)").value()}};
  interim.searched = 4;
  interim.result.is_interim = true;
  interim.result.default_params = {{{"X", std::int64_t{5}}}, 120, 2};
  interim.result.best = {{{"X", std::int64_t{7}}}, 100, 1};
  return interim;
}

TEST(InterimText, NamesTheSettingAndTheCommandThatConfirmsIt) {
  EXPECT_EQ(interim_text(some_interim(), " --store s.db"),
            "recommended by study s so far, not confirmed: X=7 (100 ± 1 ms; the default X=5: 120 ± "
            "2 ms); to confirm and promote it: hocket tune --resume --study s --trials 4 --store "
            "s.db");
}

TEST(InterimText, OfADefaultThatFailedOrIsBest) {
  auto interim = some_interim();
  interim.result.default_params.value.reset();
  EXPECT_NE(interim_text(interim, "").find("the default X=5: it failed"), std::string::npos);
  interim = some_interim();
  interim.result.best = interim.result.default_params;
  interim.result.reason = "nothing is better";
  EXPECT_EQ(interim_text(interim, ""),
            "study s recommends nothing so far: nothing is better; go on with it: hocket tune "
            "--resume --study s");
}

TEST(InterimText, OfAFrontSaysThatItIsNotConfirmed) {
  auto interim = some_interim();
  interim.result.front = {{.number = 3, .measured = interim.result.best}};
  EXPECT_EQ(interim_text(interim, ""),
            "study s has not confirmed its front; to confirm it: hocket tune --resume --study s "
            "--trials 4");
}

}  // namespace
}  // namespace hocket
