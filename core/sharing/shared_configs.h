#pragma once

// Promoted configurations as a file that a site hands to its users (docs/formats/configs.md). Each
// entry has the whole description of the key for which it was measured, so it applies to jobs with
// exactly this topology and workload, and the evidence for it. Digests show damage, a signature
// shows who has made the file. Whoever reads a file trusts none of it: a configuration has only
// declared fields with values of their ranges (core/step/declaration.h). Pure functions;
// thread-safe.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "core/protocol/promotion_rule.h"
#include "core/protocol/topology.h"
#include "core/protocol/workload.h"
#include "core/sharing/signature.h"
#include "core/step/declaration.h"

namespace hocket {

/// The way in which a configuration was found.
enum class EvidenceKind {
  study,  ///< a study of trials
  live,   ///< live tuning of a job while it trained
  none,   ///< an operator, who did not measure it
};

std::string_view to_string(EvidenceKind kind);

/// The gain of a configuration, as it was measured where it was found.
struct SharedGain {
  double value = 0, default_value = 0;  ///< in the study's unit
  double gain = 0;                      ///< share of the default's value (PromotionVerdict::gain)

  bool operator==(const SharedGain&) const = default;
};

struct ConfigEvidence {
  EvidenceKind kind = EvidenceKind::none;
  std::int64_t at_ns = 0;                     ///< Unix time of its promotion there
  std::optional<SharedGain> measured = {};    ///< absent: nothing was measured
  std::optional<GainInterval> interval = {};  ///< of the gain, at kGainConfidence
  std::int64_t trials = 0;                    ///< of its study or search; 0: not known

  bool operator==(const ConfigEvidence&) const = default;
};

/// One configuration with the key to which it belongs.
struct SharedConfig {
  std::string site = {};  ///< name of the place where it was found; may be empty
  Topology topology = {};
  Workload workload = {};
  nlohmann::json config = nlohmann::json::object();  ///< as in the store; not empty
  std::vector<DeclaredParameter> declared = {};      ///< the parameters of its study
  ConfigEvidence evidence = {};

  bool operator==(const SharedConfig&) const = default;
};

inline constexpr std::size_t kMaxSiteBytes = 100;
inline constexpr std::size_t kMostSharedConfigs = 10'000;
inline constexpr std::int64_t kMaxSharedConfigsBytes = 32 << 20;

ConfigKey key_of(const SharedConfig& config);

/// Returns the SHA-256 of the entry's canonical bytes: its JSON without the digest, with sorted
/// names and no white space.
std::string digest_of(const SharedConfig& config);

/// Returns where a configuration comes from, for people: "site cluster-a, measured 2026-11-21 by a
/// study, sha256 0123456789ab".
std::string provenance_text(const SharedConfig& config);

/// Returns the entry with its key and its digest.
nlohmann::json to_json(const SharedConfig& config);

/// Reads one entry and refuses it unless it is whole, intact and valid. `name` says which it is.
Result<SharedConfig> shared_config_from_json(const nlohmann::json& document,
                                             const std::string& name);

struct SharedConfigs {
  std::vector<SharedConfig> configs = {};  ///< by the text of their keys, which are different
  std::string sha256 = {};                 ///< of all of them
  std::optional<Signature> signature = {};
};

/// Returns the file of `configs`, in any order, signed with `private_key` (PEM) unless that is
/// empty. Equal configurations give equal bytes. invalid_argument for a key that cannot sign, and
/// where two configurations have one key.
Result<std::string> shared_configs_text(std::vector<SharedConfig> configs,
                                        std::string_view private_key);

/// Reads a file of at most kMaxSharedConfigsBytes. invalid_argument says what is wrong, and in
/// which entry, before anything of it can be used.
Result<SharedConfigs> read_shared_configs(std::string_view text);
Result<SharedConfigs> shared_configs_from_json(const nlohmann::json& document);

/// Returns unless the signature is one of these configurations by the key that belongs to
/// `public_key` (PEM); invalid_argument also where there is no signature.
Result<void> check_signature(const SharedConfigs& configs, std::string_view public_key);

/// Returns the entry of `key` in such a file, read as strictly; nothing if it has none. Nothing
/// else of the file is parsed or checked, so that a large one costs a job that starts little.
Result<std::optional<SharedConfig>> find_shared_config(std::string_view text, const ConfigKey& key);

}  // namespace hocket
