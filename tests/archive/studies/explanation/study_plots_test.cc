#include "archive/studies/explanation/study_plots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/open.h"
#include "tests/archive/studies/kept_study.h"
#include "tests/tuner/explain/small_search.h"
#include "tests/tuner/explain/well_formed.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class StudyPlots : public ::testing::Test {
 protected:
  StudyExplanation explained(const StudyToKeep& study) const {
    keep_study(*store_, study);
    return explain_study(*store_, study.name).value();
  }

  static Error refusal(const StudyExplanation& explained, const std::string& plot,
                       const PlotChoice& choice = {}) {
    const auto document = study_plot(explained, plot, choice);
    EXPECT_FALSE(document);
    return document ? Error{} : document.error();
  }

  /// Two objectives and three parameters.
  static StudyToKeep several() {
    const auto function = [](const Params& params) {
      const auto x = static_cast<double>(std::get<std::int64_t>(params.at("X")));
      auto outcome = complete_trial({1e6 * (100 + std::pow(x - 12, 2))});
      outcome.others = {1e6 * x};
      outcome.metrics[metric_of_other(0)] = outcome.others;
      return outcome;
    };
    return {"several",
            6,
            {"X=int:1..40", "Y=choice:a,b", "Z=float:0..1"},
            function,
            SearchMethod::model,
            {"wall", "memory"}};
  }

  const std::unique_ptr<Store> store_ = open_store_in_memory();
};

TEST_F(StudyPlots, EveryPlotThatThereIsCanBeDrawn) {
  const auto study = explained(several());
  const auto names = study_plots(study);
  EXPECT_THAT(names, ElementsAre("convergence", "slices", "contour", "parallel", "importance",
                                 "calibration", "front"));
  for (const auto& name : names) {
    SCOPED_TRACE(name);
    const auto document = study_plot(study, name);
    ASSERT_TRUE(document) << document.error().message;
    EXPECT_EQ(xml_complaint(*document), "");
    EXPECT_THAT(*document, HasSubstr("study several: "));
    EXPECT_THAT(*document, HasSubstr("time (wall)"));
    if (name == "importance") continue;
    for (const auto& trial : study.trials)
      EXPECT_EQ(marks(*document, shown_number(trial)), name == "slices" ? 3U : 1U);
  }
}

TEST_F(StudyPlots, AContourIsOfTheParametersAskedFor) {
  const auto study = explained(several());
  const auto contour = [&](const PlotChoice& choice) {
    const auto document = study_plot(study, "contour", choice);
    EXPECT_TRUE(document) << document.error().message;
    return document.value_or("");
  };
  EXPECT_THAT(contour({"Z", "Y"}),
              AllOf(HasSubstr(">Z</text>"), HasSubstr(">Y</text>"), Not(HasSubstr(">X</text>"))));
  EXPECT_NE(contour({"Z", "Y"}), contour({"Y", "Z"}));
  const auto& surface = *study.explanation.surface;
  EXPECT_EQ(surface.x, "X");
  EXPECT_EQ(contour({surface.x, surface.y}), contour({}));
  // The most important parameter is chosen for what is not named.
  EXPECT_EQ(contour({"Z", ""}), contour({"Z", "X"}));
  EXPECT_EQ(contour({"", "Z"}), contour({"X", "Z"}));
  EXPECT_EQ(contour({"X", ""}), contour({"X", surface.y}));
}

TEST_F(StudyPlots, SaysWhichPlotsAndParametersThereAre) {
  const auto study = explained(several());
  const auto unknown = refusal(study, "contuor\n");
  EXPECT_EQ(unknown.code, ErrorCode::not_found);
  EXPECT_EQ(unknown.message,
            "no plot \"contuor \"; there are convergence, slices, contour, parallel, importance, "
            "calibration, front");
  EXPECT_EQ(refusal(study, "contour", {"W", "X"}).code, ErrorCode::invalid_argument);
  EXPECT_THAT(refusal(study, "contour", {"W", "X"}).message,
              AllOf(HasSubstr("\"W\""), HasSubstr("there are X, ")));
  EXPECT_THAT(refusal(study, "contour", {"X", "X"}).message, HasSubstr("X twice"));
}

TEST_F(StudyPlots, SaysWhyAPlotIsNotThereAndWhatToDo) {
  const auto single = explained(
      {"single", 2, {"X=int:1..40"}, [](const Params& params) {
         return complete_trial({static_cast<double>(1 + std::get<std::int64_t>(params.at("X")))});
       }});
  EXPECT_THAT(study_plots(single), ElementsAre("convergence", "slices", "parallel", "importance"));
  const auto front = refusal(single, "front");
  EXPECT_EQ(front.code, ErrorCode::not_found);
  EXPECT_THAT(front.message, AllOf(HasSubstr("several objectives"), HasSubstr("--objective"),
                                   HasSubstr("there are convergence, slices, parallel")));
  EXPECT_EQ(refusal(single, "contour").code, ErrorCode::not_found);
  EXPECT_EQ(refusal(single, "contour", {"X", "Y"}).code, ErrorCode::not_found);
  EXPECT_THAT(refusal(single, "contour").message, HasSubstr("takes two parameters"));
  EXPECT_THAT(refusal(single, "calibration").message,
              AllOf(HasSubstr("3 to 60 trials completed, and 2 have"), HasSubstr("run more")));
  auto long_one = single;
  long_one.explanation.completed = 61;
  EXPECT_THAT(refusal(long_one, "calibration").message,
              AllOf(HasSubstr("and 61 have"), HasSubstr("the slices show")));
}

}  // namespace
}  // namespace hocket
