#include "core/base/json_reader.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/nearest_name.h"

namespace hocket {
namespace {

constexpr std::size_t kShownBytes = 60;

std::string text_of(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Returns a field's name as JSON writes it, without the quotes; names come from outside.
std::string shown(std::string_view name) {
  const std::string quoted = text_of(name.substr(0, kShownBytes));
  return quoted.substr(1, quoted.size() - 2);
}

std::string field(std::string_view path) {
  return "field \"" + std::string(path) + "\"";
}

/// Returns the integer if `value` is one; an unsigned value above the signed range would wrap.
std::optional<std::int64_t> integer_in(const nlohmann::json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && !std::in_range<std::int64_t>(value.get<std::uint64_t>()))
    return std::nullopt;
  return value.get<std::int64_t>();
}

std::string integer_range(std::int64_t low, std::int64_t high) {
  return "an integer from " + std::to_string(low) + " to " + std::to_string(high);
}

std::string number_range(double low, double high) {
  if (low == kLowestNumber) return "a number";
  return "a number from " + text_of(low) + " to " + text_of(high);
}

std::string one_of(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words)
    text += (text.empty() ? "one of " : ", ") + std::string(word);
  return text;
}

}  // namespace

Error wrong_field(std::string_view path, std::string_view expected, const nlohmann::json& found) {
  return {ErrorCode::invalid_argument, (path.empty() ? "" : field(path) + ": ") + "expected " +
                                           std::string(expected) + ", found " +
                                           text_of(found).substr(0, kShownBytes)};
}

Error wrong_integer(std::string_view path, std::int64_t low, std::int64_t high,
                    const nlohmann::json& found) {
  return wrong_field(path, integer_range(low, high), found);
}

Error wrong_number(std::string_view path, double low, double high, const nlohmann::json& found) {
  return wrong_field(path, number_range(low, high), found);
}

std::string JsonValue::path() const {
  std::string before = parent_ == nullptr ? "" : parent_->path();
  if (index_ != kNoIndex) return before + "[" + std::to_string(index_) + "]";
  if (!before.empty()) before += ".";
  return before + shown(name_);
}

bool JsonValue::is(std::string_view word) const {
  return json_->is_string() && json_->get_ref<const std::string&>() == word;
}

std::string JsonValue::text(std::size_t most_bytes) const {
  if (!json_->is_string()) {
    refuse("a string");
    return {};
  }
  const auto& text = json_->get_ref<const std::string&>();
  if (text.size() <= most_bytes) return text;
  fail({ErrorCode::invalid_argument, "expected at most " + std::to_string(most_bytes) +
                                         " bytes, found " + std::to_string(text.size())});
  return {};
}

std::int64_t JsonValue::integer(std::int64_t low, std::int64_t high) const {
  const auto number = integer_in(*json_);
  if (number && low <= *number && *number <= high) return *number;
  refuse(integer_range(low, high));
  return low;
}

double JsonValue::number(double low, double high) const {
  const double number = json_->is_number() ? json_->get<double>() : NAN;
  if (std::isfinite(number) && low <= number && number <= high) return number;
  refuse(number_range(low, high));
  return low;
}

bool JsonValue::flag() const {
  if (json_->is_boolean()) return json_->get<bool>();
  refuse("true or false");
  return false;
}

std::size_t JsonValue::word(std::span<const std::string_view> words) const {
  const auto found = std::ranges::find_if(words, [&](std::string_view word) { return is(word); });
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  Error error = wrong_field(path(), one_of(words), *json_);
  if (json_->is_string())
    error.message += did_you_mean(json_->get_ref<const std::string&>(), words);
  keep(std::move(error));
  return 0;
}

void JsonValue::refuse(std::string_view expected) const {
  if (ok()) keep(wrong_field(path(), expected, *json_));
}

void JsonValue::fail(const Error& error) const {
  const std::string at = path();
  keep(at.empty() ? error : error.in(field(at)));
}

void JsonValue::keep(Error error) const {
  if (ok()) *error_ = std::move(error);
}

bool JsonValue::check_object() const {
  if (!json_->is_object()) refuse("an object");
  return ok();
}

std::size_t JsonValue::array_size(std::size_t most) const {
  if (!json_->is_array()) {
    refuse("an array");
  } else if (json_->size() > most) {
    fail({ErrorCode::invalid_argument, "expected at most " + std::to_string(most) +
                                           " elements, found " + std::to_string(json_->size())});
  }
  return ok() ? json_->size() : 0;
}

JsonValue JsonValue::element(std::size_t index) const {
  return {(*json_)[index], *this, {}, index};
}

JsonReader::JsonReader(const nlohmann::json& document, std::string_view context)
    : context_(context), self_(document, error_) {
  self_.check_object();
}

void JsonReader::format(std::string_view name, int version) {
  value("format", [&](const JsonValue& found) {
    if (!found.is(name)) found.refuse("\"" + std::string(name) + "\"");
  });
  value("version", [&](const JsonValue& found) {
    const std::int64_t number = found.integer(1, std::numeric_limits<int>::max());
    if (!self_.ok() || number <= version) return;
    found.fail({ErrorCode::invalid_argument, "this program reads versions 1 to " +
                                                 std::to_string(version) + ", found " +
                                                 std::to_string(number) + "; use a newer hocket"});
  });
}

void JsonReader::time(std::string_view name, std::int64_t& target, std::int64_t high,
                      std::int64_t absent) {
  double ns = 0;
  number(name, ns, 0, static_cast<double>(high), static_cast<double>(absent));
  target = std::llround(ns);
}

void JsonReader::texts(std::string_view name, std::vector<std::string>& target, Presence presence) {
  target.clear();
  array(
      name, [&](const JsonValue& each) { target.push_back(each.text()); }, presence);
}

void JsonReader::members(const ReadMember& read) {
  known_.clear();
  others(read);
}

void JsonReader::others(const ReadMember& read) {
  reads_others_ = true;
  if (!self_.ok()) return;
  for (const auto& [name, value] : self_.json().items()) {
    if (std::ranges::count(known_, name) > 0) continue;
    read(name, JsonValue(value, self_, name, JsonValue::kNoIndex));
    if (!self_.ok()) return;
  }
}

std::string JsonReader::suggestion(std::string_view name) const {
  return did_you_mean(name, known_);
}

Result<void> JsonReader::done() {
  if (finish()) return {};
  const Error& error = **self_.error_;
  return failure(context_.empty() ? error : error.in(context_));
}

std::optional<JsonValue> JsonReader::find(std::string_view name) {
  if (!self_.ok()) return std::nullopt;
  known_.push_back(name);
  const auto found = self_.json().find(name);
  if (found == self_.json().end()) return std::nullopt;
  return JsonValue(*found, self_, name, JsonValue::kNoIndex);
}

void JsonReader::missing(std::string_view name) const {
  if (!self_.ok()) return;
  const std::string before = self_.path();
  self_.keep({ErrorCode::invalid_argument,
              field((before.empty() ? "" : before + ".") + shown(name)) + " is missing"});
}

bool JsonReader::finish() {
  if (!self_.refuses_others_ || reads_others_) return self_.ok();
  others([&](const std::string& name, const JsonValue& unknown) {
    unknown.keep({ErrorCode::invalid_argument,
                  field(unknown.path()) + " is not known here" + suggestion(name)});
  });
  return self_.ok();
}

}  // namespace hocket
