#include "store/rules/row_rules.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/json.h"

namespace hocket::rules {
namespace {

constexpr std::size_t kMaxNameLength = 100;
constexpr std::size_t kMaxStemLength = 60;
/// PostgreSQL's indexes hold short texts alone.
constexpr std::size_t kMostWorkerNameBytes = 255;

// std::isalnum is not used because it depends on the locale.
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_name_character(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' ||
         c == '-';
}

bool is_valid_name(std::string_view name) {
  const auto is_dot = [](char c) { return c == '.'; };
  return !name.empty() && name.size() <= kMaxNameLength && name.front() != '-' &&
         std::ranges::all_of(name, is_name_character) && !std::ranges::all_of(name, is_digit) &&
         !std::ranges::all_of(name, is_dot);
}

bool is_utf8(std::string_view text) {
  try {
    (void)nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    return false;
  }
  return true;
}

bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

}  // namespace

std::string in_quotes(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool is_text(std::string_view text) {
  return !has_nul(text) && is_utf8(text);
}

Result<void> check_text(std::string_view text, const std::string& what) {
  if (is_text(text)) return {};
  return failure(ErrorCode::invalid_argument,
                 what + " cannot be stored: it " +
                     (has_nul(text) ? "holds a byte of zero" : "is not valid UTF-8"));
}

Result<void> check_finite(double value, const std::string& what) {
  if (std::isfinite(value)) return {};
  return failure(ErrorCode::invalid_argument, what + " must be a finite number");
}

Result<std::string> object_text(const nlohmann::json& value, std::string_view what) {
  const auto refuse = [&](const std::string& why) {
    return failure(ErrorCode::invalid_argument, std::string(what) + " cannot be stored: " + why);
  };
  if (!value.is_object()) return refuse("it must be a JSON object");
  std::string text;
  try {
    text = value.dump();
  } catch (const nlohmann::json::exception&) {
    return refuse("it holds text that is not valid UTF-8");
  }
  const auto again = parse_object(text, what);
  HOCKET_TRY(again);
  if (*again != value) return refuse("it holds a number that is not finite, or binary data");
  return text;
}

Result<std::string> command_text(const std::vector<std::string>& command) {
  try {
    return nlohmann::json(command).dump();
  } catch (const nlohmann::json::exception&) {
    return failure(ErrorCode::invalid_argument,
                   "the command cannot be stored: an argument is not valid UTF-8");
  }
}

bool may_be_named(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameLength &&
         std::ranges::all_of(name, is_name_character);
}

Result<void> check_name(std::string_view kind, std::string_view name) {
  if (is_valid_name(name)) return {};
  return failure(ErrorCode::invalid_argument,
                 std::string(kind) + " name " + in_quotes(name) +
                     ": expected 1 to 100 letters, digits, \".\", \"_\" or \"-\", not starting "
                     "with \"-\", and not only digits or only dots");
}

Result<void> check(const NewStudy& study) {
  if (!study.name.empty()) {
    if (auto ok = check_name("study", study.name); !ok) return ok;
  }
  HOCKET_TRY(check_text(study.owner, "the study's owner"));
  HOCKET_TRY(command_text(study.command));
  HOCKET_TRY(object_text(study.definition, "the study's definition"));
  return {};
}

Result<void> check(const StudyUpdate& update) {
  HOCKET_TRY(check_text(update.owner.value_or(""), "the study's owner"));
  for (const auto& [document, what] : {std::pair(&update.definition, "the study's definition"),
                                       std::pair(&update.result, "the study's result")}) {
    if (!*document) continue;
    HOCKET_TRY(object_text(**document, what));
  }
  return {};
}

Result<void> check(const NewTrial& trial) {
  HOCKET_TRY(object_text(trial.params, "the trial's parameters"));
  return check_text(trial.worker, "the worker's name");
}

Result<void> check(const NewClaim& claim) {
  HOCKET_TRY(check_worker(claim.worker));
  return check_text(claim.host, "the worker's host");
}

Result<void> check_worker(std::string_view worker) {
  if (worker.empty() || worker.size() > kMostWorkerNameBytes) {
    return failure(ErrorCode::invalid_argument,
                   "a worker's name has 1 to " + std::to_string(kMostWorkerNameBytes) +
                       " bytes, this one has " + std::to_string(worker.size()));
  }
  return check_text(worker, "the worker's name");
}

Result<void> check(const NewPromotion& promotion) {
  HOCKET_TRY(object_text(promotion.config, "the promoted configuration"));
  if (promotion.origin == PromotionOrigin::study && !promotion.study_id) {
    return failure(ErrorCode::invalid_argument,
                   "a promotion whose origin is a study must name the study");
  }
  if (promotion.stage != PromotionStage::staged && promotion.stage != PromotionStage::released) {
    return failure(ErrorCode::invalid_argument,
                   "a promotion starts as staged or released, not as " +
                       std::string(to_string(promotion.stage)));
  }
  if (!promotion.kept_by.empty() && promotion.stage != PromotionStage::staged) {
    return failure(ErrorCode::invalid_argument,
                   "a version that only some owners have kept starts as staged");
  }
  const MeasuredGain measured = promotion.measured.value_or(MeasuredGain());
  return check_finite(measured.value, "the promotion's value")
      .and_then([&] { return check_finite(measured.default_value, "the default's value"); })
      .and_then([&] { return check_finite(measured.gain, "the promotion's gain"); })
      .and_then([&] { return check_actor(promotion.actor, promotion.note); });
}

nlohmann::json declared_in(const nlohmann::json& definition) {
  const auto space = definition.find("space");
  const bool is_there = space != definition.end() && space->is_object();
  return is_there ? *space : nlohmann::json::object();
}

Result<void> check(const NewQuarantine& quarantine) {
  HOCKET_TRY(object_text(quarantine.config, "the quarantined configuration"));
  return check_actor(quarantine.actor, quarantine.reason);
}

Result<void> check(const NewAudit& audit) {
  HOCKET_TRY(object_text(audit.detail, "the audit's detail"));
  return check_actor(audit.actor, audit.action).and_then([&] {
    return check_text(audit.subject, "the audit's subject");
  });
}

Result<void> check_actor(std::string_view actor, std::string_view note) {
  return check_text(actor, "the name of who does it").and_then([&] {
    return check_text(note, "what is said about it");
  });
}

Result<TrialOutcome> checked(TrialOutcome outcome) {
  if (outcome.state == TrialState::running) {
    return failure(ErrorCode::invalid_argument,
                   "a trial ends as complete, failed or timeout, not as running");
  }
  if (outcome.state == TrialState::complete && !outcome.value) {
    return failure(ErrorCode::invalid_argument, "a complete trial needs a value");
  }
  for (const auto& [name, number] :
       {std::pair("the trial's value", outcome.value), std::pair("the spread", outcome.spread)}) {
    HOCKET_TRY(check_finite(number.value_or(0), name));
  }
  for (const auto& [metric, values] : measurements_of(outcome)) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      HOCKET_TRY(
          check_finite(values[i], "measurement " + std::to_string(i) + " of " + in_quotes(metric)));
    }
  }
  std::erase_if(outcome.metrics, [](const auto& entry) { return entry.second.empty(); });
  return outcome;
}

