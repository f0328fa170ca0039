#include "tests/tuner/slurm/cluster.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "core/base/check.h"
#include "core/base/clock.h"
#include "tuner/trial/cancel.h"
#include "tuner/trial/process.h"
#include "tuner/trial/process/process_table.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kCommandLimitNs = 60'000'000'000;

/// Returns the path of a program, which for daemons may be outside of PATH; "" if there is none.
std::string program_path(const std::string& name) {
  for (const char* const folder :
       {"/usr/sbin/", "/usr/bin/", "/usr/local/sbin/", "/usr/local/bin/"})
    if (access((folder + name).c_str(), X_OK) == 0) return folder + name;
  return "";
}

/// Returns this host's name as Slurm knows it, without a domain.
std::string host_name() {
  char name[256] = {};
  HOCKET_CHECK(gethostname(name, sizeof name - 1) == 0, "a host has a name");
  const std::string text = name;
  return text.substr(0, text.find('.'));
}

/// Returns all processes that descend from `ancestor`.
std::vector<pid_t> descendants_of(pid_t ancestor) {
  const auto table = host_processes().processes();
  std::vector<pid_t> found = {ancestor};
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const ProcessEntry& process : table)
      if (process.parent == found[i]) found.push_back(process.pid);
  found.erase(found.begin());
  return found;
}

pid_t parent_of(pid_t process) {
  for (const ProcessEntry& entry : host_processes().processes())
    if (entry.pid == process) return entry.parent;
  return 0;
}

}  // namespace

/// A daemon and all processes that it starts, also those that leave it, as those of jobs do.
class SlurmCluster::Daemon {
 public:
  Daemon(std::vector<std::string> command, const std::string& config, std::int64_t grace_ns) {
    ProcessOptions options;
    options.argv = std::move(command);
    options.environment = {{"SLURM_CONF", config}};
    options.grace_ns = grace_ns;
    thread_ = std::thread(
        [this, options] { static_cast<void>(run_process(options, SteadyClock(), stop_)); });
  }
  ~Daemon() {
    stop_.cancel();
    thread_.join();
  }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

 private:
  CancelToken stop_;
  std::thread thread_;
};

std::optional<std::string> SlurmCluster::missing() {
  if (geteuid() != 0) return "not root, which the nodes of a cluster need to be";
  for (const char* const name : {"munged", "slurmctld", "slurmd", "sbatch", "scontrol"}) {
    if (program_path(name).empty())
      return std::string(name) + " is not there; install Debian's slurm-wlm and munge";
  }
  return std::nullopt;
}

SlurmCluster& SlurmCluster::shared() {
  static SlurmCluster cluster(3);
  return cluster;
}

SlurmCluster::SlurmCluster(int nodes) : node_ports_(static_cast<std::size_t>(nodes)) {
  // A socket's path may have 107 bytes, so the folder is not in that of the test.
  std::string name = "/tmp/hocket-slurm-XXXXXX";
  HOCKET_CHECK(mkdtemp(name.data()) != nullptr, "/tmp can be written");
  folder_ = name;
  // munge refuses a socket that not everybody can reach.
  fs::permissions(folder_, fs::perms(0755));
  fs::create_directories(folder_ / "state");
  write_config();
  munge_ = start({program_path("munged"), "--foreground", "--force", "--num-threads=2",
                  "--key-file=" + name + "/munge.key", "--socket=" + name + "/munge.socket",
                  "--pid-file=" + name + "/munge.pid", "--log-file=" + name + "/munge.log",
                  "--seed-file=" + name + "/munge.seed"});
  wait_until([&] { return fs::exists(folder_ / "munge.socket"); }, "munged has its socket");
  nodes_.resize(node_ports_.size());
  start_controller();
  for (int number = 1; number <= nodes; ++number) start_node(number);
  wait_until_idle();
}

SlurmCluster::~SlurmCluster() {
  // The nodes first: they would ask for the controller.
  nodes_.clear();
  controller_.reset();
  munge_.reset();
  std::error_code error;
  fs::remove_all(folder_, error);
}

