#pragma once

// Lines in which processes of a job tell `hocket doctor` what they have loaded. The doctor names an
// empty file of its own in HOCKET_DOCTOR_FILE; hocket's package for Python
// (plugins/python/hocket/load_report.py) and its plugin for NCCL (plugins/nccl/abi/load_report.h)
// append lines to it, each a JSON object. Whoever runs in the job can write there, so a line is
// read as that of a stranger. Pure functions; thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hocket {

class JsonReader;

inline constexpr std::int64_t kMostLoadReportBytes = 1 << 20;
inline constexpr std::size_t kMostLoadReportLineBytes = 16 << 10;
inline constexpr std::size_t kMostUnreadableLines = 100;

/// When a line is written.
enum class LoadEvent {
  start,     ///< Python has begun, with hocket's hook
  group,     ///< a process has joined the others of its job
  step,      ///< an optimizer has made its first step
  probe,     ///< the doctor's own process has loaded what a job would load
  profiler,  ///< NCCL has opened the plugin's profiler
  tuner,     ///< NCCL has opened the plugin's tuner
  call,      ///< NCCL has asked the tuner for a collective
};

/// A line. Texts are empty, numbers absent and lists empty where they are not known.
struct LoadReport {
  LoadEvent event = LoadEvent::start;
  std::string host;
  std::int64_t pid = 0;
  std::string problem;  ///< why the process could not say more
  std::string python;   ///< the interpreter
  bool is_hooked = false;
  std::string client_library, client_version, client_problem;
  std::string torch, torch_cuda, torch_problem;  ///< versions
  std::string reducer_problem;                   ///< empty: hocket knows the Reducer of `torch`
  std::optional<std::int64_t> rank, ranks, ranks_on_host;
  std::string backend;                             ///< of the job's process group
  std::string nccl, nccl_library, nccl_problem;    ///< version, file
  std::vector<std::int64_t> tuners_asked = {};     ///< versions that NCCL looks for
  std::vector<std::int64_t> profilers_asked = {};  ///< the same of profilers
  std::vector<std::int64_t> tuners = {};           ///< versions that the plugin has
  std::vector<std::int64_t> profilers = {};        ///< the same of profilers
  std::string plugin, plugin_problem;              ///< the plugin's file
  std::optional<std::int64_t> taken, interface, gpus;
  bool uses_nccl = false;  ///< NCCL has made a communicator for certain
};

/// Reads a line's object: fields that it does not know are refused.
void read_load_report(JsonReader& fields, LoadReport& report);

struct LoadReports {
  std::vector<LoadReport> all = {};
  std::size_t unreadable = 0;  ///< lines that are no reports
  std::string problem = {};    ///< of the first of them
};

/// Reads the lines of a file that end in a newline, up to the last of kMostUnreadableLines lines
/// that are no reports: a job that fills the file does not keep the doctor.
LoadReports parse_load_reports(std::string_view text);

/// A process, as all its lines together show it.
struct LoadedProcess {
  std::string host;
  std::int64_t pid = 0;
  LoadReport said = {};  ///< of the last line from Python that has more than its start
  bool has_python = false, has_group = false, has_step = false, has_probe = false;
  std::optional<std::int64_t> tuner = {},
                              profiler = {};  ///< versions in which NCCL has opened the plugin
  bool is_called = false;                     ///< NCCL has asked the tuner for a collective
};

/// Returns the processes by rank, those without one last, in the order of their first lines.
std::vector<LoadedProcess> processes_of(const std::vector<LoadReport>& reports);

/// Returns whether every rank on this host has said what can be known of it; without a host,
/// whether every rank of the job has.
bool have_all_reported(const std::vector<LoadedProcess>& processes,
                       std::optional<std::string_view> host);

}  // namespace hocket
