#include "archive/promotions/shared_promotions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "archive/promotions/rollback.h"
#include "archive/studies/study_result.h"
#include "store/open.h"
#include "tests/core/sharing/sample_shared_configs.h"
#include "tests/rounds.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kCommandName = "train";

std::string exported_text(Store& store, const std::string& site = "b") {
  const auto exported = must(export_configs(store, {}, site));
  EXPECT_THAT(exported.notes, IsEmpty());
  return must(shared_configs_text(exported.configs, ""));
}

/// A store in which studies and operators have promoted.
class SharedPromotions : public ::testing::Test {
 protected:
  /// Promotes what a study of the workload has found.
  PromotionRow promote(const Workload& workload, const nlohmann::json& config,
                       const nlohmann::json& space = nlohmann::json::object()) {
    const auto topology_id = must(store_->upsert_topology(sample_topology()));
    const auto workload_id = must(store_->upsert_workload(workload));
    NewStudy study = sample_study();
    study.name = "";
    study.definition["space"] = space;
    study.topology_id = topology_id;
    study.workload_id = workload_id;
    const auto row = must(store_->create_study(study));
    for (const double value : {10.0, 8.0}) {
      const auto trial =
          must(store_->start_trial({row.id, TrialPhase::search, nlohmann::json::object()}));
      must(store_->finish_trial(trial.id, sample_result(value)));
    }
    StudyResult result;
    result.gain = 0.2;
    result.interval = GainInterval{0.1, 0.3};
    must(store_->update_study(row.id, {.state = StudyState::finished, .result = to_json(result)}));
    return must(store_->promote({.topology_id = topology_id,
                                 .workload_id = workload_id,
                                 .study_id = row.id,
                                 .config = config,
                                 .measured = MeasuredGain{8, 10, 0.2}}));
  }

  PromotionRow promote_schedule() { return promote(sample_workload(), shared_schedule().config); }

  PromotionRow promote_command(const std::string& word = "ring") {
    return promote({.name = kCommandName, .parameters = {{"MODE", "choice"}}}, {{"MODE", word}},
                   {{"format", "hocket-space"},
                    {"version", 1},
                    {"parameters",
                     {{{"name", "MODE"},
                       {"type", "choice"},
                       {"choices", {"ring", "/bin/sh"}},
                       {"default", "ring"}}}}});
  }

  std::unique_ptr<Store> store_ = open_store_in_memory();
  std::unique_ptr<Store> other_ = open_store_in_memory();
};

TEST_F(SharedPromotions, AnImportedFileIsExportedAsTheSameBytes) {
  promote_schedule();
  promote_command();
  const std::string text = exported_text(*store_);
  const auto shared = must(read_shared_configs(text));
  EXPECT_THAT(must(import_configs(*other_, shared.configs, "ada", false)),
              Each(Field(&ImportOutcome::action, ImportAction::imported)));
  EXPECT_EQ(exported_text(*other_, "another name"), text);
  EXPECT_THAT(must(import_configs(*other_, shared.configs, "ada", false)),
              Each(Field(&ImportOutcome::action, ImportAction::same)));
  EXPECT_EQ(exported_text(*other_), text);
}

TEST_F(SharedPromotions, AnyFileIsExportedAsItWasImported) {
  for (std::uint64_t seed = 1; seed <= rounds(20); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto configs = random_shared_configs(random);
    const auto store = open_store_in_memory();
    must(import_configs(*store, configs, "ada", false));
    EXPECT_EQ(exported_text(*store), must(shared_configs_text(configs, "")));
  }
}

TEST_F(SharedPromotions, TheEvidenceIsThatOfTheStudy) {
  promote_schedule();
  const auto exported = must(export_configs(*store_, {}, "cluster-b"));
  ASSERT_THAT(exported.configs, SizeIs(1));
  const SharedConfig& config = exported.configs[0];
  EXPECT_EQ(config.site, "cluster-b");
  EXPECT_EQ(config.topology, sample_topology());
  EXPECT_EQ(config.workload, sample_workload());
  EXPECT_EQ(config.evidence.kind, EvidenceKind::study);
  EXPECT_EQ(config.evidence.measured, (SharedGain{8, 10, 0.2}));
  EXPECT_EQ(config.evidence.interval, (GainInterval{0.1, 0.3}));
  EXPECT_EQ(config.evidence.trials, 2);
}

