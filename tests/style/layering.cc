#include "tests/style/layering.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace hocket::style {
namespace {

using Rooms = std::set<std::string_view>;

const Rooms kLibraries = {"core",     "core/host",      "core/cuda",       "core/sim",
                          "profiler", "profiler/cupti", "profiler/export", "store",
                          "tuner",    "tuner/archive",  "tuner/client",    "tuner/daemon",
                          "profiles"};

/// Each folder of the table, and the others that it may include.
const std::map<std::string_view, Rooms>& table() {
  static const std::map<std::string_view, Rooms> rooms = [] {
    Rooms all = kLibraries;
    all.insert({"cli", "plugins", "examples", "benchmarks"});
    return std::map<std::string_view, Rooms>{
        {"core", {}},
        {"core/host", {"core"}},
        {"core/cuda", {"core"}},
        {"core/sim", {"core"}},
        {"profiler", {"core", "core/sim"}},
        {"profiler/cupti", {"core", "profiler"}},
        {"profiler/export", {"core", "profiler"}},
        {"store", {"core"}},
        {"profiles", {"core", "core/sim", "profiler", "profiler/export", "store", "tuner/client"}},
        {"tuner", {"core", "core/sim"}},
        {"tuner/archive", {"core", "store", "tuner"}},
        {"tuner/client", {"core"}},
        {"tuner/daemon", {"core", "profiler", "store", "tuner", "tuner/archive"}},
        {"cli", kLibraries},
        {"plugins", {"core", "profiler", "tuner/client"}},
        {"examples", kLibraries},
        {"benchmarks", all},
        {"tests", all},
    };
  }();
  return rooms;
}

/// Headers that start with `prefix` are for files whose path starts with one of `owners`, and for
/// the tests that mirror them.
struct LibraryRule {
  std::string_view prefix;
  std::vector<std::string_view> owners;
};

const std::vector<LibraryRule>& library_rules() {
  // The first rule that matches counts.
  static const std::vector<LibraryRule> rules = {
      {"gloo/config.h", {"core/host/gloo_collective.cc", "core/host/topology_probe.cc"}},
      {"gloo/", {"core/host/gloo_collective.cc", "core/host/gloo_ring.cc"}},
      {"sqlite3", {"store/sqlite/"}},
      {"google/protobuf", {"profiler/export/perfetto.cc"}},
      {"perfetto.pb.h", {"profiler/export/perfetto.cc"}},
      {"cupti", {"profiler/cupti/"}},
      {"cuda", {"core/cuda/", "examples/gpt2/cuda/"}},
      {"cublas", {"core/cuda/"}},
      {"nccl", {"core/cuda/"}},
      {"cudnn", {"examples/gpt2/cuda/"}},
      {"openssl/",
       {"tuner/client/http_client", "tuner/client/last_good.cc", "tuner/daemon/tls",
        "tuner/daemon/tokens.cc"}},
      {"boost/asio/ssl", {"tuner/client/http_client", "tuner/daemon/tls", "tuner/daemon/stream.h"}},
      {"boost/asio",
       {"core/host/tcp_store.cc", "tuner/client/http_client", "tuner/daemon/asio.h",
        "tuner/daemon/tls", "benchmarks/daemon/bare_server.cc"}},
      {"boost/beast", {"tuner/client/http_client.cc", "tuner/daemon/request_parser.cc"}},
      {"spdlog/", {"tuner/daemon/log.cc"}},
      {"prometheus/", {"tuner/daemon/metrics.cc"}},
      {"systemd/", {"tuner/daemon/systemd.cc"}},
  };
  return rules;
}

bool is_within(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

std::string at(const SourceFile& file, const Include& include) {
  return file.path + ":" + std::to_string(include.line) + ": includes \"" +
         std::string(include.path) + "\", ";
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

/// What is wrong with one quoted include, "" when nothing is.
std::string objection(const SourceFile& file, const Include& include,
                      const std::vector<SourceFile>& tree) {
  const bool exists = std::any_of(tree.begin(), tree.end(),
                                  [&](const SourceFile& f) { return f.path == include.path; });
  if (!exists) return "which is no path from the root";
  const std::string_view from = room_of(file.path), to = room_of(include.path);
  if (to.empty()) return "which is in no folder of the table";
  if (from == to) return "";
  if (!table().at(from).contains(to)) {
    return "but " + std::string(from) + "/ may not include " + std::string(to) + "/";
  }
  if (folder_of(include.path) != to && from != "tests") {
    return "which is private to " + std::string(to) + "/";
  }
  return "";
}

}  // namespace

std::vector<Include> includes_of(std::string_view text) {
  std::vector<Include> includes;
  std::size_t number = 0;
  for (std::string_view line : lines_of(text)) {
    ++number;
    line = trimmed(line);
    if (!line.starts_with('#')) continue;
    line = trimmed(line.substr(1));
    if (!line.starts_with("include")) continue;
    line = trimmed(line.substr(7));
    if (!line.starts_with('"') && !line.starts_with('<')) continue;
    const bool quoted = line.front() == '"';
    const auto end = line.find(quoted ? '"' : '>', 1);
    if (end != std::string_view::npos)
      includes.push_back({line.substr(1, end - 1), quoted, number});
  }
  return includes;
}

std::string_view room_of(std::string_view path) {
  std::string_view longest;
  for (const auto& [room, allowed] : table()) {
    if (is_within(path, room) && room.size() > longest.size()) longest = room;
  }
  return longest;
}

Problems check_own_includes(const SourceFile& file, const std::vector<SourceFile>& tree) {
  if (file.kind != FileKind::cpp) return {};
  if (room_of(file.path).empty()) return {file.path + ": is in no folder of the table"};
  Problems problems;
  for (const Include& include : includes_of(file.text)) {
    if (!include.quoted) continue;
    const std::string wrong = objection(file, include, tree);
    if (!wrong.empty()) problems.push_back(at(file, include) + wrong);
  }
  return problems;
}

Problems check_library_includes(const SourceFile& file) {
  if (file.kind != FileKind::cpp) return {};
  std::string_view path = file.path;
  if (path.starts_with("tests/")) path.remove_prefix(6);
  Problems problems;
  for (const Include& include : includes_of(file.text)) {
    if (include.quoted && !room_of(include.path).empty()) continue;
    for (const LibraryRule& rule : library_rules()) {
      if (!include.path.starts_with(rule.prefix)) continue;
      const bool owned =
          std::any_of(rule.owners.begin(), rule.owners.end(),
                      [&](std::string_view owner) { return path.starts_with(owner); });
      if (!owned) {
        std::string names;
        for (const std::string_view owner : rule.owners) {
          names.append(names.empty() ? "" : ", ").append(owner);
        }
        problems.push_back(at(file, include) + "which is for " + names + " alone");
      }
      break;
    }
  }
  return problems;
}

}  // namespace hocket::style
