#pragma once

// The promoted configurations of a store as a file for other sites (core/sharing/shared_configs.h),
// and such a file as the defaults of a store. A default never displaces what was found here.
// As thread-safe as the store is.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "archive/promotions/stored_promotions.h"
#include "core/base/result.h"
#include "core/sharing/shared_configs.h"
#include "store/store.h"

namespace hocket {

/// The configurations to export. An empty field matches everything.
struct ExportChoice {
  std::string workload = {};           ///< name, program, or the start of the fingerprint
  std::string topology = {};           ///< start of the fingerprint
  std::vector<std::string> keys = {};  ///< texts of whole keys
};

struct ExportedConfigs {
  std::vector<SharedConfig> configs;
  std::vector<std::string> notes;  ///< why others are left out, for people
};

/// Returns the current version with its evidence: that of the newest version with the same
/// configuration that was measured. `site` names this place for what was found here; what was
/// imported stays as it was. invalid_argument for a version that no other site may take.
Result<SharedConfig> shared_config_of(Store& store, const PromotedVersions& promoted,
                                      const std::string& site);

/// Returns the current configurations that `choice` selects. Those that no other site may take, or
/// that cannot be read, are left out with a note.
Result<ExportedConfigs> export_configs(Store& store, const ExportChoice& choice,
                                       const std::string& site);

/// Takes configurations as defaults (Store::import_configs()). invalid_argument, before anything is
/// changed, if one sets what no other site may set (archive/promotions/setting_rules.h).
Result<std::vector<ImportOutcome>> import_configs(Store& store,
                                                  const std::vector<SharedConfig>& configs,
                                                  std::string_view actor, bool is_dry_run);

/// Returns `{"configs":[{"key","workload","topology","action","why","version","from"},…]}`.
nlohmann::json import_json(const std::vector<SharedConfig>& configs,
                           const std::vector<ImportOutcome>& outcomes);

}  // namespace hocket
