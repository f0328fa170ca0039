#pragma once

// The checks and generated values of rows. Pure functions. Thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "store/store.h"

namespace hocket::rules {

/// Returns a JSON object as text that parses to the same value; invalid_argument names `what`.
Result<std::string> object_text(const nlohmann::json& value, std::string_view what);

/// Returns the command as a JSON array of strings.
Result<std::string> command_text(const std::vector<std::string>& command);

/// Returns whether this is UTF-8 without NUL.
bool is_text(std::string_view text);
/// Refuses text that is not UTF-8, or holds NUL, which PostgreSQL does not store; the message names
/// `what`.
Result<void> check_text(std::string_view text, const std::string& what);
Result<void> check_finite(double value, const std::string& what);
/// Refuses an invalid name for a `kind`: a study, a profile.
Result<void> check_name(std::string_view kind, std::string_view name);

/// Returns whether a row has a name that some version has given a study or a profile.
bool may_be_named(std::string_view name);

Result<void> check(const NewStudy& study);
Result<void> check(const StudyUpdate& update);
Result<void> check(const NewTrial& trial);
Result<void> check(const NewClaim& claim);
/// Refuses a worker's name that cannot claim trials.
Result<void> check_worker(std::string_view worker);
Result<void> check(const NewPromotion& promotion);
/// Returns the search space in a study's definition, which declares its parameters; empty if it has
/// none.
nlohmann::json declared_in(const nlohmann::json& definition);
Result<void> check(const NewQuarantine& quarantine);
Result<void> check(const NewAudit& audit);
/// Checks the texts that name an actor and a reason.
Result<void> check_actor(std::string_view actor, std::string_view note);

/// Returns `outcome` without its empty metrics, or why it cannot be stored.
Result<TrialOutcome> checked(TrialOutcome outcome);

/// Refuses if `update` expects another owner than the study has.
Result<void> check_owner(const StudyRow& study, const StudyUpdate& update);

/// Applies the changes in `update`.
void apply(StudyRow& study, const StudyUpdate& update);

/// Returns whether `outcome` must now end a trial, given as stored with its measurements; false if
/// the trial has already ended with this outcome.
Result<bool> must_end(const TrialRow& stored, const TrialOutcome& outcome);

/// Returns the row for `promotion` while its key is in this state; the caller assigns its id.
PromotionRow promoted(const NewPromotion& promotion, const KeyState& state,
                      std::int64_t promoted_at_ns);

/// Returns whether a version must now move to `stage`; false if it is there already.
Result<bool> must_move(const PromotionRow& stored, PromotionStage stage);

/// Returns the time at which a lease of `lease_ns` ends that begins at `now_ns`.
std::int64_t lease_end_ns(std::int64_t now_ns, std::int64_t lease_ns);

/// Refuses an outcome from `worker` if that one has the trial no more; empty: nobody in particular.
Result<void> check_holder(const TrialRow& stored, std::string_view worker);

/// Refuses a trial that has ended or waits for a worker.
Result<void> check_renewable(const TrialRow& stored);

/// Returns the stem of a generated name, which a number follows. `kind` is the stem without a
/// command and a workload.
std::string name_stem(const std::vector<std::string>& command, std::string_view workload_name,
                      std::string_view kind = "study");

/// Returns the first of STEM-`number`, STEM-`number + 1`, … for which `taken` is false.
template <class Taken>
Result<std::string> generated_name(const std::string& stem, std::int64_t number, Taken&& taken) {
  for (;; ++number) {
    std::string name = stem + "-" + std::to_string(number);
    const Result<bool> is_taken = taken(name);
    HOCKET_TRY(is_taken);
    if (!*is_taken) return name;
  }
}

/// Returns `name_or_id` as an id, if it is one.
std::optional<std::int64_t> parse_id(std::string_view name_or_id);

bool matches(const WorkloadRow& workload, std::string_view selector);

Error no_such(std::string_view kind, std::int64_t id);
Error no_such_study(std::string_view name_or_id);
/// Returns any text in quotation marks, on one line.
std::string in_quotes(std::string_view text);
Error name_taken(std::string_view name, std::string_view kind = "study");

}  // namespace hocket::rules
