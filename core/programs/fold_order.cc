#include "core/programs/fold_order.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/text.h"
#include "core/collective/part_sizes.h"
#include "core/plan/job_order.h"

namespace hocket {
namespace {

constexpr std::size_t kShownNameBytes = 80;
constexpr std::uint32_t kNone = ~std::uint32_t{0};

std::string on_rank(const JobFold& fold, std::size_t of_class) {
  return "rank " + std::to_string(fold.classes[of_class].first_rank);
}

/// Returns the name of a communication as a class has it: the first time, or the last.
std::string named(const JobFold& fold, std::size_t of_class, std::uint32_t communication,
                  bool is_last = false) {
  const auto& begun = fold.begun[of_class];
  auto number = std::ranges::find(begun, communication) - begun.begin();
  if (is_last) number = begun.rend() - std::find(begun.rbegin(), begun.rend(), communication) - 1;
  const RankClass& own = fold.classes[of_class];
  const StepDescription& program = fold.programs[own.program];
  const auto index = static_cast<std::size_t>(number);
  for (const StepTask& task : program.tasks) {
    if (!task.collective || number-- > 0) continue;
    if (fold.details.empty()) return in_words(task, mesh_of(program));
    return in_words(task, fold.details[own.program][index], mesh_of(program), own.first_rank);
  }
  return {};
}

std::string distance_in_words(const StepTask& shift) {
  return " by " + std::to_string(shift.peer->index);
}

/// Returns how the circle of conflicts comes about; `name(conflict.rank, number)` names one of the
/// things that a class begins.
std::string circle_in_words(const JobFold& fold, const OrderCircle& circle, const auto& name) {
  std::string message = "ranks wait for each other in a circle:";
  for (const OrderConflict& step : circle) {
    const auto own = static_cast<std::size_t>(step.rank);
    message += (&step == &circle.front() ? " " : "; ") + on_rank(fold, own) + " begins " +
               name(own, step.before) + " before " + name(own, step.after);
  }
  return message;
}

/// The parts of a job's communications, numbered one communication after the other.
class PartNumbers {
 public:
  PartNumbers(const JobFold& fold, std::int64_t partition_bytes) : fold_(fold) {
    std::vector<std::uint32_t> counts(fold.communications.size());
    for (std::size_t own = 0; own < fold.classes.size(); ++own) {
      std::size_t number = 0;
      for (const StepTask& task : fold.programs[fold.classes[own].program].tasks) {
        if (!task.collective) continue;
        counts[fold.begun[own][number++]] =
            static_cast<std::uint32_t>(part_count(task.bytes, partition_bytes));
      }
    }
    first_.push_back(0);
    for (const std::uint32_t count : counts) first_.push_back(first_.back() + count);
  }

  std::size_t size() const { return first_.back(); }

  /// Returns the parts as a class begins them.
  JobOrder begun(std::size_t own, std::span<const std::uint32_t> order) const {
    std::vector<std::uint32_t> next;
    for (const std::uint32_t communication : fold_.begun[own])
      next.push_back(first_[communication]);
    JobOrder parts;
    parts.reserve(order.size());
    for (const std::uint32_t number : order) parts.push_back(next[number]++);
    return parts;
  }

  /// Returns a part for people.
  std::string name(std::size_t own, std::uint32_t part) const {
    const auto after = std::ranges::upper_bound(first_, part);
    const auto communication = static_cast<std::uint32_t>(after - first_.begin() - 1);
    const std::string whole = named(fold_, own, communication);
    const std::uint32_t first = first_[communication];
    if (*after - first == 1) return whole;
    return "part " + std::to_string(part - first) + " of " + whole;
  }

 private:
  const JobFold& fold_;
  std::vector<std::uint32_t> first_;  // by communication, and one past the end
};

/// The tasks of all classes, with one node for each communication.
class DependencyNodes {
 public:
  DependencyNodes(const JobFold& fold,
                  std::span<const std::shared_ptr<const CapturedStep>> programs)
      : fold_(fold), programs_(programs) {
    auto nodes = static_cast<std::uint32_t>(fold.communications.size());
    for (std::size_t own = 0; own < fold.classes.size(); ++own) {
      auto& of_tasks = nodes_.emplace_back();
      std::size_t number = 0;
      for (const CapturedStep::Task& task : captured(own).tasks())
        of_tasks.push_back(task.is_collective ? fold.begun[own][number++] : nodes++);
    }
    parties_.resize(nodes);
    for (std::uint32_t own = 0; own < fold.classes.size(); ++own) {
      for (std::uint32_t task = 0; task < nodes_[own].size(); ++task)
        parties_[nodes_[own][task]].push_back({own, task});
    }
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(parties_.size()); }

