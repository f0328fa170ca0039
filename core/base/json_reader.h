#pragma once

// Reads the fields of JSON objects into variables. Each read states the field's name, its allowed
// values and, if it may be absent, its default, so a visitor that lists fields can both read and
// write them. A reader keeps the first error of the whole document, which names the path, the value
// found and the allowed values. After an error it reads nothing: variables and the values returned
// then have no meaning. Nothing throws, whatever the JSON. Not thread-safe.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// A word that a field may hold, and its meaning.
template <class T>
struct Word {
  std::string_view word;
  T value;
};

enum class Presence { required, optional };
inline constexpr Presence kOptional = Presence::optional;

inline constexpr std::size_t kAnySize = std::numeric_limits<std::size_t>::max();
inline constexpr double kLowestNumber = std::numeric_limits<double>::lowest();
inline constexpr double kHighestNumber = std::numeric_limits<double>::max();

/// Returns the error `field "path": expected …, found …`.
Error wrong_field(std::string_view path, std::string_view expected, const nlohmann::json& found);
/// Returns the same for a number that is not from `low` to `high`.
Error wrong_integer(std::string_view path, std::int64_t low, std::int64_t high,
                    const nlohmann::json& found);
Error wrong_number(std::string_view path, double low, double high, const nlohmann::json& found);

class JsonReader;

/// A value within a document. Valid while the reader or value that it comes from is.
class JsonValue {
 public:
  const nlohmann::json& json() const { return *json_; }
  /// Returns the path from the document's root: "layers[3].forward_ns".
  std::string path() const;

  /// Returns whether the value is the string `word`.
  bool is(std::string_view word) const;

  std::string text(std::size_t most_bytes = kAnySize) const;
  /// Refuses a number with a fraction.
  std::int64_t integer(std::int64_t low, std::int64_t high) const;
  double number(double low = kLowestNumber, double high = kHighestNumber) const;
  bool flag() const;
  /// Returns the index of the word that the value is.
  std::size_t word(std::span<const std::string_view> words) const;
  template <class T, std::size_t N>
  T choice(const std::array<Word<T>, N>& words) const {
    std::array<std::string_view, N> names;
    for (std::size_t i = 0; i < N; ++i) names[i] = words[i].word;
    return words[word(names)].value;
  }

  /// Calls `read(JsonReader&)` for an object.
  template <class Read>
  void object(const Read& read) const;
  /// Calls `read(const JsonValue&)` for each element of an array of at most `most` elements.
  template <class Read>
  void array(const Read& read, std::size_t most = kAnySize) const {
    const std::size_t size = array_size(most);
    for (std::size_t i = 0; i < size && ok(); ++i) read(element(i));
  }

  /// Returns an element of an array, which must have it.
  JsonValue element(std::size_t index) const;

  /// Moves the value of `result` into `target`, or keeps its error with the path in front.
  template <class T, class Target>
  void take(Result<T> result, Target& target) const {
    if (result) {
      target = std::move(*result);
    } else {
      fail(result.error());
    }
  }
  /// Keeps the error that the value is not as `expected`.
  void refuse(std::string_view expected) const;
  /// Keeps `error` with the path in front.
  void fail(const Error& error) const;

 private:
  friend class JsonReader;

  static constexpr std::size_t kNoIndex = std::numeric_limits<std::size_t>::max();

  JsonValue(const nlohmann::json& json, std::optional<Error>& error)
      : json_(&json), error_(&error) {}
  JsonValue(const nlohmann::json& json, const JsonValue& parent, std::string_view name,
            std::size_t index)
      : json_(&json),
        error_(parent.error_),
        refuses_others_(parent.refuses_others_),
        parent_(&parent),
        name_(name),
        index_(index) {}

  bool ok() const { return !error_->has_value(); }
  bool check_object() const;
  void keep(Error error) const;
  /// Returns 0 after an error, for example that the value is not such an array.
  std::size_t array_size(std::size_t most) const;

  const nlohmann::json* json_;
  /// First error in the document.
  std::optional<Error>* error_;
  bool refuses_others_ = false;
  const JsonValue* parent_ = nullptr;
  /// Name of the field, or kNoIndex and then the index of the element.
  std::string_view name_ = {};
  std::size_t index_ = kNoIndex;
};

/// Reads the fields of an object into a value.
template <class T>
using ReadInto = std::type_identity_t<void (*)(JsonReader&, T&)>;

/// Reads the fields of one object. A field without a default must be present.
class JsonReader {
 public:
  /// `document` must outlive the reader; it is an error if it is no object. `context` goes in front
  /// of errors ("report").
  explicit JsonReader(const nlohmann::json& document, std::string_view context = "");
  JsonReader(const JsonReader&) = delete;
  JsonReader& operator=(const JsonReader&) = delete;

  /// Makes fields that are never asked for an error, here and in all objects within. Call it before
  /// reading.
  void refuse_others() { self_.refuses_others_ = true; }

  /// Reads "format" and "version", which must be `name` and from 1 to `version`.
  void format(std::string_view name, int version);

  void text(std::string_view name, std::string& target) {
    value(name, [&](const JsonValue& found) { target = found.text(); });
  }
  void text(std::string_view name, std::string& target, std::string_view absent) {
    target = absent;
    value(
        name, [&](const JsonValue& found) { target = found.text(); }, kOptional);
  }

