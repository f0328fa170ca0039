#pragma once

// Recognises files of other tools that are not read, to say what they are and what to export
// instead. Pure.

#include <optional>
#include <string>
#include <string_view>

namespace hocket {

/// Returns "it is …; …" for a file of a known tool that hocket does not read, by its name and first
/// bytes; nothing for any other file.
std::optional<std::string> foreign_file(std::string_view name, std::string_view head);

/// The same for an SQLite database, by the first bytes, in which the names of its tables stand.
std::optional<std::string> foreign_database(std::string_view head);

/// Looks for the signs of tools whose events are no work of a device.
class ForeignEvents {
 public:
  void take(std::string_view category, std::string_view phase, std::string_view name);
  /// Returns what the events are and what to export instead, for a file in which nothing is work;
  /// nothing if there were no signs.
  std::optional<std::string> text() const;

 private:
  enum class Tool { nccl_plugin, mindspore, spyre };

  std::optional<Tool> tool_;
  std::string example_;  ///< the first event that was a sign
};

}  // namespace hocket
