#include "store/declared.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/json_reader.h"
#include "core/protocol/workload.h"

namespace hocket {

Result<Declaration> declaration_of(const nlohmann::json& declared, const nlohmann::json& workload) {
  auto declaration = read_json<Declaration>(declared, read_declaration, "what its study declares");
  HOCKET_TRY(declaration);
  if (auto known = workload_from_json(workload)) declaration->knobs = std::move(known->knobs);
  return declaration;
}

}  // namespace hocket
