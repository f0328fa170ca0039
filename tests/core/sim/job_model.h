#pragma once

// A plain simulation of a job whose ranks run different programs, for tests of the simulator: each
// rank, communication and link is there by itself, one part for each communication, one stream, and
// communications begun in order of submission. Nothing is folded, and nothing is fast.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "core/description/step_description.h"
#include "core/description/step_programs.h"
#include "core/sim/part_cost.h"

namespace hocket {

class JobModel {
 public:
  /// A launch of a rank begins when its launch before the last is done.
  JobModel(const StepDescription& step, std::size_t launches, int channels)
      : step_(step),
        mesh_(mesh_of(step)),
        programs_(program_steps(step)),
        channels_(channels),
        ranks_(static_cast<std::size_t>(step.ranks)) {
    const auto program_of = programs_of_ranks(step).value();
    for (std::size_t launch = 0; launch < launches; ++launch) {
      for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
        for (const StepTask& task : programs_[program_of[rank]].tasks) add(rank, launch, task);
      }
    }
  }

  /// Returns when each launch has ended on all ranks; infinity where ranks wait for each other.
  std::vector<double> run() {
    do start_what_can();
    while (go_to_next_event());
    std::vector<double> ends;
    for (const Task& task : tasks_) {
      ends.resize(std::max(ends.size(), task.launch + 1));
      ends[task.launch] = std::max(ends[task.launch], task.end_ns);
    }
    return ends;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  struct Task {
    const StepTask* task = nullptr;
    std::size_t launch = 0;
    std::vector<std::size_t> after;
    std::size_t communication = 0;
    double end_ns = kNever;
  };
  struct Rank {
    std::vector<std::size_t> computes, communications;  // tasks not begun, in order of submission
    std::vector<std::vector<std::size_t>> launches;
    std::size_t running = 0;
    bool is_running = false;
    double running_end_ns = 0;
    int channels_used = 0;
    std::map<std::tuple<CollectiveGroup, std::int64_t, std::int64_t>, std::size_t> count;
  };
  enum class Phase { meeting, overhead, on_links, latency, done };
  struct Communication {
    std::vector<std::uint32_t> ranks;  // that take part
    std::vector<std::size_t> links, tasks;
    std::size_t begun = 0;
    Phase phase = Phase::meeting;
    double next_ns = kNever, left_ns = 0, rate = 0;
    PartCost cost;
  };

  std::size_t host_of(std::uint32_t rank) const {
    return rank / static_cast<std::size_t>(step_.ranks_per_host);
  }
  // Out of each rank, into it, out of each host, into it.
  std::size_t link(std::uint32_t rank, bool crosses_hosts, bool is_in) const {
    const std::size_t at = crosses_hosts ? ranks_.size() + host_of(rank) : rank;
    return 2 * at + (is_in ? 1 : 0);
  }

  void add(std::uint32_t rank, std::size_t launch, const StepTask& task) {
    Rank& own = ranks_[rank];
    own.launches.resize(launch + 1);
    Task added{.task = &task, .launch = launch, .after = {}};
    if (launch >= 2) added.after = own.launches[launch - 2];
    for (std::size_t l = launch < 2 ? 0 : launch - 1; l <= launch; ++l) {
      for (const std::size_t earlier : own.launches[l])
        if (are_ordered(*tasks_[earlier].task, task)) added.after.push_back(earlier);
    }
    if (task.collective) added.communication = communication_of(rank, task);
    own.launches[launch].push_back(tasks_.size());
    (task.collective ? own.communications : own.computes).push_back(tasks_.size());
    tasks_.push_back(std::move(added));
  }
  static bool are_ordered(const StepTask& one, const StepTask& other) {
    return std::ranges::any_of(one.accesses, [&](const Access& a) {
      return std::ranges::any_of(other.accesses, [&](const Access& b) {
        const bool both_read = a.mode == AccessMode::read && b.mode == AccessMode::read;
        return a.data == b.data && !both_read;
      });
    });
  }

  std::size_t communication_of(std::uint32_t rank, const StepTask& task) {
    const auto members = mesh_.ranks_of(task.group, rank);
    const auto at = [&](std::int64_t index) {
      return static_cast<std::uint32_t>(members[static_cast<std::size_t>(index)]);
    };
    std::uint32_t from = rank, to = rank;
    const bool is_pair = is_message(*task.collective);
    if (is_pair) {
      const auto own = std::ranges::find(members, rank) - members.begin();
      const std::int64_t index =
          task.peer->is_relative
              ? (own + task.peer->index + std::ssize(members)) % std::ssize(members)
              : task.peer->index;
      (*task.collective == CollectiveKind::send ? to : from) = at(index);
    }
    const std::int64_t first = is_pair ? from : at(0), second = is_pair ? to : -1;
    const std::size_t number = ranks_[rank].count[{task.group, first, second}]++;
    const auto [found, is_new] =
        numbers_.try_emplace(std::tuple(task.group, first, second, number), communications_.size());
    if (!is_new) return found->second;
    Communication& made = communications_.emplace_back();
    if (is_pair) {
      made.ranks = {from, to};
      const bool crosses = host_of(from) != host_of(to);
      made.links = {link(from, crosses, false), link(to, crosses, true)};
      made.cost = message_cost(step_, crosses);
    } else if (*task.collective == CollectiveKind::shift) {
      make_shift(task, members, made);
    } else {
      for (const std::int64_t member : members)
        made.ranks.push_back(static_cast<std::uint32_t>(member));
      const bool crosses = host_of(made.ranks.front()) != host_of(made.ranks.back());
      for (const std::uint32_t member : made.ranks) {
        made.links.push_back(link(member, crosses, false));
        made.links.push_back(link(member, crosses, true));
      }
      std::ranges::sort(made.links);
      made.links.erase(std::ranges::unique(made.links).begin(), made.links.end());
      made.cost = part_cost_alone(step_, *task.collective, task.group, task.bytes);
    }
    made.left_ns = made.cost.beta_ns_per_byte * static_cast<double>(task.bytes);
    return found->second;
  }

  /// Each member sends to another. A link is listed as often as it is used; where some send to
  /// other hosts, the links inside count for nothing.
  void make_shift(const StepTask& task, const std::vector<std::int64_t>& members,
                  Communication& made) {
    bool crosses = false;
    for (const std::int64_t member : members) {
      made.ranks.push_back(static_cast<std::uint32_t>(member));
      crosses |= host_of(made.ranks.back()) != host_of(made.ranks.front());
    }
    const std::size_t size = members.size();
    for (std::size_t m = 0; m < size; ++m) {
      const std::int64_t distance = task.peer->index + static_cast<std::int64_t>(size);
      const std::uint32_t from = made.ranks[m];
      const std::uint32_t to = made.ranks[(m + static_cast<std::size_t>(distance)) % size];
      if (from == to || (crosses && host_of(from) == host_of(to))) continue;
      made.links.push_back(link(from, crosses, false));
      made.links.push_back(link(to, crosses, true));
    }
    if (task.peer->index % static_cast<std::int64_t>(size) != 0)
      made.cost = message_cost(step_, crosses);
  }

  bool is_ready(const Task& task) const {
    return std::ranges::all_of(task.after,
                               [&](std::size_t i) { return tasks_[i].end_ns <= now_ns_; });
  }

  void start_what_can() {
    for (Rank& rank : ranks_) {
      const auto ready =
          std::ranges::find_if(rank.computes, [&](std::size_t i) { return is_ready(tasks_[i]); });
      if (!rank.is_running && ready != rank.computes.end()) {
        rank.running = *ready;
        rank.is_running = true;
        const double scale =
            step_.rank_compute_scale.empty()
                ? 1
                : step_.rank_compute_scale[static_cast<std::size_t>(&rank - ranks_.data())];
        rank.running_end_ns =
            now_ns_ + std::round(static_cast<double>(tasks_[*ready].task->duration_ns) * scale);
        rank.computes.erase(ready);
      }
      while (!rank.communications.empty() && rank.channels_used < channels_ &&
             is_ready(tasks_[rank.communications.front()])) {
        ++rank.channels_used;
        Communication& begun = communications_[tasks_[rank.communications.front()].communication];
        begun.tasks.push_back(rank.communications.front());
        rank.communications.erase(rank.communications.begin());
        if (++begun.begun < begun.ranks.size()) continue;
        begun.phase = Phase::overhead;
        begun.next_ns = now_ns_ + std::round(begun.cost.alpha_ns);
      }
    }
  }

  /// Raises the rates of all flows alike, until a link is full, then those of the others.
  void share_links() {
    std::vector<Communication*> rising;
    for (Communication& each : communications_)
      if (each.phase == Phase::on_links) rising.push_back(&each);
    std::map<std::size_t, double> left;
    for (Communication* each : rising) {
      each->rate = 1;  // of what it does alone
      for (const std::size_t link : each->links) left[link] = 1;
    }
    while (!rising.empty()) {
      std::map<std::size_t, int> users;
      for (Communication* each : rising)
        for (const std::size_t link : each->links) ++users[link];
      double least = 1;
      for (const auto& [link, count] : users) least = std::min(least, left[link] / count);
      const auto is_limited = [&](Communication* each) {
        return each->links.empty() || std::ranges::any_of(each->links, [&](std::size_t link) {
                 return left[link] / users[link] <= least * (1 + 1e-12);
               });
      };
      std::vector<Communication*> limited, others;
      for (Communication* each : rising) (is_limited(each) ? limited : others).push_back(each);
      for (Communication* each : limited) {
        if (each->links.empty()) continue;
        each->rate = least;
        for (const std::size_t link : each->links) left[link] -= least;
      }
      rising = std::move(others);
    }
  }

  bool go_to_next_event() {
    share_links();
    double next_ns = kNever;
    for (const Rank& rank : ranks_)
      if (rank.is_running) next_ns = std::min(next_ns, rank.running_end_ns);
    for (const Communication& each : communications_) {
      next_ns = std::min(next_ns, each.phase == Phase::on_links ? now_ns_ + each.left_ns / each.rate
                                                                : each.next_ns);
    }
    if (next_ns == kNever) return false;
    const double passed_ns = next_ns - now_ns_;
    now_ns_ = next_ns;
    for (Rank& rank : ranks_) {
      if (!rank.is_running || rank.running_end_ns > now_ns_) continue;
      rank.is_running = false;
      tasks_[rank.running].end_ns = now_ns_;
    }
    for (Communication& each : communications_) {
      if (each.phase == Phase::on_links) {
        each.left_ns -= passed_ns * each.rate;
        if (each.left_ns <= 1e-6) leave(each);
      } else if (each.next_ns <= now_ns_) {
        each.phase == Phase::overhead ? enter(each) : end(each);
      }
    }
    return true;
  }
  void enter(Communication& each) {
    each.phase = Phase::on_links;
    each.next_ns = kNever;
  }
  void leave(Communication& each) {
    each.phase = Phase::latency;
    each.next_ns = now_ns_ + std::round(each.cost.latency_ns);
    for (const std::uint32_t rank : each.ranks) --ranks_[rank].channels_used;
  }
  void end(Communication& each) {
    each.phase = Phase::done;
    each.next_ns = kNever;
    for (const std::size_t task : each.tasks) tasks_[task].end_ns = now_ns_;
  }

  const StepDescription& step_;
  const Mesh mesh_;
  const std::vector<StepDescription> programs_;
  const int channels_;
  double now_ns_ = 0;
  std::vector<Rank> ranks_;
  std::vector<Task> tasks_;
  std::vector<Communication> communications_;
  std::map<std::tuple<CollectiveGroup, std::int64_t, std::int64_t, std::size_t>, std::size_t>
      numbers_;
};

}  // namespace hocket
