#include "core/step/step_reader.h"

#include <algorithm>

#include "core/base/nearest_name.h"

namespace hocket::step {

Result<void> Reader::done() const {
  if (error_) return failure(*error_);
  for (const auto& [name, value] : object_.items()) {
    if (std::find(known_.begin(), known_.end(), name) == known_.end()) return unknown(name);
  }
  return {};
}

Result<void> Reader::unknown(const std::string& name) const {
  const std::string quoted = nlohmann::json(name.substr(0, 60))
                                 .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return failure(ErrorCode::invalid_argument,
                 "field \"" + path_of(quoted.substr(1, quoted.size() - 2)) +
                     "\" is not known here" + did_you_mean(name, known_));
}

}  // namespace hocket::step
