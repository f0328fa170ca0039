#pragma once

// Writes a job's rank as JSON trace events, in the dialects of PyTorch's profiler. Pure.

#include <algorithm>
#include <sstream>
#include <string>

#include "core/step/collective_kind.h"
#include "tests/profiler/formats/dialect_job.h"

namespace hocket::dialects {

enum class Names { nccl_old, nccl_new, rccl, symmetric, gloo, send_receive };

struct Kineto {
  Names names = Names::nccl_new;
  /// Kernels name their group and their number, or only "record_param_comms" does.
  bool says_groups = true, says_numbers = true, on_host_only = false, cuts_ranks = false;
  bool has_steps = true, has_begin_and_end = false, is_bare_array = false;
};

inline std::string spelled(CollectiveKind kind) {
  return kind == CollectiveKind::all_gather ? "AllGather" : "AllReduce";
}

inline std::string kernel_name(Names names, CollectiveKind kind) {
  switch (names) {
    case Names::nccl_old:
      return "ncclKernel_" + spelled(kind) + "_RING_LL_Sum_float(ncclDevComm*, ncclWork*)";
    case Names::nccl_new:
      return "ncclDevKernel_" + spelled(kind) + "_Sum_f32_RING_LL(ncclDevKernelArgsStorage)";
    case Names::rccl:
      return "void rcclGenericKernel<1, false>(ncclDevKernelArgsStorage<4096ul>)";
    case Names::symmetric:
      return "ncclSymkDevKernel_" + spelled(kind) + "_LLMC(ncclSymkDevWorkArgs4K)";
    case Names::gloo:
      return kind == CollectiveKind::all_gather ? "gloo:all_gather" : "gloo:all_reduce";
    case Names::send_receive:
      return "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";
  }
  return "";
}

class KinetoText {
 public:
  KinetoText(const Job& job, std::int64_t rank, const Kineto& dialect)
      : job_(job), rank_(rank), dialect_(dialect) {}

  std::string text() {
    if (dialect_.has_steps) {
      for (std::int64_t step = 0; step < job_.steps; ++step) {
        add("ProfilerStep#" + std::to_string(step), "user_annotation", 1, Job::step_begin_ns(step),
            Job::step_begin_ns(step + 1), "");
      }
    }
    for (const Work& work : job_.work_of(rank_)) add(work);
    if (dialect_.is_bare_array) return "[" + events_ + "]";
    return "{\"schemaVersion\":1,\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":" +
           std::to_string(rank_) + ",\"world_size\":" + std::to_string(job_.ranks) +
           ",\"pg_config\":[" + listed_groups() +
           "]},\"baseTimeNanoseconds\":1700000000000000000,\"traceEvents\":[" + events_ + "]}";
  }

 private:
  static std::string microseconds(std::int64_t ns) {
    const std::string rest = std::to_string(ns % 1000);
    return std::to_string(ns / 1000) + "." + std::string(3 - rest.size(), '0') + rest;
  }

  std::string ranks_of(const Group& group) const {
    std::string ranks;
    for (const std::int64_t rank : group.ranks)
      ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
    return "[" + ranks + "]";
  }

  /// Lists the groups whose name is unique, as a mesh's are not.
  std::string listed_groups() const {
    std::string text;
    for (const Group& group : job_.groups) {
      if (std::ranges::count(job_.groups, group.name, &Group::name) > 1) continue;
      text += (text.empty() ? "" : ",") + std::string("{\"pg_name\":\"") + group.name +
              "\",\"ranks\":" + ranks_of(group) + "}";
    }
    return text;
  }

  std::string details_of(const Work& work) const {
    const Group& group = job_.groups[work.group];
    std::string text =
        "\"Collective name\":\"" +
        std::string(work.collective == CollectiveKind::all_gather ? "allgather" : "allreduce") +
        "\",\"In msg nelems\":250,\"Out msg nelems\":250,\"dtype\":\"Float\"";
    if (dialect_.says_groups) {
      text += ",\"Process Group Name\":\"" + group.name +
              "\",\"Group size\":" + std::to_string(group.ranks.size()) +
              ",\"Process Group Ranks\":\"" +
              (dialect_.cuts_ranks ? "[0, ..., 7]" : ranks_of(group)) + "\"";
    }
    if (dialect_.says_numbers) text += ",\"Seq\":" + std::to_string(100 + work.number);
    return text;
  }

  void add(const Work& work) {
    const std::string id = std::to_string(++id_);
    if (!work.is_collective) {
      const bool is_host = dialect_.names == Names::gloo;
      add(work.name, is_host ? "cpu_op" : "kernel", is_host ? 1 : 7, work.begin_ns, work.end_ns,
          is_host ? "" : "\"stream\":7,\"correlation\":" + id);
      return;
    }
    const std::string name = kernel_name(dialect_.names, work.collective);
    if (dialect_.names == Names::gloo) {
      // Backends on the host take whichever of their threads is free.
      add(name, "user_annotation", 100 + id_ % 2, work.begin_ns, work.end_ns, "");
      return;
    }
    std::string arguments = "\"External id\":" + id + ",\"correlation\":" + id +
                            ",\"stream\":" + std::to_string(20 + work.group);
    const std::string details = details_of(work);
    if (dialect_.names == Names::nccl_old && !dialect_.says_groups && !dialect_.says_numbers) {
      add(name, "kernel", 20, work.begin_ns, work.end_ns, arguments);
      return;
    }
    add("record_param_comms", "cpu_op", 2, work.begin_ns - 500, work.begin_ns - 100,
        "\"External id\":" + id + "," + details);
    if (!dialect_.on_host_only) arguments += "," + details;
    add(name, "kernel", 20, work.begin_ns, work.end_ns, arguments);
  }

  void add(const std::string& name, const std::string& category, std::int64_t thread,
           std::int64_t begin_ns, std::int64_t end_ns, const std::string& arguments) {
    const std::string place = "\"pid\":4,\"tid\":" + std::to_string(thread);
    const std::string what = place + ",\"cat\":\"" + category + "\",\"name\":\"" + name +
                             "\",\"args\":{" + arguments + "}";
    if (!events_.empty()) events_ += ",\n";
    if (dialect_.has_begin_and_end) {
      events_ += "{\"ph\":\"B\",\"ts\":" + microseconds(begin_ns) + "," + what +
                 "},\n{\"ph\":\"E\"," + place + ",\"ts\":" + microseconds(end_ns) + "}";
    } else {
      events_ += "{\"ph\":\"X\",\"ts\":" + microseconds(begin_ns) +
                 ",\"dur\":" + microseconds(end_ns - begin_ns) + "," + what + "}";
    }
  }

  const Job& job_;
  const std::int64_t rank_;
  const Kineto dialect_;
  std::int64_t id_ = 0;
  std::string events_;
};

}  // namespace hocket::dialects