  /// Calls `visit(after, class)` for each node that waits for `node` in a launch, on that class.
  template <class Visit>
  void for_each_after(std::uint32_t node, const Visit& visit) const {
    for (const auto& [own, task] : parties_[node]) {
      const CapturedStep& step = captured(own);
      for (const std::uint32_t slot : step.successors(step.slot_of(task)))
        if (slot < step.size()) visit(nodes_[own][step.index_in(slot)], own);
    }
  }

 private:
  const CapturedStep& captured(std::size_t own) const {
    return *programs_[fold_.classes[own].program];
  }

  struct Party {
    std::uint32_t own = 0, task = 0;
  };

  const JobFold& fold_;
  const std::span<const std::shared_ptr<const CapturedStep>> programs_;
  std::vector<std::vector<std::uint32_t>> nodes_;  // by class and task
  std::vector<std::vector<Party>> parties_;        // by node
};

/// A node of a circle, and the one before it, which it waits for on a class.
struct Wait {
  std::uint32_t node = kNone, for_node = kNone, own = 0;
};

/// Returns a circle of nodes, each of which waits for the next one; empty if there is none.
std::vector<Wait> find_circle(const DependencyNodes& nodes) {
  std::vector<std::uint32_t> waits_for(nodes.size());
  for (std::uint32_t node = 0; node < nodes.size(); ++node)
    nodes.for_each_after(node, [&](std::uint32_t after, std::uint32_t) { ++waits_for[after]; });
  std::vector<std::uint32_t> done;
  done.reserve(nodes.size());
  for (std::uint32_t node = 0; node < nodes.size(); ++node)
    if (waits_for[node] == 0) done.push_back(node);
  for (std::size_t i = 0; i < done.size(); ++i) {
    nodes.for_each_after(done[i], [&](std::uint32_t after, std::uint32_t) {
      if (--waits_for[after] == 0) done.push_back(after);
    });
  }
  if (done.size() == nodes.size()) return {};
  // Each node that is left waits for another one that is.
  std::vector<Wait> waits(nodes.size());
  std::uint32_t at = 0;
  for (std::uint32_t node = 0; node < nodes.size(); ++node) {
    if (waits_for[node] == 0) continue;
    nodes.for_each_after(node, [&](std::uint32_t after, std::uint32_t own) {
      waits[after] = {after, node, own};
      at = after;
    });
  }
  std::vector<bool> is_passed(nodes.size());
  for (; !is_passed[at]; at = waits[at].for_node) is_passed[at] = true;
  std::vector<Wait> circle;
  for (const std::uint32_t first = at; circle.empty() || at != first; at = waits[at].for_node)
    circle.push_back(waits[at]);
  return circle;
}

Result<void> check_own_messages(const JobFold& fold) {
  for (std::size_t own = 0; own < fold.classes.size(); ++own) {
    std::vector<bool> is_begun(fold.communications.size());
    for (const std::uint32_t communication : fold.begun[own]) {
      if (!is_begun[communication]) {
        is_begun[communication] = true;
        continue;
      }
      return invalid("ranks that run alike send to each other: " + on_rank(fold, own) + " has " +
                     named(fold, own, communication) + " and " +
                     named(fold, own, communication, true) +
                     "; let them send and receive in one shift, or give those that send first and "
                     "those that receive first programs of their own");
    }
  }
  return {};
}

}  // namespace

std::string in_words(const StepTask& communication, const Mesh& mesh) {
  const bool is_shift = *communication.collective == CollectiveKind::shift;
  const std::string distance = is_shift ? distance_in_words(communication) : "";
  return "\"" + printable(communication.name, kShownNameBytes) + "\" (" +
         std::string(in_words(*communication.collective)) + distance + " of " +
         std::to_string(communication.bytes) + " bytes in " + mesh.name_of(communication.group) +
         ")";
}

std::string in_words(const StepTask& communication, const CommunicationDetail& detail,
                     const Mesh& mesh, std::int64_t rank) {
  const CollectiveKind kind = *communication.collective;
  std::string peer = kind == CollectiveKind::shift ? distance_in_words(communication) : "";
  if (is_message(kind) || kind == CollectiveKind::broadcast) {
    const std::vector<std::int64_t> members = mesh.ranks_of(communication.group, rank);
    std::int64_t index = detail.root;
    if (communication.peer) {
      index = communication.peer->index;
      if (communication.peer->is_relative)
        index += std::ranges::find(members, rank) - members.begin() + std::ssize(members);
    }
    peer = (kind == CollectiveKind::send ? " to rank " : " from rank ") +
           std::to_string(members[static_cast<std::size_t>(index % std::ssize(members))]);
  }
  return "\"" + printable(communication.name, kShownNameBytes) + "\" (" +
         std::string(in_words(kind)) + " of " + std::to_string(communication.bytes) + " bytes of " +
         std::string(to_string(detail.type)) + peer + " in " + mesh.name_of(communication.group) +
         ")";
}

Result<void> check_order_of_submission(const JobFold& fold) {
  HOCKET_TRY(check_own_messages(fold));
  const auto order = find_job_order(fold.begun, fold.communications.size());
  const auto* circle = std::get_if<OrderCircle>(&order);
  if (!circle) return {};
  return invalid(circle_in_words(fold, *circle,
                                 [&](std::size_t own, std::uint32_t communication) {
                                   return named(fold, own, communication);
                                 }) +
                 "; submit them in one order on all ranks, or set order=static");
}

Result<void> check_part_orders(const JobFold& fold,
                               std::span<const std::vector<std::uint32_t>> orders,
                               std::int64_t partition_bytes) {
  HOCKET_TRY(check_own_messages(fold));
  const PartNumbers parts(fold, partition_bytes);
  std::vector<JobOrder> begun;
  for (std::size_t own = 0; own < fold.classes.size(); ++own)
    begun.push_back(parts.begun(own, orders[fold.classes[own].program]));
  const auto order = find_job_order(begun, parts.size());
  const auto* circle = std::get_if<OrderCircle>(&order);
  if (!circle) return {};
  return invalid(
      circle_in_words(fold, *circle,
                      [&](std::size_t own, std::uint32_t part) { return parts.name(own, part); }) +
      "; give each rank its part of one order of the job, as static_order() returns it");
}

Result<void> check_own_order(const CapturedStep& step, std::span<const std::uint32_t> order) {
  std::vector<std::size_t> first(step.collectives()), last(step.collectives());
  for (std::size_t i = order.size(); i-- > 0;) first[order[i]] = i;
  for (std::size_t i = 0; i < order.size(); ++i) last[order[i]] = i;
  // By slot: the place behind the last part of anything that the task depends on, and that.
  std::vector<std::pair<std::size_t, std::uint32_t>> behind(step.size());
  std::size_t number = 0;
  for (std::uint32_t index = 0; index < step.size(); ++index) {
    const std::uint32_t slot = step.slot_of(index);
    auto end = behind[slot];
    if (step.task(index).is_collective) {
      if (first[number] < end.first) {
        const auto name = [&](std::uint32_t task) {
          return "\"" + printable(step.task(task).name, kShownNameBytes) + "\"";
        };
        return invalid("the static order begins " + name(index) + " before the end of " +
                       name(end.second) +
                       ", which it depends on; take an order that static_order() returns for a "
                       "description of this step");
      }
      end = std::max(end, {last[number++] + 1, index});
    }
    for (const std::uint32_t after : step.successors(slot))
      if (after < step.size()) behind[after] = std::max(behind[after], end);
  }
  return {};
}

Result<void> check_dependencies(const JobFold& fold,
                                std::span<const std::shared_ptr<const CapturedStep>> programs) {
  HOCKET_TRY(check_own_messages(fold));
  std::vector<Wait> circle = find_circle(DependencyNodes(fold, programs));
  if (circle.empty()) return {};
  const auto communicates = [&](const Wait& wait) {
    return wait.node < fold.communications.size();
  };
  // A program alone has no circle, so this one has communications.
  std::rotate(circle.begin(), std::find_if(circle.begin(), circle.end(), communicates),
              circle.end());
  std::string message = "ranks wait for each other in a circle:";
  for (std::size_t i = 0; i < circle.size(); ++i) {
    if (!communicates(circle[i])) continue;
    std::size_t next = i + 1;
    while (next < circle.size() && !communicates(circle[next])) ++next;
    const std::uint32_t own = circle[i].own;
    message += (i == 0 ? " on " : "; on ") + on_rank(fold, own) + " " +
               named(fold, own, circle[i].node) + " waits for " +
               named(fold, own, circle[next % circle.size()].node);
  }
  return invalid(message + "; let one of them wait for less");
}

}  // namespace hocket