void SlurmCluster::write_config() const {
  std::string key(1024, '\0');
  std::ifstream("/dev/urandom", std::ios::binary).read(key.data(), 1024);
  std::ofstream(folder_ / "munge.key", std::ios::binary) << key;
  fs::permissions(folder_ / "munge.key", fs::perms(0400));
  const std::string host = host_name(), folder = folder_;
  std::ofstream file(config());
  file << "ClusterName=test\n"
       << "SlurmctldHost=" << host << "(127.0.0.1)\n"
       << "SlurmctldPort=" << controller_port_.port() << "\n"
       << "AuthType=auth/munge\nCryptoType=crypto/munge\n"
       << "AuthInfo=socket=" << folder << "/munge.socket\n"
       << "SlurmUser=root\nSlurmdUser=root\n"
       << "StateSaveLocation=" << folder << "/state\n"
       << "SlurmdSpoolDir=" << folder << "/spool.%n\n"
       << "SlurmctldPidFile=" << folder << "/slurmctld.pid\n"
       << "SlurmdPidFile=" << folder << "/slurmd.%n.pid\n"
       << "SlurmctldLogFile=" << folder << "/slurmctld.log\n"
       << "SlurmdLogFile=" << folder
       << "/slurmd.%n.log\n"
       // Nothing that needs control groups, accounting or a switch.
       << "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
       << "JobAcctGatherType=jobacct_gather/none\n"
       << "AccountingStorageType=accounting_storage/none\n"
       << "SwitchType=switch/none\nMpiDefault=none\n"
       << "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n"
       // Jobs start as soon as they can.
       << "SchedulerType=sched/builtin\n"
       << "SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0\n"
       << "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n"
       // A dead node, a dead controller and a job that stays are noticed soon.
       << "SlurmdTimeout=6\nSlurmctldTimeout=2\nKillWait=2\nOverTimeLimit=0\n"
       << "ReturnToService=2\n"
       // The nodes may have more processors than this host.
       << "SlurmdParameters=config_overrides\n";
  for (std::size_t i = 0; i < node_ports_.size(); ++i) {
    file << "NodeName=n" << i + 1 << " NodeHostname=" << host
         << " NodeAddr=127.0.0.1 Port=" << node_ports_[i].port()
         << " CPUs=2 RealMemory=100 State=UNKNOWN\n";
  }
  const std::string all = "Nodes=n[1-" + std::to_string(node_ports_.size()) + "] State=UP";
  file << "PartitionName=low Default=YES PriorityTier=1 " << all << "\n"
       << "PartitionName=high Default=NO PriorityTier=10 " << all << "\n";
}

std::unique_ptr<SlurmCluster::Daemon> SlurmCluster::start(const std::vector<std::string>& command,
                                                          std::int64_t grace_ns) const {
  return std::make_unique<Daemon>(command, config(), grace_ns);
}

void SlurmCluster::start_controller() {
  // It saves what it knows of jobs.
  constexpr std::int64_t kGraceNs = 30'000'000'000;
  controller_ = start({program_path("slurmctld"), "-D"}, kGraceNs);
}

void SlurmCluster::stop_controller() {
  controller_.reset();
}

void SlurmCluster::start_node(int number) {
  nodes_.at(static_cast<std::size_t>(number - 1)) =
      start({program_path("slurmd"), "-D", "-N", "n" + std::to_string(number)});
}

void SlurmCluster::stop_node(int number) {
  // A daemon's end by itself would let jobs end in good order.
  pid_t daemon = 0;
  std::ifstream(folder_ / ("slurmd.n" + std::to_string(number) + ".pid")) >> daemon;
  const pid_t supervisor = parent_of(daemon);
  HOCKET_CHECK(daemon > 0 && parent_of(supervisor) == getpid(), "the daemon is this program's");
  // The daemon last: at its end the supervisor asks what it left to end, and a job that then ends
  // in good order may be reported as one that did.
  const auto is_gone = [&] {
    auto processes = descendants_of(supervisor);
    std::stable_partition(processes.begin(), processes.end(),
                          [daemon](pid_t process) { return process != daemon; });
    for (const pid_t process : processes) kill(process, SIGKILL);
    return processes.empty();
  };
  wait_until(is_gone, "the processes of a node are gone");
  nodes_.at(static_cast<std::size_t>(number - 1)).reset();
  output_of(
      {"scontrol", "update", "NodeName=n" + std::to_string(number), "State=DOWN", "Reason=lost"});
}

std::string SlurmCluster::output_of(const std::vector<std::string>& command) const {
  ProcessOptions options;
  options.argv = command;
  options.environment = {{"SLURM_CONF", config()}};
  options.time_limit_ns = kCommandLimitNs;
  const CancelToken never;
  const auto result = run_process(options, SteadyClock(), never);
  if (!result) give_up(result.error().message);
  if (!result->succeeded()) give_up(command[0] + ": " + result->stderr_text);
  return result->stdout_text;
}

void SlurmCluster::wait_until_idle() const {
  const auto running =
      std::count_if(nodes_.begin(), nodes_.end(), [](const auto& node) { return node != nullptr; });
  const auto are_idle = [&] {
    ProcessOptions options;
    options.argv = {"sinfo", "--noheader", "--Node", "--partition=low", "--format=/%T/"};
    options.environment = {{"SLURM_CONF", config()}};
    options.time_limit_ns = kCommandLimitNs;
    const CancelToken never;
    const auto result = run_process(options, SteadyClock(), never);
    if (!result || !result->succeeded()) return false;
    std::ptrdiff_t idle = 0;
    for (auto at = result->stdout_text.find("/idle/"); at != std::string::npos;
         at = result->stdout_text.find("/idle/", at + 1)) {
      ++idle;
    }
    return idle == running;
  };
  wait_until(are_idle, "the nodes are idle");
}

void SlurmCluster::wait_until(const std::function<bool()>& holds, const std::string& what) const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) give_up("not within a minute: " + what);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

void SlurmCluster::print_logs() const {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    if (entry.path().extension() != ".log") continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::fprintf(stderr, "%s:\n%s\n", entry.path().c_str(), text.c_str());
  }
}

void SlurmCluster::give_up(const std::string& why) const {
  std::fprintf(stderr, "Slurm for tests: %s\n", why.c_str());
  print_logs();
  std::abort();
}

}  // namespace hocket
