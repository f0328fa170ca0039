// Any text is refused with an error, or gives configurations that are written and read back. So
// that inputs get behind the digests, a document's are made right first.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "core/base/check.h"
#include "core/base/json.h"
#include "core/sharing/sha256.h"
#include "core/sharing/shared_configs.h"

namespace {

std::string digest(const nlohmann::json& document) {
  return hocket::sha256_hex(
      document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void make_digests(nlohmann::json& document) {
  const auto entries = document.find("configs");
  if (entries != document.end() && entries->is_array()) {
    for (nlohmann::json& entry : *entries) {
      if (!entry.is_object()) continue;
      entry.erase("sha256");
      entry["sha256"] = digest(entry);
    }
  }
  nlohmann::json rest = document;
  rest.erase("sha256");
  rest.erase("signature");
  document["sha256"] = digest(rest);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)hocket::read_shared_configs(text);
  auto document = hocket::parse_object(text, "input");
  if (!document) return 0;
  make_digests(*document);
  const auto read = hocket::shared_configs_from_json(*document);
  if (!read) return 0;
  const auto again = hocket::shared_configs_text(read->configs, "");
  HOCKET_CHECK(again && hocket::read_shared_configs(*again).value().configs == read->configs,
               "they are not read back as they were written");
  for (const auto& config : read->configs) {
    const auto found = hocket::find_shared_config(*again, hocket::key_of(config));
    HOCKET_CHECK(found && *found == config, "an entry is not found by its key");
  }
  return 0;
}
