#include "tests/style/rooms.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <sstream>

#include "tests/style/includes.h"

namespace hocket::style {
namespace {

/// The cells of a row of a Markdown table.
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  if (!line.starts_with('|')) return cells;
  line.remove_prefix(1);
  for (auto bar = line.find('|'); bar != std::string_view::npos; bar = line.find('|')) {
    std::string_view cell = line.substr(0, bar);
    while (cell.starts_with(' ')) cell.remove_prefix(1);
    while (cell.ends_with(' ')) cell.remove_suffix(1);
    cells.push_back(cell);
    line.remove_prefix(bar + 1);
  }
  return cells;
}

/// The words of a cell that stand in backticks.
std::vector<std::string> names_in(std::string_view cell) {
  std::vector<std::string> names;
  for (auto tick = cell.find('`'); tick != std::string_view::npos; tick = cell.find('`')) {
    cell.remove_prefix(tick + 1);
    const auto end = std::min(cell.find('`'), cell.size());
    names.emplace_back(cell.substr(0, end));
    cell.remove_prefix(std::min(end + 1, cell.size()));
  }
  return names;
}

std::set<std::string, std::less<>> folders_of(std::string_view line) {
  std::istringstream stream{std::string(line)};
  return {std::istream_iterator<std::string>(stream), {}};
}

/// Returns the floor of a folder at the top, 0 for the highest; none if it stands on no floor.
std::optional<std::size_t> floor_of(std::string_view top, const Rooms& rooms) {
  for (std::size_t floor = 0; floor < rooms.floors.size(); ++floor) {
    if (rooms.floors[floor].contains(top)) return floor;
  }
  return std::nullopt;
}

bool is_header(const std::vector<std::string_view>& cells) {
  return cells.size() == 4 && cells[0] == "room" && cells[2] == "may include" &&
         cells[3] == "public headers";
}

Room read_room(const std::vector<std::string_view>& cells) {
  Room room;
  room.name = names_in(cells[0]).front();
  for (const std::string& name : names_in(cells[2])) room.may_include.insert(name);
  room.includes_all = cells[2] == "all";
  for (const std::string& name : names_in(cells[3])) room.public_headers.insert(name + ".h");
  room.is_all_public = cells[3] == "all";
  return room;
}

bool is_within(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

bool is_public(std::string_view header, const Room& room) {
  if (room.is_all_public && folder_of(header) == room.name) return true;
  return room.public_headers.contains(std::string(header.substr(room.name.size() + 1)));
}

/// Returns the objection to one quoted include, "" if there is none.
std::string objection(const SourceFile& file, const Include& include,
                      const std::vector<SourceFile>& tree, const Rooms& rooms) {
  const bool exists = std::any_of(tree.begin(), tree.end(),
                                  [&](const SourceFile& f) { return f.path == include.path; });
  if (!exists) return "which is no path from the root";
  const std::string_view from = room_of(file.path, rooms), to = room_of(include.path, rooms);
  if (to.empty()) return "which is in no room";
  if (from == to || from == "tests") return "";
  const Room& source = rooms.rooms.find(from)->second;
  const bool allowed =
      source.includes_all ? to != "tests" : source.may_include.contains(std::string(to));
  if (!allowed) return "but " + std::string(from) + "/ may not include " + std::string(to) + "/";
  if (!is_public(include.path, rooms.rooms.find(to)->second)) {
    return "which is private to " + std::string(to) + "/";
  }
  return "";
}

/// Includes across rooms, without those of the tests: the included rooms by room, and the headers.
struct Uses {
  std::map<std::string, std::set<std::string>, std::less<>> rooms;
  std::set<std::string, std::less<>> headers;
};

Uses uses_in(const std::vector<SourceFile>& tree, const Rooms& rooms) {
  Uses uses;
  for (const SourceFile& file : tree) {
    if (file.kind != FileKind::cpp) continue;
    const std::string_view from = room_of(file.path, rooms);
    if (from.empty() || from == "tests") continue;
    for (const Include& include : includes_of(file.text)) {
      const std::string_view to = include.quoted ? room_of(include.path, rooms) : "";
      if (to.empty() || to == from) continue;
      uses.rooms[std::string(from)].emplace(to);
      uses.headers.emplace(include.path);
    }
  }
  return uses;
}

/// True if `from` reaches `to` through the rooms that each room may include.
bool reaches(const std::string& from, const std::string& to, const Rooms& rooms,
             std::set<std::string>& seen) {
  if (!seen.insert(from).second) return false;
  const auto room = rooms.rooms.find(from);
  if (room == rooms.rooms.end()) return false;
  const auto& next = room->second.may_include;
  return std::any_of(next.begin(), next.end(), [&](const std::string& name) {
    return name == to || reaches(name, to, rooms, seen);
  });
}

}  // namespace

Rooms read_rooms(std::string_view document) {
  Rooms result;
  std::set<std::string> ground;
  std::size_t tables = 0;
  bool in_table = false;
  bool has_floors = false;
  for (const std::string_view line : lines_of(document)) {
    const auto cells = cells_of(line);
    if (line.starts_with("    ") && !has_floors) {
      result.floors.push_back(folders_of(line));
    } else if (!result.floors.empty()) {
      has_floors = true;
    }
    if (is_header(cells)) {
      in_table = true;
      ++tables;
    } else if (cells.empty()) {
      in_table = false;
    } else if (in_table && !cells[0].starts_with("--")) {
      if (cells.size() != 4 || names_in(cells[0]).size() != 1) {
        result.problems.push_back("not a row of a room: " + std::string(line));
        continue;
      }
      Room room = read_room(cells);
      if (tables == 1) ground.insert(room.name);
      result.rooms.emplace(room.name, room);
    }
  }
  for (auto& [name, room] : result.rooms) {
    if (room.may_include.erase("core") > 0) {
      room.may_include.insert(ground.begin(), ground.end());
    }
  }
  return result;
}

const Rooms& rooms_of_this_tree() {
  static const Rooms rooms = [] {
    for (const SourceFile& file : this_tree()) {
      if (file.path == "docs/ROOMS.md") return read_rooms(file.text);
    }
    return Rooms();
  }();
  return rooms;
}

std::string_view room_of(std::string_view path, const Rooms& rooms) {
  std::string_view longest;
  for (const auto& [name, room] : rooms.rooms) {
    if (is_within(path, name) && name.size() > longest.size()) longest = name;
  }
  return longest;
}

Problems check_own_includes(const SourceFile& file, const std::vector<SourceFile>& tree,
                            const Rooms& rooms) {
  if (file.kind != FileKind::cpp) return {};
  if (room_of(file.path, rooms).empty()) return {file.path + ": is in no room"};
  Problems problems;
  for (const Include& include : includes_of(file.text)) {
    if (!include.quoted) continue;
    const std::string wrong = objection(file, include, tree, rooms);
    if (!wrong.empty()) problems.push_back(at(file, include) + wrong);
  }
  return problems;
}

Problems check_rooms(const std::vector<SourceFile>& tree, const Rooms& rooms) {
  Problems problems = rooms.problems;
  const Uses uses = uses_in(tree, rooms);
  for (const auto& [name, room] : rooms.rooms) {
    const bool exists = std::any_of(tree.begin(), tree.end(), [&, &room_name = name](auto& file) {
      return is_within(file.path, room_name);
    });
    if (!exists) problems.push_back(name + ": a room without files");
    std::set<std::string> seen;
    if (reaches(name, name, rooms, seen)) problems.push_back(name + ": includes lead back to it");
    for (const std::string& header : room.public_headers) {
      if (!uses.headers.contains(name + "/" + header)) {
        problems.push_back(name + "/" + header + ": public, but no other room includes it");
      }
    }
  }
  return problems;
}

Problems check_floors(const std::vector<SourceFile>& tree, const Rooms& rooms) {
  Problems problems;
  for (const SourceFile& file : tree) {
    const std::string_view top = top_of(file.path);
    if (file.kind != FileKind::cpp || top == "tests") continue;
    const auto floor = floor_of(top, rooms);
    if (!floor) {
      problems.push_back(file.path + ": " + std::string(top) + "/ stands on no floor");
      continue;
    }
    for (const Include& include : includes_of(file.text)) {
      const std::string_view other = top_of(include.path);
      const auto below = include.quoted && other != top ? floor_of(other, rooms) : std::nullopt;
      if (below && *below <= *floor) {
        problems.push_back(at(file, include) + "but " + std::string(other) +
                           "/ is not on a floor below " + std::string(top) + "/");
      }
    }
  }
  return problems;
}

Problems check_folder_size(const std::vector<SourceFile>& tree) {
  std::map<std::string_view, std::size_t> counts;
  for (const SourceFile& file : tree) {
    if (file.kind == FileKind::cpp) ++counts[folder_of(file.path)];
  }
  Problems problems;
  for (const auto& [folder, count] : counts) {
    if (count <= kMaxFilesInFolder) continue;
    problems.push_back(std::string(folder) + "/: " + std::to_string(count) +
                       " sources, allowed are " + std::to_string(kMaxFilesInFolder));
  }
  return problems;
}

}  // namespace hocket::style
