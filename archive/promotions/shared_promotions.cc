#include "archive/promotions/shared_promotions.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "archive/promotions/promoted_setting.h"
#include "archive/promotions/rollback.h"
#include "archive/promotions/setting_rules.h"
#include "archive/studies/study_result.h"
#include "core/base/json_members.h"
#include "core/base/json_reader.h"
#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kShareNameBytes = 100;

/// Refuses a configuration that the setting of a job or command may not have when others say it.
Result<void> check_may_be_shared(const SharedConfig& config) {
  const auto setting = promoted_setting(config.config, {config.declared, config.workload.knobs});
  HOCKET_TRY(setting);
  return check_setting(*setting, SettingWords::imported, {});
}

/// Returns the version that was measured and has the same configuration, the newest one; `version`
/// itself without any.
Result<PromotionRow> measured_version(Store& store, const PromotionRow& version) {
  const auto is_found = [](const PromotionRow& row) {
    return row.origin == PromotionOrigin::study || row.origin == PromotionOrigin::live ||
           row.origin == PromotionOrigin::imported;
  };
  if (is_found(version)) return version;
  UnreadRows unread;
  const auto rows = store.promotions(
      {.topology_id = version.topology_id, .workload_id = version.workload_id}, &unread);
  HOCKET_TRY(rows);
  for (auto row = rows->rbegin(); row != rows->rend(); ++row)
    if (is_found(*row) && row->config == version.config) return *row;
  return version;
}

Result<std::int64_t> ended_trials(Store& store, std::int64_t study_id) {
  UnreadRows unread;
  const auto trials = store.trials(study_id, TrialDetail::summary, &unread);
  if (!trials && trials.error().code == ErrorCode::not_found) return 0;
  HOCKET_TRY(trials);
  return std::ranges::count_if(
      *trials, [](const TrialRow& trial) { return trial.state != TrialState::running; });
}

Result<ConfigEvidence> evidence_of(Store& store, const PromotionRow& version) {
  ConfigEvidence evidence;
  evidence.at_ns = version.promoted_at_ns;
  if (version.origin == PromotionOrigin::study) evidence.kind = EvidenceKind::study;
  if (version.origin == PromotionOrigin::live) evidence.kind = EvidenceKind::live;
  if (const auto& measured = version.measured)
    evidence.measured = {measured->value, measured->default_value, measured->gain};
  if (!version.study_id) return evidence;
  const auto trials = ended_trials(store, *version.study_id);
  HOCKET_TRY(trials);
  evidence.trials = *trials;
  if (version.origin != PromotionOrigin::study || !version.measured) return evidence;
  const auto study = store.study(std::to_string(*version.study_id));
  if (!study || study->result.is_null()) return evidence;
  const auto result = study_result_from_json(study->result);
  // The study's gain is that of the version, unless somebody has promoted a point of its front.
  if (result && result->gain == version.measured->gain) evidence.interval = result->interval;
  return evidence;
}

/// Returns an imported version as the entry that it was, which its digest confirms.
Result<SharedConfig> entry_of(const PromotionRow& version, const SharedConfig& described) {
  const auto member = [](const nlohmann::json& object, const char* name) {
    return object.contains(name) ? object.at(name) : nlohmann::json();
  };
  nlohmann::json document = to_json(described);
  document["site"] = member(version.provenance, "site");
  document["evidence"] = member(version.provenance, "evidence");
  document["sha256"] = member(version.provenance, "digest");
  return shared_config_from_json(document, "version " + std::to_string(version.id));
}

bool is_chosen(const PromotedVersions& each, const ExportChoice& choice) {
  const std::string key =
      to_string(ConfigKey{each.topology_fingerprint, each.workload.fingerprint});
  return (choice.workload.empty() || each.workload.name == choice.workload ||
          program_of(each.workload) == choice.workload ||
          each.workload.fingerprint.starts_with(choice.workload)) &&
         each.topology_fingerprint.starts_with(choice.topology) &&
         (choice.keys.empty() || std::ranges::count(choice.keys, key) > 0);
}

