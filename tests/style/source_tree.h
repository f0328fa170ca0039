#pragma once

// The project's own sources as values, so that rules about them are functions and their tests need
// no files. Not thread-safe.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::style {

enum class FileKind { cpp, cmake, shell, markdown };

struct SourceFile {
  std::string path;  ///< relative to the root, with slashes
  std::string text;
  FileKind kind = FileKind::cpp;
};

/// Broken rules, each "path[:line]: what is wrong".
using Problems = std::vector<std::string>;

/// The files of the kinds above, sorted by path; build folders and hidden ones (but .ci) left out.
std::vector<SourceFile> load_tree(const std::filesystem::path& root);

/// The tree that this program was built from.
const std::vector<SourceFile>& this_tree();

/// A source as the tests of the rules write it; the kind follows from the path.
SourceFile sample(std::string path, std::string text);

std::vector<std::string_view> lines_of(std::string_view text);

/// "core/host" of "core/host/link.h"; "" at the root.
std::string_view folder_of(std::string_view path);
/// "link.h" of "core/host/link.h".
std::string_view name_of(std::string_view path);

}  // namespace hocket::style