  template <class T>
  void integer(std::string_view name, T& target, std::int64_t low, std::int64_t high) {
    value(name, [&](const JsonValue& found) { target = static_cast<T>(found.integer(low, high)); });
  }
  template <class T>
  void integer(std::string_view name, T& target, std::int64_t low, std::int64_t high,
               std::type_identity_t<T> absent) {
    target = absent;
    if (has(name)) integer(name, target, low, high);
  }
  template <class T>
  void integer(std::string_view name, std::optional<T>& target, std::int64_t low,
               std::int64_t high) {
    target.reset();
    if (has(name)) integer(name, target.emplace(), low, high);
  }

  void number(std::string_view name, double& target, double low = kLowestNumber,
              double high = kHighestNumber) {
    value(name, [&](const JsonValue& found) { target = found.number(low, high); });
  }
  void number(std::string_view name, double& target, double low, double high, double absent) {
    target = absent;
    if (has(name)) number(name, target, low, high);
  }
  void number(std::string_view name, std::optional<double>& target, double low = kLowestNumber,
              double high = kHighestNumber) {
    target.reset();
    if (has(name)) number(name, target.emplace(), low, high);
  }
  /// Reads a time from 0 to `high`, rounded to the nearest nanosecond.
  void time(std::string_view name, std::int64_t& target, std::int64_t high, std::int64_t absent);

  void flag(std::string_view name, bool& target) {
    value(name, [&](const JsonValue& found) { target = found.flag(); });
  }
  void flag(std::string_view name, bool& target, bool absent) {
    target = absent;
    if (has(name)) flag(name, target);
  }

  template <class T, std::size_t N>
  void choice(std::string_view name, T& target, const std::array<Word<T>, N>& words) {
    value(name, [&](const JsonValue& found) { target = found.choice(words); });
  }
  template <class T, std::size_t N>
  void choice(std::string_view name, T& target, const std::array<Word<T>, N>& words,
              std::type_identity_t<T> absent) {
    target = absent;
    if (has(name)) choice(name, target, words);
  }

  /// Calls `read(const JsonValue&)` for the field.
  template <class Read>
  void value(std::string_view name, const Read& read, Presence presence = Presence::required) {
    if (const auto found = find(name)) {
      read(*found);
    } else if (presence == Presence::required) {
      missing(name);
    }
  }
  /// Calls `read(JsonReader&)` for the object in the field.
  template <class Read>
  void object(std::string_view name, const Read& read, Presence presence = Presence::required) {
    value(
        name, [&](const JsonValue& found) { found.object(read); }, presence);
  }
  /// Calls `read(const JsonValue&)` for each element of the array in the field.
  template <class Read>
  void array(std::string_view name, const Read& read, Presence presence = Presence::required,
             std::size_t most = kAnySize) {
    value(
        name, [&](const JsonValue& found) { found.array(read, most); }, presence);
  }
  void texts(std::string_view name, std::vector<std::string>& target,
             Presence presence = Presence::required);

  /// Reads an object with `read`.
  template <class T>
  void part(std::string_view name, T& target, ReadInto<T> read) {
    object(name, [&](JsonReader& fields) { read(fields, target); });
  }
  template <class T>
  void part(std::string_view name, std::optional<T>& target, ReadInto<T> read) {
    target.reset();
    if (has(name)) part(name, target.emplace(), read);
  }
  /// Reads an array of at most `most` such objects.
  template <class T>
  void parts(std::string_view name, std::vector<T>& target, ReadInto<T> read,
             std::size_t most = kAnySize, Presence presence = Presence::required) {
    target.clear();
    const auto read_one = [&](JsonReader& fields) { read(fields, target.emplace_back()); };
    array(
        name, [&](const JsonValue& found) { found.object(read_one); }, presence, most);
  }

  using ReadMember = std::function<void(const std::string& name, const JsonValue& value)>;
  /// Calls `read` for every field, in the order of the names.
  void members(const ReadMember& read);
  /// Calls `read` for the fields that have not been asked for.
  void others(const ReadMember& read);

  /// Returns whether the field is present, and notes that it is known.
  bool has(std::string_view name) { return find(name).has_value(); }
  /// Returns "; did you mean …" with the nearest field asked for, or "".
  std::string suggestion(std::string_view name) const;

  /// Returns the object itself.
  const JsonValue& self() const { return self_; }

  /// Ends the reading of fields, before what was read is checked further; false after an error.
  bool finish();
  /// Returns the first error. Call it when all fields have been read.
  Result<void> done();
  /// Returns `value`, or the first error. Call it when all fields have been read.
  template <class T>
  Result<T> result(T value) {
    HOCKET_TRY(done());
    return value;
  }

 private:
  friend class JsonValue;

  explicit JsonReader(const JsonValue& self) : self_(self) {}

  /// Returns the field; nothing if it is absent or after an error. Notes that the field is known.
  std::optional<JsonValue> find(std::string_view name);
  bool is_known(std::string_view name) const;
  void missing(std::string_view name) const;

  /// First error, if this reader is the document's root.
  std::optional<Error> error_;
  std::string context_;
  JsonValue self_;
  std::vector<std::string_view> known_;
  /// Set once the caller has read the fields that it did not ask for.
  bool reads_others_ = false;
};

template <class Read>
void JsonValue::object(const Read& read) const {
  if (!check_object()) return;
  JsonReader fields(*this);
  read(fields);
  fields.finish();
}

/// Reads a whole document with `read`.
template <class T>
Result<T> read_json(const nlohmann::json& document, void (*read)(JsonReader&, T&),
                    std::string_view context = "") {
  JsonReader reader(document, context);
  T value;
  read(reader, value);
  return reader.result(std::move(value));
}

}  // namespace hocket