NewImport new_import(const SharedConfig& config) {
  NewImport import{
      .topology = config.topology,
      .workload = config.workload,
      .config = config.config,
      .declared = to_json(Declaration{.parameters = config.declared}),
      .measured = std::nullopt,
      .at_ns = config.evidence.at_ns,
      .digest = digest_of(config),
      .provenance = {{"site", config.site}, {"evidence", to_json(config).at("evidence")}},
      .note = provenance_text(config)};
  if (const auto& measured = config.evidence.measured)
    import.measured = {measured->value, measured->default_value, measured->gain};
  return import;
}

}  // namespace

Result<SharedConfig> shared_config_of(Store& store, const PromotedVersions& promoted,
                                      const std::string& site) {
  SharedConfig config;
  config.site = site;
  config.topology = promoted.topology;
  auto workload = workload_from_json(promoted.workload.document);
  HOCKET_TRY(workload);
  config.workload = std::move(*workload);
  if (key_of(config) != ConfigKey{promoted.topology_fingerprint, promoted.workload.fingerprint})
    return invalid("its key is of an earlier version of hocket");
  const auto version = measured_version(store, promoted.promotion);
  HOCKET_TRY(version);
  config.config = version->config;
  const auto declared = read_json<Declaration>(version->declared, read_declaration);
  HOCKET_TRY(declared);
  config.declared = declared->parameters;
  if (version->origin == PromotionOrigin::imported) {
    auto entry = entry_of(*version, config);
    HOCKET_TRY(entry);
    config = std::move(*entry);
  } else {
    const auto evidence = evidence_of(store, *version);
    HOCKET_TRY(evidence);
    config.evidence = *evidence;
  }
  HOCKET_TRY(check_may_be_shared(config));
  // An entry that cannot be read again is of use to nobody.
  return shared_config_from_json(to_json(config), "its entry");
}

Result<ExportedConfigs> export_configs(Store& store, const ExportChoice& choice,
                                       const std::string& site) {
  const auto promoted = current_promotions(store);
  HOCKET_TRY(promoted);
  ExportedConfigs exported;
  for (const PromotedVersions& each : *promoted) {
    if (!is_chosen(each, choice)) continue;
    auto config = shared_config_of(store, each, site);
    if (config) {
      exported.configs.push_back(std::move(*config));
      continue;
    }
    // A store that cannot be read must not look like one with less in it.
    if (config.error().code != ErrorCode::invalid_argument) return failure(config.error());
    exported.notes.push_back(printable(each.workload.name, kShareNameBytes) + " on " +
                             printable(place_text(each.topology), kShareNameBytes) +
                             " is left out: " + config.error().message);
  }
  return exported;
}

Result<std::vector<ImportOutcome>> import_configs(Store& store,
                                                  const std::vector<SharedConfig>& configs,
                                                  std::string_view actor, bool is_dry_run) {
  std::vector<NewImport> imports;
  for (const SharedConfig& config : configs) {
    if (const auto ok = check_may_be_shared(config); !ok) {
      return failure(ok.error().in(printable(config.workload.name, kShareNameBytes) + " (" +
                                   to_string(key_of(config)) + ")"));
    }
    imports.push_back(new_import(config));
  }
  return store.import_configs(imports, actor, is_dry_run);
}

nlohmann::json import_json(const std::vector<SharedConfig>& configs,
                           const std::vector<ImportOutcome>& outcomes) {
  nlohmann::json list = nlohmann::json::array();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const SharedConfig& config = configs.at(i);
    const ImportOutcome& outcome = outcomes[i];
    list.push_back({{"key", to_string(key_of(config))},
                    {"workload", config.workload.name},
                    {"topology", place_text(config.topology)},
                    {"action", to_string(outcome.action)},
                    {"why", outcome.why},
                    {"version", outcome.version},
                    {"from", provenance_text(config)}});
  }
  return {{"configs", std::move(list)}};
}

}  // namespace hocket