Result<void> check_owner(const StudyRow& study, const StudyUpdate& update) {
  if (!update.expected_owner || *update.expected_owner == study.owner) return {};
  return failure(ErrorCode::unavailable,
                 "study " + study.name + " was taken over by " + in_quotes(study.owner));
}

void apply(StudyRow& study, const StudyUpdate& update) {
  if (update.state) study.state = *update.state;
  if (update.owner) study.owner = *update.owner;
  if (update.definition) study.definition = *update.definition;
  if (update.result) study.result = *update.result;
  if (update.topology_id) study.topology_id = update.topology_id;
  if (update.workload_id) study.workload_id = update.workload_id;
}

Result<bool> must_end(const TrialRow& stored, const TrialOutcome& outcome) {
  if (stored.state == TrialState::running) return true;
  if (stored.state == outcome.state && stored.value == outcome.value &&
      stored.spread == outcome.spread && stored.message == outcome.message &&
      stored.measurements == measurements_of(outcome)) {
    return false;
  }
  return failure(ErrorCode::invalid_argument, "trial " + std::to_string(stored.number) +
                                                  " has already ended as " +
                                                  std::string(to_string(stored.state)) +
                                                  ", with another result; it is left as it is");
}

PromotionRow promoted(const NewPromotion& promotion, const KeyState& state,
                      std::int64_t promoted_at_ns) {
  const bool found_by_tuning =
      promotion.origin == PromotionOrigin::study || promotion.origin == PromotionOrigin::live;
  return {.topology_id = promotion.topology_id,
          .workload_id = promotion.workload_id,
          .study_id = promotion.study_id,
          .config = promotion.config,
          .measured = promotion.measured,
          .promoted_at_ns = promoted_at_ns,
          .origin = promotion.origin,
          .stage = state.pinned && found_by_tuning ? PromotionStage::held : promotion.stage,
          .actor = promotion.actor,
          .note = promotion.note,
          .kept_by = promotion.kept_by};
}

