#pragma once

// Reads the fields of a step description from JSON; one of the visitors of core/step/step_fields.h.
// Not thread-safe.

#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/step/step_fields.h"

namespace hocket::step {

/// Reads the fields of one object. Keeps the first error and reads nothing after it.
class Reader {
 public:
  /// `object` must be an object and outlive the reader.
  Reader(const nlohmann::json& object, std::string path)
      : object_(object), path_(std::move(path)) {}

  void text(const char* name, std::string& value) {
    const nlohmann::json* const found = find(name);
    if (found == nullptr) return;
    if (!found->is_string()) return fail(name, "a string", *found);
    value = found->get<std::string>();
  }
  template <class T>
  void integer(const char* name, T& value, std::int64_t low, std::int64_t high, int) {
    const nlohmann::json* const found = find(name);
    if (found == nullptr) return;
    if (const auto read = take(integer_of(*found, path_of(name), low, high)))
      value = static_cast<T>(*read);
  }
  template <class T>
  void optional(const char* name, T& value, std::int64_t low, std::int64_t high, T) {
    integer(name, value, low, high, 0);
  }
  void flag(const char* name, bool& value) {
    const nlohmann::json* const found = find(name);
    if (found == nullptr) return;
    if (!found->is_boolean()) return fail(name, "true or false", *found);
    value = found->get<bool>();
  }
  /// Reads a time, rounded to the nearest nanosecond.
  void time(const char* name, std::int64_t& value, std::int64_t high) {
    double ns = static_cast<double>(value);
    number(name, ns, 0, static_cast<double>(high));
    value = std::llround(ns);
  }
  void number(const char* name, double& value, double low, double high, double = 0) {
    const nlohmann::json* const found = find(name);
    if (found == nullptr) return;
    if (const auto read = take(number_of(*found, path_of(name), low, high))) value = *read;
  }
  template <class T, std::size_t N>
  void choice(const char* name, T& value, const std::array<Word<T>, N>& words) {
    const nlohmann::json* const found = find(name);
    if (found == nullptr) return;
    std::string expected;
    for (const auto& [word, meant] : words) {
      if (*found == word) {
        value = meant;
        return;
      }
      expected += (expected.empty() ? "one of " : ", ") + std::string(word);
    }
    fail(name, expected, *found);
  }
  /// Reads the object in field `name`, if present, with `read(Reader&)`.
  template <class Read>
  void object(const char* name, Read read) {
    if (const nlohmann::json* const found = find(name)) this->element(*found, path_of(name), read);
  }
  /// Reads the array in field `name`, if present, with `read(const json&, path)`.
  template <class Read>
  void array(const char* name, Read read) {
    const nlohmann::json* const found = find(name);
    if (found == nullptr) return;
    if (!found->is_array()) return fail(name, "an array", *found);
    const std::string path = path_of(name);
    for (std::size_t i = 0; i < found->size() && !error_; ++i)
      read((*found)[i], path + "[" + std::to_string(i) + "]");
  }
  /// Reads `value`, which must be an object, with `read(Reader&)`.
  template <class Read>
  void element(const nlohmann::json& value, std::string path, Read read) {
    if (!value.is_object()) return fail_at(path, "an object", value);
    Reader reader(value, std::move(path));
    read(reader);
    if (auto ok = reader.done(); !ok && !error_) error_ = ok.error();
  }

  /// Returns the field `name`; null if it is absent or after an error. Marks the field as known.
  const nlohmann::json* find(const char* name) {
    known_.push_back(name);
    if (error_) return nullptr;
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }
  std::string path_of(const std::string& name) const {
    return path_.empty() ? name : path_ + "." + name;
  }

  void fail(const char* name, std::string_view expected, const nlohmann::json& found) {
    fail_at(path_of(name), expected, found);
  }
  void fail_at(std::string_view path, std::string_view expected, const nlohmann::json& found) {
    if (!error_) error_ = wrong_field(path, expected, found);
  }
  template <class T>
  std::optional<T> take(Result<T> result) {
    if (result) return std::move(*result);
    if (!error_) error_ = result.error();
    return std::nullopt;
  }

  /// Returns the first error. A field that was never read is an error.
  Result<void> done() const;

 private:
  Result<void> unknown(const std::string& name) const;

  const nlohmann::json& object_;
  std::string path_;
  std::vector<std::string_view> known_;
  std::optional<Error> error_;
};

}  // namespace hocket::step