TEST_F(SharedPromotions, WhatAnOperatorHasPinnedHasTheEvidenceOfItsStudy) {
  const auto found = promote_schedule();
  must(store_->promote({.topology_id = found.topology_id,
                        .workload_id = found.workload_id,
                        .config = found.config,
                        .origin = PromotionOrigin::pin}));
  EXPECT_EQ(must(export_configs(*store_, {}, "")).configs.at(0).evidence.kind, EvidenceKind::study);
  must(store_->promote({.topology_id = found.topology_id,
                        .workload_id = found.workload_id,
                        .config = {{"streams", 3}},
                        .origin = PromotionOrigin::push}));
  const auto evidence = must(export_configs(*store_, {}, "")).configs.at(0).evidence;
  EXPECT_EQ(evidence.kind, EvidenceKind::none);
  EXPECT_EQ(evidence.measured, std::nullopt);
  const ConfigKey key{fingerprint(sample_topology()), fingerprint(sample_workload())};
  must(roll_back(*store_, key, NoConfiguration{}, "ada", ""));
  EXPECT_THAT(must(export_configs(*store_, {}, "")).configs, IsEmpty());
}

TEST_F(SharedPromotions, AChoiceSelectsByWorkloadTopologyAndKey) {
  promote_schedule();
  promote_command();
  const ConfigKey key{fingerprint(sample_topology()), fingerprint(sample_workload())};
  const auto chosen = [&](const ExportChoice& choice) {
    std::vector<std::string> names;
    for (const auto& config : must(export_configs(*store_, choice, "")).configs)
      names.push_back(config.workload.name);
    return names;
  };
  EXPECT_THAT(chosen({.workload = kCommandName}), ElementsAre(kCommandName));
  EXPECT_THAT(chosen({.workload = key.workload.substr(0, 8)}), ElementsAre("gpt2"));
  EXPECT_THAT(chosen({.topology = key.topology.substr(0, 8)}), SizeIs(2));
  EXPECT_THAT(chosen({.topology = "none"}), IsEmpty());
  EXPECT_THAT(chosen({.keys = {to_string(key)}}), ElementsAre("gpt2"));
}

TEST_F(SharedPromotions, AWordThatOthersMayNotChooseIsNeitherExportedNorImported) {
  promote_schedule();
  promote_command("/bin/sh");
  const auto exported = must(export_configs(*store_, {}, ""));
  EXPECT_THAT(exported.configs, SizeIs(1));
  EXPECT_THAT(exported.notes, ElementsAre(HasSubstr("train on 2 ranks")));
  for (const auto& [name, value] :
       {std::pair("MODE", "$(touch x)"), std::pair("LD_PRELOAD", "x.so"), std::pair("PATH", "x")}) {
    SharedConfig hostile = shared_command();
    hostile.config = {{name, value}};
    hostile.declared = {{name, DeclaredWords{{value}}}};
    const auto refused = import_configs(*other_, {shared_schedule(), hostile}, "ada", false);
    EXPECT_THAT(message_of(refused), HasSubstr(name));
    EXPECT_THAT(message_of(refused), testing::Not(HasSubstr("--allow-variable")));
    EXPECT_THAT(must(other_->promotions({})), IsEmpty());
  }
}

TEST_F(SharedPromotions, AnImportedVersionThatWasChangedInTheStoreIsNotExported) {
  NewImport import{.topology = sample_topology(),
                   .workload = sample_workload(),
                   .config = {{"streams", 2}},
                   .digest = "no digest of it",
                   .provenance = {{"site", "a"}}};
  must(other_->import_configs({import}, "ada", false));
  const auto exported = must(export_configs(*other_, {}, ""));
  EXPECT_THAT(exported.configs, IsEmpty());
  EXPECT_THAT(exported.notes, ElementsAre(HasSubstr("version 1")));
}

}  // namespace
}  // namespace hocket