Result<bool> must_move(const PromotionRow& stored, PromotionStage stage) {
  using enum PromotionStage;
  if (stored.stage == stage) return false;
  if (stored.stage == staged) return true;
  if (stored.stage == released && stage == withdrawn) return true;
  return failure(
      ErrorCode::invalid_argument,
      "version " + std::to_string(stored.id) + " is " + std::string(to_string(stored.stage)) +
          " and cannot become " + std::string(to_string(stage)) +
          "; a staged version can be released, withdrawn or held, a released one withdrawn; "
          "push its configuration to make it a new version");
}

std::int64_t lease_end_ns(std::int64_t now_ns, std::int64_t lease_ns) {
  std::int64_t end_ns = 0;
  if (!__builtin_add_overflow(now_ns, lease_ns, &end_ns)) return end_ns;
  return lease_ns > 0 ? std::numeric_limits<std::int64_t>::max()
                      : std::numeric_limits<std::int64_t>::min();
}

Result<void> check_holder(const TrialRow& stored, std::string_view worker) {
  if (worker.empty() || (stored.worker == worker && !stored.is_offered)) return {};
  return failure(ErrorCode::not_found, "worker " + in_quotes(worker) +
                                           " has lost its lease on trial " +
                                           std::to_string(stored.number) +
                                           ", and the trial was given back; this result does not "
                                           "count");
}

Result<void> check_renewable(const TrialRow& stored) {
  if (stored.is_offered) {
    return failure(ErrorCode::invalid_argument, "trial " + std::to_string(stored.number) +
                                                    " waits for a worker and has no lease");
  }
  if (stored.state == TrialState::running) return {};
  return failure(ErrorCode::invalid_argument,
                 "trial " + std::to_string(stored.number) + " has already ended as " +
                     std::string(to_string(stored.state)) + "; its lease cannot be renewed");
}

std::string name_stem(const std::vector<std::string>& command, std::string_view workload_name,
                      std::string_view kind) {
  std::string_view source = workload_name;
  if (source.empty() && !command.empty()) {
    source = command.front();
    source.remove_prefix(source.rfind('/') + 1);  // npos + 1 is 0
  }
  std::string stem(source.substr(0, kMaxStemLength));
  std::ranges::replace_if(
      stem, [](char c) { return !is_name_character(c); }, '-');
  stem.erase(0, stem.find_first_not_of('-'));
  return stem.empty() ? std::string(kind) : stem;
}

std::optional<std::int64_t> parse_id(std::string_view name_or_id) {
  std::int64_t id = 0;
  const char* end = name_or_id.data() + name_or_id.size();
  const auto [stop, error] = std::from_chars(name_or_id.data(), end, id);
  if (name_or_id.empty() || error != std::errc() || stop != end || id < 0) return std::nullopt;
  return id;
}

bool matches(const WorkloadRow& workload, std::string_view selector) {
  return workload.name == selector || workload.fingerprint.starts_with(selector);
}

Error no_such(std::string_view kind, std::int64_t id) {
  return {ErrorCode::not_found,
          "the store has no " + std::string(kind) + " with id " + std::to_string(id)};
}

Error no_such_study(std::string_view name_or_id) {
  return {ErrorCode::not_found,
          "the store has no study " + in_quotes(name_or_id) + "; `hocket studies` lists them"};
}

Error name_taken(std::string_view name, std::string_view kind) {
  return {ErrorCode::invalid_argument, "a " + std::string(kind) + " named " + in_quotes(name) +
                                           " exists already; choose another name, or none to "
                                           "have one generated"};
}

}  // namespace hocket::rules
