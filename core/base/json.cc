#include "core/base/json.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <vector>

#include "core/base/memory_budget.h"

namespace hocket {
namespace {

/// Returns the message without the library's own name of the error, which is in brackets.
std::string json_problem(const std::exception& error) {
  const std::string message = error.what();
  const auto end = message.starts_with('[') ? message.find("] ") : std::string::npos;
  return end == std::string::npos ? message : message.substr(end + 2);
}

constexpr std::int64_t kValuesBetweenLooks = 1 << 16;

/// SAX handler that builds the document and stops at once when it is too deep or too long. The
/// parser requires these function names.
class DocumentBuilder {
 public:
  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  // Does not occur in text.
  bool binary(nlohmann::json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(nlohmann::json::object()); }
  bool start_array(std::size_t) { return open(nlohmann::json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    open_.back().key = std::move(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) {
    const std::string at = path();
    problem_ = "is not valid JSON";
    if (!at.empty()) problem_ += ", near field \"" + at + "\"";
    problem_ += ": " + json_problem(error);
    return false;
  }

  /// Returns the error in the document, or "" when there is none.
  const std::string& problem() const { return problem_; }
  nlohmann::json take() { return std::move(document_); }

 private:
  struct Open {
    nlohmann::json* container;
    /// Key read last, if the container is an object.
    std::string key;
  };

  /// Inserts `value` at the current position; returns null when a limit is exceeded.
  nlohmann::json* put(nlohmann::json value) {
    if (++values_ > kMaxJsonValues) {
      problem_ = "has more than " + std::to_string(kMaxJsonValues) + " values";
      return nullptr;
    }
    if (values_ % kValuesBetweenLooks == 0) {
      if (!memory_) memory_ = MemoryBudget::of_process();
      if (const auto over = memory_->problem()) {
        problem_ = "is too large: " + *over;
        return nullptr;
      }
    }
    if (open_.empty()) return &(document_ = std::move(value));
    auto& [container, key] = open_.back();
    if (container->is_object()) return &((*container)[key] = std::move(value));
    if (container->size() == static_cast<std::size_t>(kMaxJsonElements)) {
      open_.pop_back();
      problem_ = "has more than " + std::to_string(kMaxJsonElements) + " elements in field \"" +
                 path() + "\"";
      return nullptr;
    }
    container->push_back(std::move(value));
    return &container->back();
  }
  bool add(nlohmann::json value) { return put(std::move(value)) != nullptr; }

  bool open(nlohmann::json empty) {
    if (open_.size() == static_cast<std::size_t>(kMaxJsonDepth)) {
      problem_ = "is nested more than " + std::to_string(kMaxJsonDepth) + " levels deep";
      return false;
    }
    nlohmann::json* const container = put(std::move(empty));
    if (container == nullptr) return false;
    open_.push_back({container, ""});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  /// Returns the path to the value read last: "layers[3].forward_ns".
  std::string path() const {
    std::string path;
    for (const auto& [container, key] : open_) {
      if (container->is_array()) {
        // An incomplete element that is an object or array is already in the array.
        const bool inside = &container != &open_.back().container;
        path += "[" + std::to_string(container->size() - (inside ? 1 : 0)) + "]";
      } else if (!key.empty()) {
        path += (path.empty() ? "" : ".") + shortened(key);
      }
    }
    return path;
  }

  static std::string shortened(const std::string& key) {
    const std::string quoted =
        nlohmann::json(key).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return quoted.substr(1, std::min<std::size_t>(quoted.size() - 2, 60));
  }

  nlohmann::json document_;
  std::optional<MemoryBudget> memory_;  ///< none for a short document
  std::vector<Open> open_;
  std::int64_t values_ = 0;
  std::string problem_;
};

/// Returns the error for a file that could not be read. The reason is missing where the library
/// gave no number for it.
Error unreadable(const std::string& path, int error_number) {
  const std::string reason =
      error_number == 0 ? "" : ": " + std::generic_category().message(error_number);
  return {ErrorCode::unavailable, "cannot read " + path + reason};
}

}  // namespace

Result<nlohmann::json> parse_object(std::string_view text, std::string_view what) {
  DocumentBuilder builder;
  try {
    nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  } catch (const nlohmann::json::exception& e) {
    return failure(ErrorCode::invalid_argument,
                   std::string(what) + " is not valid JSON: " + json_problem(e));
  }
  if (!builder.problem().empty())
    return failure(ErrorCode::invalid_argument, std::string(what) + " " + builder.problem());
  nlohmann::json document = builder.take();
  if (!document.is_object()) {
    return failure(ErrorCode::invalid_argument,
                   std::string(what) + " must be a JSON object, found " + document.type_name());
  }
  return document;
}

Result<std::string> read_file(const std::string& path, std::int64_t limit_bytes) {
  constexpr std::int64_t kAlwaysBytes = 64 << 20;
  if (limit_bytes > kAlwaysBytes)
    limit_bytes = std::min(limit_bytes, MemoryBudget::of_process().most_bytes());
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return failure(unreadable(path, errno));
  std::string text;
  std::array<char, 1 << 16> block;
  while (static_cast<std::int64_t>(text.size()) <= limit_bytes &&
         (file.read(block.data(), block.size()) || file.gcount() > 0)) {
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) return failure(unreadable(path, errno));
  if (static_cast<std::int64_t>(text.size()) > limit_bytes) {
    return failure(ErrorCode::unavailable,
                   path + " is larger than " + std::to_string(limit_bytes) + " bytes");
  }
  return text;
}

}  // namespace hocket
