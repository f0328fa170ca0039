#include "core/json.h"

#include <array>
#include <cmath>
#include <fstream>

namespace hocket {
namespace {

constexpr int kMaxDepth = 64;

Error wrong_field(const char* field, const std::string& expected, const nlohmann::json& found) {
  return Error{
      ErrorCode::invalid_argument,
      std::string("field \"") + field + "\": expected " + expected + ", found " +
          found.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).substr(0, 60)};
}

Result<const nlohmann::json*> find_field(const nlohmann::json& object, const char* field) {
  const auto it = object.is_object() ? object.find(field) : object.end();
  if (it == object.end()) {
    return failure(ErrorCode::invalid_argument, std::string("field \"") + field + "\" is missing");
  }
  return &*it;
}

std::string number_text(double value) {
  return nlohmann::json(value).dump();
}

}  // namespace

Result<nlohmann::json> parse_object(std::string_view text, std::string_view what) {
  bool too_deep = false;
  const auto limit_depth = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    too_deep = too_deep || depth > kMaxDepth;
    return !too_deep;
  };
  nlohmann::json document;
  try {
    document = nlohmann::json::parse(text.begin(), text.end(), limit_depth);
  } catch (const nlohmann::json::exception& e) {
    return failure(ErrorCode::invalid_argument,
                   std::string(what) + " is not valid JSON: " + e.what());
  }
  if (too_deep) {
    return failure(ErrorCode::invalid_argument, std::string(what) + " is nested more than " +
                                                    std::to_string(kMaxDepth) + " levels deep");
  }
  if (!document.is_object()) {
    return failure(ErrorCode::invalid_argument,
                   std::string(what) + " must be a JSON object, found " + document.type_name());
  }
  return document;
}

Result<std::string> read_file(const std::string& path, std::int64_t limit_bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return failure(ErrorCode::unavailable, "cannot read " + path);
  std::string text;
  std::array<char, 1 << 16> block;
  while (static_cast<std::int64_t>(text.size()) <= limit_bytes &&
         (file.read(block.data(), block.size()) || file.gcount() > 0)) {
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) return failure(ErrorCode::unavailable, "cannot read " + path);
  if (static_cast<std::int64_t>(text.size()) > limit_bytes) {
    return failure(ErrorCode::unavailable,
                   path + " is larger than " + std::to_string(limit_bytes) + " bytes");
  }
  return text;
}

Result<std::int64_t> read_integer(const nlohmann::json& object, const char* field, std::int64_t low,
                                  std::int64_t high) {
  const auto found = find_field(object, field);
  if (!found) return failure(found.error());
  const nlohmann::json& value = **found;
  const std::string expected =
      "an integer from " + std::to_string(low) + " to " + std::to_string(high);
  if (!value.is_number_integer()) return failure(wrong_field(field, expected, value));
  // Unsigned values above the signed range would wrap in get<int64_t>().
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
    return failure(wrong_field(field, expected, value));
  }
  const auto number = value.get<std::int64_t>();
  if (number < low || number > high) return failure(wrong_field(field, expected, value));
  return number;
}

Result<double> read_number(const nlohmann::json& object, const char* field, double low,
                           double high) {
  const auto found = find_field(object, field);
  if (!found) return failure(found.error());
  const nlohmann::json& value = **found;
  const bool bounded = low > std::numeric_limits<double>::lowest();
  const std::string expected =
      bounded ? "a number from " + number_text(low) + " to " + number_text(high) : "a number";
  if (!value.is_number()) return failure(wrong_field(field, expected, value));
  const auto number = value.get<double>();
  if (!std::isfinite(number) || number < low || number > high) {
    return failure(wrong_field(field, expected, value));
  }
  return number;
}

Result<std::string> read_string(const nlohmann::json& object, const char* field) {
  const auto found = find_field(object, field);
  if (!found) return failure(found.error());
  if (!(*found)->is_string()) return failure(wrong_field(field, "a string", **found));
  return (*found)->get<std::string>();
}

Result<nlohmann::json> read_array(const nlohmann::json& object, const char* field) {
  const auto found = find_field(object, field);
  if (!found) return failure(found.error());
  if (!(*found)->is_array()) return failure(wrong_field(field, "an array", **found));
  return **found;
}

Result<nlohmann::json> read_object(const nlohmann::json& object, const char* field) {
  const auto found = find_field(object, field);
  if (!found) return failure(found.error());
  if (!(*found)->is_object()) return failure(wrong_field(field, "an object", **found));
  return **found;
}

Result<void> check_format(const nlohmann::json& object, std::string_view format, int version) {
  const auto name = read_string(object, "format");
  if (!name) return failure(name.error());
  if (*name != format) {
    return failure(
        ErrorCode::invalid_argument,
        "field \"format\": expected \"" + std::string(format) + "\", found \"" + *name + "\"");
  }
  const auto number = read_integer(object, "version", 1, std::numeric_limits<int>::max());
  if (!number) return failure(number.error());
  if (*number > version) {
    return failure(ErrorCode::invalid_argument,
                   "field \"version\": this program reads versions 1 to " +
                       std::to_string(version) + ", found " + std::to_string(*number) +
                       "; use a newer hocket");
  }
  return {};
}

}  // namespace hocket
