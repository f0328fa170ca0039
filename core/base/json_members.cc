#include "core/base/json_members.h"

#include <nlohmann/json.hpp>

namespace hocket {

std::string text_member(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t integer_member(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

double number_member(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

bool flag_member(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::vector<nlohmann::json> list_member(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array()) return {};
  std::vector<nlohmann::json> items;
  for (const auto& item : *found) {
    if (item.is_object()) items.push_back(item);
  }
  return items;
}

}  // namespace hocket
