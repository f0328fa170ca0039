#include "store/sql/read_rows.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "core/base/json.h"
#include "store/rules/row_rules.h"

namespace hocket::sql {
namespace {

tl::unexpected<Error> damaged(const std::string& what) {
  return failure(ErrorCode::unavailable, what);
}

/// Returns the error for an unknown word. Does not repeat the text, which may hold any bytes.
tl::unexpected<Error> unknown_word(const Rows& row, const char* column) {
  return damaged("row " + std::to_string(row.integer(0)) + " has an unknown " + column);
}

Result<StudyState> read_study_state(const Rows& row, int column) {
  const std::string text = row.text(column);
  for (const auto state : {StudyState::running, StudyState::finished, StudyState::interrupted}) {
    if (text == to_string(state)) return state;
  }
  return unknown_word(row, "state");
}

Result<StudyOrigin> read_study_origin(const Rows& row, int column) {
  const std::string text = row.text(column);
  for (const auto origin : {StudyOrigin::tune, StudyOrigin::http, StudyOrigin::live}) {
    if (text == to_string(origin)) return origin;
  }
  return unknown_word(row, "origin");
}

Result<nlohmann::json> read_document(const Rows& row, int column) {
  return parse_object(row.text(column), "row " + std::to_string(row.integer(0)));
}

/// `what` is what the column has, such as "the command".
Result<std::vector<std::string>> read_texts(const Rows& row, int column, const std::string& what) {
  const auto list = nlohmann::json::parse(row.text(column), nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> texts;
  if (!list.is_array()) return damaged(what + " is not a JSON array");
  for (const auto& text : list) {
    if (!text.is_string()) return damaged(what + " is not an array of strings");
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

/// Names are shown, and are those of folders, so only what is one is read.
Result<void> check_name(const Rows& row, int column) {
  if (rules::may_be_named(row.text(column))) return {};
  return damaged("row " + std::to_string(row.integer(0)) + " has a name that cannot be one");
}

/// Reads a topology or a workload, whose tables have the same columns.
template <class Row>
Result<Row> read_description(const Rows& row) {
  auto document = read_document(row, 3);
  HOCKET_TRY(document);
  return Row{row.integer(0), row.text(1), row.text(2), std::move(*document)};
}

}  // namespace

Result<TopologyRow> read_topology(const Rows& row) {
  return read_description<TopologyRow>(row);
}

Result<WorkloadRow> read_workload(const Rows& row) {
  return read_description<WorkloadRow>(row);
}

Result<StudyRow> read_study(const Rows& row) {
  HOCKET_TRY(check_name(row, 1));
  auto command = read_texts(row, 2, "the command");
  HOCKET_TRY(command);
  auto definition = read_document(row, 3);
  HOCKET_TRY(definition);
  const auto state = read_study_state(row, 4);
  HOCKET_TRY(state);
  const auto origin = read_study_origin(row, 11);
  HOCKET_TRY(origin);
  StudyRow study{.id = row.integer(0),
                 .name = row.text(1),
                 .command = std::move(*command),
                 .definition = std::move(*definition),
                 .state = *state,
                 .owner = row.text(5),
                 .topology_id = row.optional_integer(6),
                 .workload_id = row.optional_integer(7),
                 .created_at_ns = row.integer(8),
                 .updated_at_ns = row.integer(9),
                 .result = nullptr,
                 .origin = *origin};
  // A daemon of an older version, which has the file open, writes no origin.
  if (study.owner == kWorkersOwner) study.origin = StudyOrigin::http;
  if (study.owner == kDaemonOwner) study.origin = StudyOrigin::live;
  if (row.is_null(10)) return study;
  auto result = read_document(row, 10);
  HOCKET_TRY(result);
  study.result = std::move(*result);
  return study;
}

Result<TrialOutput> read_trial_output(const Rows& row) {
  return TrialOutput{row.text(1), row.text(2)};
}

Result<TrialRow> read_trial(const Rows& row) {
  const auto phase = parse_trial_phase(row.text(3));
  if (!phase) return unknown_word(row, "phase");
  const auto state = parse_trial_state(row.text(4));
  if (!state) return unknown_word(row, "state");
  auto params = read_document(row, 5);
  HOCKET_TRY(params);
  TrialRow trial{.id = row.integer(0),
                 .study_id = row.integer(1),
                 .number = row.integer(2),
                 .phase = *phase,
                 .state = *state,
                 .params = std::move(*params),
                 .value = row.optional_real(6),
                 .spread = row.optional_real(7),
                 .message = row.text(8),
                 .started_at_ns = row.integer(9),
                 .finished_at_ns = row.optional_integer(10),
                 .measurements = {},
                 .worker = row.text(11),
                 .lease_until_ns = row.optional_integer(12),
                 // A program of an older version, which has the store open, ends only the state.
                 .is_offered = *state == TrialState::running && row.integer(13) != 0,
                 .losses = row.integer(14)};
  if ((trial.state == TrialState::complete && !trial.value) ||
      !std::isfinite(trial.value.value_or(0)) || !std::isfinite(trial.spread.value_or(0))) {
    return damaged("trial row " + std::to_string(trial.id) + " has no finite value");
  }
  return trial;
}

Result<WorkerRow> read_worker(const Rows& row) {
  return WorkerRow{.name = row.text(1),
                   .host = row.text(2),
                   .joined_at_ns = row.integer(3),
                   .lease_until_ns = row.integer(4)};
}

Result<PromotionRow> read_promotion(const Rows& row) {
  auto config = read_document(row, 4);
  HOCKET_TRY(config);
  const auto origin = parse_promotion_origin(row.text(9));
  if (!origin) return unknown_word(row, "origin");
  auto declared = read_document(row, 14);
  HOCKET_TRY(declared);
  const auto stage = parse_promotion_stage(row.text(10));
  if (!stage) return unknown_word(row, "stage");
  auto kept_by = read_texts(row, 15, "the list of owners");
  HOCKET_TRY(kept_by);
  auto provenance = read_document(row, 16);
  HOCKET_TRY(provenance);
  PromotionRow promotion{.id = row.integer(0),
                         .topology_id = row.integer(1),
                         .workload_id = row.integer(2),
                         .study_id = row.optional_integer(3),
                         .config = std::move(*config),
                         .measured = std::nullopt,
                         .promoted_at_ns = row.integer(8),
                         .origin = provenance->empty() ? *origin : PromotionOrigin::imported,
                         .stage = *stage,
                         .actor = row.text(11),
                         .note = row.text(12),
                         .removed_study = row.text(13),
                         .declared = std::move(*declared),
                         .kept_by = std::move(*kept_by),
                         .provenance = std::move(*provenance)};
  if (row.is_null(5) && row.is_null(6) && row.is_null(7)) return promotion;
  const MeasuredGain measured{row.real(5), row.real(6), row.real(7)};
  if (row.is_null(5) || row.is_null(6) || row.is_null(7) || !std::isfinite(measured.value) ||
      !std::isfinite(measured.default_value) || !std::isfinite(measured.gain)) {
    return damaged("promotion row " + std::to_string(promotion.id) + " has no finite values");
  }
  promotion.measured = measured;
  return promotion;
}

Result<QuarantineRow> read_quarantine(const Rows& row) {
  auto config = read_document(row, 3);
  HOCKET_TRY(config);
  return QuarantineRow{.id = row.integer(0),
                       .topology_id = row.integer(1),
                       .workload_id = row.integer(2),
                       .config = std::move(*config),
                       .reason = row.text(4),
                       .actor = row.text(5),
                       .quarantined_at_ns = row.integer(6)};
}

Result<AuditRow> read_audit(const Rows& row) {
  auto detail = read_document(row, 5);
  HOCKET_TRY(detail);
  return AuditRow{.id = row.integer(0),
                  .at_ns = row.integer(1),
                  .actor = row.text(2),
                  .action = row.text(3),
                  .subject = row.text(4),
                  .detail = std::move(*detail)};
}

Result<ProfileRow> read_profile(const Rows& row) {
  HOCKET_TRY(check_name(row, 1));
  auto config = read_document(row, 5);
  HOCKET_TRY(config);
  auto structure = read_document(row, 6);
  HOCKET_TRY(structure);
  auto detail = read_document(row, 7);
  HOCKET_TRY(detail);
  return ProfileRow{.id = row.integer(0),
                    .name = row.text(1),
                    .source = row.text(2),
                    .topology_id = row.optional_integer(3),
                    .workload_id = row.optional_integer(4),
                    .config = std::move(*config),
                    .structure = std::move(*structure),
                    .detail = std::move(*detail),
                    .ranks = {},
                    .created_at_ns = row.integer(8),
                    .kept = row.integer(9) != 0};
}

Result<ProfileRank> read_profile_rank(const Rows& row) {
  auto clock_fit = read_document(row, 7);
  HOCKET_TRY(clock_fit);
  return ProfileRank{.rank = row.integer(1),
                     .host = row.text(2),
                     .trace_path = row.text(3),
                     .records = row.integer(4),
                     .dropped = row.integer(5),
                     .quarantined = row.integer(6),
                     .clock_fit = std::move(*clock_fit)};
}

Result<ProfileIteration> read_profile_iteration(const Rows& row) {
  return ProfileIteration{.rank = row.integer(1),
                          .step = row.integer(2),
                          .begin_ns = row.integer(3),
                          .wall_ns = row.integer(4),
                          .compute_ns = row.integer(5),
                          .communication_ns = row.integer(6),
                          .exposed_ns = row.integer(7)};
}

Result<ProfileMetric> read_profile_metric(const Rows& row) {
  ProfileMetric metric{row.optional_integer(1), row.text(2), row.real(3)};
  if (!std::isfinite(metric.value)) {
    return damaged("a metric of profile row " + std::to_string(row.integer(0)) +
                   " has no finite value");
  }
  return metric;
}

Result<ProfileRequestRow> read_profile_request(const Rows& row) {
  ProfileRequestRow request{.id = row.integer(0),
                            .job = row.text(1),
                            .iterations = row.integer(2),
                            .actor = row.text(3),
                            .requested_at_ns = row.integer(4),
                            .taken_by = std::nullopt};
  if (!row.is_null(5)) request.taken_by = row.text(5);
  return request;
}

}  // namespace hocket::sql
