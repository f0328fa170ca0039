#pragma once

// Three hosts on one switch, one of which sends slowly: network namespaces with the kernel's token
// bucket. For the thread that made it.

#include <string>
#include <vector>

namespace hocket {

class SlowLink {
 public:
  static constexpr int kHosts = 3;

  /// Host `slow` sends at `rate` ("50mbit"). Needs root.
  SlowLink(int slow, const std::string& rate);
  /// Removes the namespaces, and leaves host 0.
  ~SlowLink();
  SlowLink(const SlowLink&) = delete;
  SlowLink& operator=(const SlowLink&) = delete;

  bool made() const { return made_; }
  /// Moves the calling thread, and what it starts, to host 0.
  bool enter();
  /// Takes a host off the switch, as if it had lost its power: nobody is told. Returns whether it
  /// could.
  bool silence(int host) const;
  /// Returns the command that runs another one on a host.
  std::vector<std::string> launcher(int host) const;
  static std::string address(int host) { return "192.0.2.1" + std::to_string(host); }

 private:
  std::string name(int host) const;

  const std::string own_;
  int outside_ = -1;  ///< the thread's own network, once it has left it
  bool made_ = false;
};

}  // namespace hocket
