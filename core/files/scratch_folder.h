#pragma once

// Folders for the temporary files of one process, in the system's folder for temporary files. A
// folder goes with its object. That of a process that was killed is left over, until the next
// process that makes one removes it. Functions are thread-safe; an object is for one thread.
//
// 1. The name is "hocket-scratch-HOST-XXXXXX". Hosts may share a folder for temporary files that
//    does not share locks, so a folder is looked at by its own host alone.
// 2. The folder itself is locked (flock(2)) while its process lives, however that ends. Programs
//    that the process starts do not hold the lock, unless it is passed on. systemd-tmpfiles does
//    not remove what is locked.
// 3. Only who holds the lock of a folder that is still at its path removes it. So whoever makes a
//    folder, and is overtaken between making and locking it, notices and makes another one.

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// Returns the system's folder for temporary files: $TMPDIR, otherwise /tmp. Returns unavailable if
/// there is no such folder.
Result<std::string> temporary_folder();

/// Returns the path of a scratch folder of this host in `parent`, with "XXXXXX" for what is drawn.
std::string scratch_folder_pattern(const std::string& parent);

class ScratchFolder {
 public:
  /// Makes a folder in `parent` that only this user can use, once it has removed those that are
  /// left over there. Returns unavailable if none can be made.
  static Result<ScratchFolder> make(const std::string& parent);
  /// Makes a folder in temporary_folder().
  static Result<ScratchFolder> make();

  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();  ///< Removes the folder with what is in it.

  const std::string& path() const { return path_; }

  /// Lets the program that takes this process's place by execve(2), and those that it starts and
  /// which keep its files open, hold the lock.
  void pass_on();

 private:
  ScratchFolder(std::string path, int descriptor);

  std::string path_;  // empty once moved from
  int descriptor_;    // holds the lock
};

struct FoundScratchFolder {
  std::string path;
  bool is_left_over = false;  ///< no process holds its lock
};

/// Returns the scratch folders in `parent` that belong to this user and this host, by path. Returns
/// none if the folder cannot be read.
std::vector<FoundScratchFolder> find_scratch_folders(const std::string& parent);

/// Removes a folder that find_scratch_folders() returned. Returns false if it is in use, or gone
/// already; unavailable if something in it cannot be removed.
Result<bool> remove_scratch_folder(const std::string& path);

}  // namespace hocket
