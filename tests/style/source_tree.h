#pragma once

// The project's sources as values, so that rules are functions and their tests need no files. Not
// thread-safe.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::style {

enum class FileKind { cpp, cmake, shell, script, markdown };

struct SourceFile {
  std::string path;  ///< relative to the root, with slashes
  std::string text;
  FileKind kind = FileKind::cpp;
};

/// Broken rules, each as "path[:line]: problem".
using Problems = std::vector<std::string>;

/// Loads the files of the kinds above, sorted by path, without build folders and hidden ones
/// (except .ci).
std::vector<SourceFile> load_tree(const std::filesystem::path& root);

/// Returns the tree that this program was built from.
const std::vector<SourceFile>& this_tree();

/// Returns a source for tests of the rules; its kind follows from the path.
SourceFile sample(std::string path, std::string text);

std::vector<std::string_view> lines_of(std::string_view text);

/// Returns "core/step" for "core/step/link.h"; "" for a file at the root.
std::string_view folder_of(std::string_view path);
/// Returns the first folder: "core" for "core/step/link.h".
std::string_view top_of(std::string_view path);
/// Returns "link.h" for "core/step/link.h".
std::string_view name_of(std::string_view path);

}  // namespace hocket::style
