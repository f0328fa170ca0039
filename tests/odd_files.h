#pragma once

// Makes pipes, sockets, devices, folders and links in the place of a file, and checks that a reader
// does not wait for them. One thread.

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/check.h"

namespace hocket {

struct OddFile {
  std::string kind;                                   ///< "a named pipe", as errors say it
  std::function<void(const std::string& path)> make;  ///< puts one at a path, which is free
};

inline std::vector<OddFile> odd_files() {
  namespace fs = std::filesystem;
  const auto make_socket = [](const std::string& path) {
    const std::string old = fs::current_path();
    fs::current_path(fs::path(path).parent_path());  // the address of a socket is short
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, fs::path(path).filename().c_str(), sizeof address.sun_path - 1);
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    HOCKET_CHECK(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0,
                 "a socket can be made");
    ::close(socket);
    fs::current_path(old);
  };
  return {{"a named pipe", [](const std::string& path) { ::mkfifo(path.c_str(), 0600); }},
          {"a folder",
           [](const std::string& path) { fs::create_directories(fs::path(path) / "inside"); }},
          {"a socket", make_socket},
          {"a device", [](const std::string& path) { fs::create_symlink("/dev/zero", path); }},
          {"a link to nothing", [](const std::string& path) { fs::create_symlink("gone", path); }},
          {"a link to itself",
           [](const std::string& path) { fs::create_symlink(fs::path(path).filename(), path); }}};
}

/// Calls `read` in a process of its own. Returns whether that ended, and in time.
inline bool ends(const std::function<void()>& read) {
  const pid_t child = ::fork();
  if (child == 0) {
    read();
    ::_exit(0);
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Calls `check` for each odd file at `path`, in this process, once `read` was seen to end.
inline void for_odd_files(const std::string& path, const std::function<void()>& read,
                          const std::function<void(const OddFile& file, bool ended)>& check) {
  for (const OddFile& file : odd_files()) {
    std::filesystem::remove_all(path);
    file.make(path);
    check(file, ends(read));
    std::filesystem::remove_all(path);
  }
}

}  // namespace hocket
