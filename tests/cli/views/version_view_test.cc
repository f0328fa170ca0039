#include "cli/views/version_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

#include "archive/studies/open_study.h"
#include "archive/studies/study_result.h"
#include "cli/application.h"
#include "cli/base/context.h"
#include "cli/views/result_view.h"
#include "core/host/topology_probe.h"
#include "store/open.h"
#include "tests/cli/answer.h"
#include "tests/temporary_folder.h"
#include "tuner/space/parameter_syntax.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A store with a study that has promoted a version, and the output of the verbs for it.
class VersionView : public ::testing::Test {
 protected:
  VersionView() {
    const StudyDefinition definition{.space = *Space::make({*parse_parameter("X=int:1..9")}),
                                     .objective = *parse_objective("wall"),
                                     .working_directory = "/"};
    study_ = start_study(*store_, {definition, {"job"}, "s", {.name = "work"}, *probe_topology()})
                 ->study;
    const StudyResult result{.default_params = {{{"X", std::int64_t{4}}}, 4, 1},
                             .best = {{{"X", std::int64_t{2}}}, 2, 1},
                             .promoted = true,
                             .gain = 0.5,
                             .needed = 0,
                             .reason = "it is better",
                             .stopped = "",
                             .trials = {}};
    EXPECT_TRUE(store_->update_study(study_.id,
                                     {.state = StudyState::finished, .result = to_json(result)}));
  }

  std::int64_t promote(PromotionOrigin origin, PromotionStage stage = PromotionStage::released) {
    NewPromotion promotion{.topology_id = study_.topology_id.value(),
                           .workload_id = study_.workload_id.value(),
                           .config = {{"streams", 2}},
                           .origin = origin,
                           .stage = stage,
                           .actor = "ada\n@host"};
    if (origin == PromotionOrigin::study) {
      promotion.study_id = study_.id;
      promotion.measured = MeasuredGain{2, 4, 0.5};
    }
    return store_->promote(promotion)->id;
  }

  void withdraw(std::int64_t id) {
    EXPECT_TRUE(store_->set_stage(id, PromotionStage::withdrawn, "eve", ""));
  }

  Answer ask(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--store", path_});
    return ask_hocket(arguments);
  }
  Answer fetch() const { return ask({"fetch", "--workload", "work"}); }
  nlohmann::json json(std::vector<std::string> arguments) const {
    arguments.emplace_back("--json");
    return nlohmann::json::parse(ask(arguments).out, nullptr, false);
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("store.db");
  std::unique_ptr<Store> store_ = open_store(path_).value();
  StudyRow study_;
};

TEST_F(VersionView, FetchSaysHowTheCurrentVersionCameToBeAndWhatIsNewer) {
  promote(PromotionOrigin::study);
  EXPECT_THAT(fetch().err,
              AllOf(HasSubstr("promoted by study s on 20"),
                    HasSubstr("50.0 % better than the default"), Not(HasSubstr("version"))));
  promote(PromotionOrigin::push);
  withdraw(promote(PromotionOrigin::rollback));
  promote(PromotionOrigin::pin, PromotionStage::staged);
  const auto answer = fetch();
  EXPECT_EQ(answer.status, kDone);
  EXPECT_EQ(answer.out, "{\"streams\":2}\n");
  EXPECT_THAT(
      answer.err,
      AllOf(HasSubstr("pushed by ada @host on 20"), Not(HasSubstr("than the default")),
            HasSubstr("version 3, rolled back to by ada @host on 20"),
            HasSubstr(", was withdrawn\n"), HasSubstr("version 4, pinned by ada @host on 20"),
            HasSubstr(", is tried on one job first\n")));
  const auto document = json({"fetch", "--workload", "work"});
  EXPECT_EQ(document.at("version"), 2);
  EXPECT_EQ(document.at("origin"), "push");
  EXPECT_EQ(document.at("study"), nullptr);
  EXPECT_EQ(document.at("gain"), nullptr);
  ASSERT_EQ(document.at("newer").size(), 2U);
  EXPECT_EQ(document.at("newer")[0].at("stage"), "withdrawn");
  EXPECT_EQ(document.at("newer")[1].at("version"), 4);
}

TEST_F(VersionView, FetchSaysThatTheOnlyVersionWasWithdrawn) {
  withdraw(promote(PromotionOrigin::push));
  const auto answer = fetch();
  EXPECT_EQ(answer.status, kBadInput);
  EXPECT_EQ(answer.out, "");
  EXPECT_THAT(answer.err,
              AllOf(HasSubstr("no version is released for work on"),
                    HasSubstr("version 1, pushed by ada @host on 20"), HasSubstr("was withdrawn")));
}

TEST_F(VersionView, BestSaysWhatBecameOfTheStudysVersion) {
  EXPECT_EQ(json({"best"}).at("version"), nullptr);
  const auto id = promote(PromotionOrigin::study);
  EXPECT_THAT(ask({"best"}).out, Not(HasSubstr("version")));
  EXPECT_EQ(json({"best"}).at("version").at("stage"), "released");
  withdraw(id);
  EXPECT_THAT(ask({"best"}).out, AllOf(HasSubstr("version 1, promoted by study s on 20"),
                                       HasSubstr(", was withdrawn\n")));
  ASSERT_TRUE(store_->set_key_state(study_.topology_id.value(), study_.workload_id.value(),
                                    {.pinned = true}, "ada"));
  promote(PromotionOrigin::study);
  EXPECT_THAT(ask({"best"}).out, HasSubstr(", is held, since its key was pinned\n"));
}

}  // namespace
}  // namespace hocket
