#include "tests/style/source_tree.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

namespace hocket::style {
namespace {

namespace fs = std::filesystem;

std::optional<FileKind> kind_of(std::string_view path, std::string_view text) {
  const std::string_view name = name_of(path);
  const auto ends_with = [&](std::string_view end) { return name.ends_with(end); };
  for (const std::string_view end : {".h", ".c", ".cc", ".cu"}) {
    if (ends_with(end)) return FileKind::cpp;
  }
  if (ends_with(".cmake") || name == "CMakeLists.txt") return FileKind::cmake;
  if (ends_with(".md")) return FileKind::markdown;
  if (ends_with(".js") || ends_with(".py")) return FileKind::script;
  if (ends_with(".sh") || text.starts_with("#!")) return FileKind::shell;
  return std::nullopt;
}

bool is_skipped(const fs::path& folder) {
  const std::string name = folder.filename();
  return name == "build" || (name.starts_with('.') && name != ".ci");
}

}  // namespace

std::vector<SourceFile> load_tree(const fs::path& root) {
  std::vector<SourceFile> files;
  for (auto it = fs::recursive_directory_iterator(root); it != fs::end(it); ++it) {
    if (it->is_directory()) {
      if (is_skipped(it->path())) it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file()) continue;
    std::ifstream stream(it->path(), std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(stream), {}};
    const std::string path = fs::relative(it->path(), root).generic_string();
    if (const auto kind = kind_of(path, text)) files.push_back({path, std::move(text), *kind});
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

const std::vector<SourceFile>& this_tree() {
  static const std::vector<SourceFile> tree = load_tree(HOCKET_SOURCE_DIR);
  return tree;
}

SourceFile sample(std::string path, std::string text) {
  const FileKind kind = kind_of(path, text).value();
  return {std::move(path), std::move(text), kind};
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string_view folder_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view top_of(std::string_view path) {
  return path.substr(0, path.find('/'));
}

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace hocket::style
