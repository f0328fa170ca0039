#include "core/base/fingerprint.h"

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/string_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <nlohmann/json.hpp>

namespace hocket {

std::string fingerprint_of(const nlohmann::json& document) {
  return fingerprint_of_bytes(
      document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string fingerprint_of_bytes(std::string_view bytes) {
  static const boost::uuids::uuid space =
      boost::uuids::string_generator()("6f2d8a1e-3c0b-5e57-9f0a-9b1d4c7e2a60");
  return to_string(boost::uuids::name_generator_sha1(space)(bytes.data(), bytes.size()));
}

}  // namespace hocket
