#pragma once

// The rooms of the project: which folder may include which, and which headers of a folder others
// may include. The floors and tables of docs/ROOMS.md are read here, so that what the document says
// is what holds. Pure functions.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/style/source_tree.h"

namespace hocket::style {

/// One row of the table. A folder without a row of its own is private to the room that it is in.
struct Room {
  std::string name;                      ///< its folder, "core/plan"
  std::set<std::string> may_include;     ///< other rooms
  bool includes_all = false;             ///< may include every room but the tests
  std::set<std::string> public_headers;  ///< names within the folder, "plan.h"
  bool is_all_public = false;            ///< every header of the folder itself is public
};

struct Rooms {
  std::map<std::string, Room, std::less<>> rooms;  ///< by name
  /// Folders at the top by floor, the highest first.
  std::vector<std::set<std::string, std::less<>>> floors;
  Problems problems;  ///< rows that cannot be read
};

/// Reads the tables whose header row is "| room | … | may include | public headers |". In a row
/// `core` stands for the rooms of the core that know neither a host nor a device nor a simulator:
/// those whose rows are in the first of the tables. The floors are the first indented lines.
Rooms read_rooms(std::string_view document);

/// The rooms of the tree that the tests are built from, out of its docs/ROOMS.md.
const Rooms& rooms_of_this_tree();

/// The room of the longest folder that contains `path`, "" if none does.
std::string_view room_of(std::string_view path, const Rooms& rooms);

/// Includes of the project's own headers: by their path from the root, of rooms that may be
/// included, and of public headers of other rooms. Tests may include every header. `tree` holds
/// every file there is.
Problems check_own_includes(const SourceFile& file, const std::vector<SourceFile>& tree,
                            const Rooms& rooms);

/// The tables say no more than is needed: each room exists, each public header is included from
/// outside its room, and no include leads back.
Problems check_rooms(const std::vector<SourceFile>& tree, const Rooms& rooms);

/// Each folder at the top stands on a floor, but for the tests, and includes only its own headers
/// and those of folders on lower floors.
Problems check_floors(const std::vector<SourceFile>& tree, const Rooms& rooms);

/// At most kMaxFilesInFolder C++ and CUDA files in one folder.
inline constexpr std::size_t kMaxFilesInFolder = 30;
Problems check_folder_size(const std::vector<SourceFile>& tree);

}  // namespace hocket::style
