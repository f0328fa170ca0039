#pragma once

// The messages of workers and a daemon about the trials of a study: the bodies of requests
// and answers under /v1/studies/{study}/workers/ (docs/openapi.json). Pure functions; thread-safe.

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "archive/workers/trial_source.h"
#include "core/base/result.h"

namespace hocket {

class JsonReader;

nlohmann::json to_json(const WorkerClaim& claim);
void read_worker_claim(JsonReader& reader, WorkerClaim& claim);

nlohmann::json to_json(const ClaimAnswer& answer);
Result<ClaimAnswer> claim_answer_from_json(const nlohmann::json& document);

/// Reads what the daemon says of a study. invalid_argument, with the remedy, for a daemon of a
/// version that knows no workers.
Result<StudyRow> study_from_json(const nlohmann::json& document);

/// Returns the id, the worker and the outcome of a trial that has ended, without what its report
/// has measured.
nlohmann::json ended_trial_json(const Trial& trial);
/// Reads them again, of a named worker.
void read_ended_trial(JsonReader& reader, Trial& trial);

/// Most bytes of an ended trial in a request, below a daemon's limit for bodies (1 MiB unless
/// `--body-limit` says otherwise).
inline constexpr std::size_t kMostEndedTrialBytes = 1'000'000;

/// Returns an ended trial that has at most `limit_bytes` as JSON: where there are more, only every
/// 2nd, 4th, … value of each metric is kept, and the message says so. The trial's value and spread
/// are still those of all samples.
Trial thinned_trial(Trial trial, std::size_t limit_bytes = kMostEndedTrialBytes);

/// Returns JSON, valid UTF-8, of a document that may hold any bytes.
std::string message_text(const nlohmann::json& document);

/// Returns text whose characters, from U+0000 to U+00FF, stand for the bytes, so that JSON can hold
/// any; and the bytes again. text_bytes() refuses other characters.
std::string bytes_text(std::string_view bytes);
Result<std::string> text_bytes(std::string_view text);

}  // namespace hocket
