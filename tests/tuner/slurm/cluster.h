#pragma once

// A cluster of Slurm for tests: a controller, nodes that are all this host, and munge with a key of
// its own, in a folder of its own, on free ports. One thread.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/reserved_port.h"

namespace hocket {

class SlurmCluster {
 public:
  /// Starts `nodes` nodes of two processors each, "n1", "n2", …, in the partitions "low", the
  /// default, and "high", which preempts the jobs of "low" and requeues them. All of it ends with
  /// this object, and with this process, and so do the jobs. Ends the test program, with the logs,
  /// if that fails.
  explicit SlurmCluster(int nodes);
  ~SlurmCluster();
  SlurmCluster(const SlurmCluster&) = delete;
  SlurmCluster& operator=(const SlurmCluster&) = delete;

  /// Returns why no cluster can be started on this machine: Slurm's programs are not there, or this
  /// is not root, which its nodes need to start the jobs of users.
  static std::optional<std::string> missing();

  /// The cluster of this program, of three nodes, started at the first call.
  static SlurmCluster& shared();

  /// Path of slurm.conf, for the variable SLURM_CONF, by which Slurm's programs find the cluster.
  std::string config() const { return folder_ / "slurm.conf"; }

  /// Runs one of Slurm's programs on this cluster, and returns what it prints. Ends the test
  /// program if it fails.
  std::string output_of(const std::vector<std::string>& command) const;

  /// Ends the controller, in good order; the nodes and their jobs stay.
  void stop_controller();
  void start_controller();

  /// Kills a node with all its processes, as a loss of power does, and tells the controller that it
  /// is down, as an operator does. Left alone, the controller mostly notices within half a minute,
  /// but has been seen not to within a minute and a half.
  void stop_node(int number);
  void start_node(int number);
  /// Prints the logs of all daemons to standard error.
  void print_logs() const;
  /// Waits until the nodes that run have no jobs and can be given some.
  void wait_until_idle() const;

 private:
  class Daemon;

  void write_config() const;
  /// It has `grace_ns` to end by itself when it is stopped.
  std::unique_ptr<Daemon> start(const std::vector<std::string>& command,
                                std::int64_t grace_ns = 0) const;
  /// Waits until `holds` returns true; ends the test program, with the logs, after a minute.
  void wait_until(const std::function<bool()>& holds, const std::string& what) const;
  [[noreturn]] void give_up(const std::string& why) const;

  std::filesystem::path folder_;
  ReservedPort controller_port_;
  std::vector<ReservedPort> node_ports_;
  std::unique_ptr<Daemon> munge_, controller_;
  std::vector<std::unique_ptr<Daemon>> nodes_;
};

}  // namespace hocket
