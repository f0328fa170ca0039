#include "core/programs/job_fold.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/check.h"
#include "core/base/text.h"
#include "core/description/step_programs.h"
#include "core/programs/fold_order.h"
#include "core/step/mesh.h"

namespace hocket {
namespace {

/// Ranks that are not sorted into classes by then become a class each, which is always right.
constexpr int kMostRefinements = 64;
constexpr std::size_t kMessageNameBytes = 80;

using Colours = std::vector<std::uint32_t>;

/// The groups of one kind: their ranks, and each rank's place in its own.
struct Groups {
  std::vector<std::vector<std::uint32_t>> ranks;
  std::vector<std::uint32_t> group_of, index_in;  // by rank
  std::vector<std::uint32_t> lowest_class;        // by group, once there are classes
};

Groups groups_of(const Mesh& mesh, CollectiveGroup group) {
  Groups groups;
  std::map<std::int64_t, std::uint32_t> by_first;
  for (std::int64_t rank = 0; rank < mesh.grid().ranks; ++rank) {
    const auto [found, is_new] = by_first.try_emplace(
        mesh.first_rank(group, rank), static_cast<std::uint32_t>(groups.ranks.size()));
    if (is_new) groups.ranks.emplace_back();
    auto& members = groups.ranks[found->second];
    groups.group_of.push_back(found->second);
    groups.index_in.push_back(static_cast<std::uint32_t>(members.size()));
    members.push_back(static_cast<std::uint32_t>(rank));
  }
  return groups;
}

/// A group that a program communicates in: with all of its ranks, or with one as a message.
struct Relation {
  CollectiveGroup group;
  std::optional<MessagePeer> peer;
  bool sends = false;

  auto key() const {
    return std::tuple(group, peer.has_value(), peer ? peer->index : 0, peer && peer->is_relative,
                      sends);
  }
  bool operator<(const Relation& other) const { return key() < other.key(); }
};

Relation relation_of(const StepTask& task) {
  // All of a group take part in a shift.
  if (!is_message(*task.collective)) return {task.group, std::nullopt};
  return {task.group, task.peer, *task.collective == CollectiveKind::send};
}

/// Returns how far a shift goes, round the end; 0 for other communications.
std::int64_t distance_of(const StepTask& task, const Mesh& mesh) {
  if (*task.collective != CollectiveKind::shift) return 0;
  const std::int64_t size = mesh.size_of(task.group);
  return (task.peer->index % size + size) % size;
}

/// Gives numbers to values, in order of their appearance.
template <class Value>
class Numbers {
 public:
  std::uint32_t of(Value value) {
    return numbers_.try_emplace(std::move(value), static_cast<std::uint32_t>(numbers_.size()))
        .first->second;
  }
  std::size_t size() const { return numbers_.size(); }

 private:
  std::map<Value, std::uint32_t> numbers_;
};

class Folder {
 public:
  /// `scales` are those of the ranks' computations; empty: 1. `is_each_alone` makes each rank a
  /// class of its own.
  Folder(JobPrograms job, std::span<const double> scales, bool is_each_alone)
      : scales_(scales),
        is_each_alone_(is_each_alone),
        mesh_(mesh_of(job.steps.front())),
        ranks_per_host_(mesh_.grid().ranks_per_host),
        program_of_(std::move(job.program_of)) {
    fold_.programs = std::move(job.steps);
    fold_.details = std::move(job.details);
  }

  Result<JobFold> run(std::size_t most_begun) {
    note_relations();
    HOCKET_TRY(refine());
    make_classes();
    HOCKET_TRY(check_size(most_begun));
    for (std::uint32_t own = 0; own < fold_.classes.size(); ++own) HOCKET_TRY(match(own));
    HOCKET_TRY(check_members());
    add_uses();
    return std::move(fold_);
  }

 private:
  /// Tells one communication from others, once ranks are folded.
  struct Key {
    CollectiveGroup group;
    bool is_message = false;
    std::uint32_t first = 0;     // lowest class of the group, or that of the sender
    std::uint32_t second = 0;    // that of the receiver
    std::uint32_t distance = 0;  // of a message
    std::uint32_t number = 0;    // among those alike in all else

    auto operator<=>(const Key&) const = default;
  };
  /// A communication, and the classes that have it so far.
  struct Party {
    const StepTask* task = nullptr;               // as the first one has it
    const CommunicationDetail* detail = nullptr;  // likewise, if it is known
    std::uint32_t first_class = 0;
    Key key;
    std::vector<std::uint32_t> classes;  // of those that have it
    bool is_sent = false, is_received = false;
  };

  void note_relations() {
    relations_.resize(fold_.programs.size());
    for (std::size_t p = 0; p < fold_.programs.size(); ++p) {
      std::set<Relation> found;
      for (const StepTask& task : fold_.programs[p].tasks) {
        if (!task.collective) continue;
        groups_.try_emplace(task.group);
        found.insert(relation_of(task));
      }
      relations_[p].assign(found.begin(), found.end());
    }
    for (auto& [group, groups] : groups_) groups = groups_of(mesh_, group);
  }

  std::uint32_t peer_of(const Relation& relation, std::uint32_t rank) const {
    const Groups& groups = groups_.at(relation.group);
    const auto& members = groups.ranks[groups.group_of[rank]];
    const auto size = std::ssize(members);
    std::int64_t index = relation.peer->index;
    if (relation.peer->is_relative) index = (groups.index_in[rank] + index + size) % size;
    return members[static_cast<std::size_t>(index)];
  }
  std::int64_t host_of(std::uint32_t rank) const { return rank / ranks_per_host_; }

  Result<void> refine() {
    const auto ranks = static_cast<std::uint32_t>(program_of_.size());
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      for (const Relation& relation : relations_[program_of_[rank]]) {
        if (!relation.peer || peer_of(relation, rank) != rank) continue;
        const auto& tasks = fold_.programs[program_of_[rank]].tasks;
        const auto task = std::ranges::find_if(tasks, [&](const StepTask& other) {
          return other.collective && relation_of(other).key() == relation.key();
        });
        return invalid("rank " + std::to_string(rank) + " has a message to itself in " +
                       mesh_.name_of(relation.group) + ", \"" +
                       printable(task->name, kMessageNameBytes) + "\"; name another peer");
      }
    }
    using First = std::tuple<std::uint32_t, double, std::uint32_t>;
    Numbers<First> first;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      colours_.push_back(first.of({program_of_[rank], scale_of(rank), is_each_alone_ ? rank : 0}));
    std::size_t colours = first.size();
    for (int round = 0; colours < ranks; ++round) {
      if (round == kMostRefinements) {
        for (std::uint32_t rank = 0; rank < ranks; ++rank) colours_[rank] = rank;
        return {};
      }
      const std::size_t before = std::exchange(colours, refine_once());
      if (colours == before) return {};
    }
    return {};
  }

  double scale_of(std::uint32_t rank) const { return scales_.empty() ? 1 : scales_[rank]; }

  /// Returns a number for the colours of these ranks, whatever their order.
  std::uint32_t number_of(std::span<const std::uint32_t> ranks, Numbers<Colours>& numbers) const {
    Colours found;
    found.reserve(ranks.size());
    for (const std::uint32_t rank : ranks) found.push_back(colours_[rank]);
    std::ranges::sort(found);
    return numbers.of(std::move(found));
  }

  std::size_t refine_once() {
    const auto ranks = static_cast<std::uint32_t>(program_of_.size());
    Numbers<Colours> sets;
    std::map<CollectiveGroup, Colours> set_of_group;
    for (const auto& [group, groups] : groups_)
      for (const auto& members : groups.ranks)
        set_of_group[group].push_back(number_of(members, sets));
    Colours set_of_host;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      if (host_of(rank) < std::ssize(set_of_host)) continue;
      std::vector<std::uint32_t> on_host;
      for (std::uint32_t other = rank; other < ranks && host_of(other) == host_of(rank); ++other)
        on_host.push_back(other);
      set_of_host.push_back(number_of(on_host, sets));
    }
    Numbers<Colours> next;
    Colours colours;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      Colours seen{colours_[rank], set_of_host[static_cast<std::size_t>(host_of(rank))]};
      for (const Relation& relation : relations_[program_of_[rank]]) {
        if (relation.peer) {
          const std::uint32_t peer = peer_of(relation, rank);
          seen.push_back(colours_[peer]);
          seen.push_back(host_of(peer) == host_of(rank) ? 0 : 1);
        } else {
          seen.push_back(set_of_group[relation.group][groups_[relation.group].group_of[rank]]);
        }
      }
      colours.push_back(next.of(std::move(seen)));
    }
    colours_ = std::move(colours);
    return next.size();
  }

  void make_classes() {
    Numbers<std::uint32_t> numbers;
    for (std::uint32_t rank = 0; rank < program_of_.size(); ++rank) {
      const std::uint32_t own = numbers.of(colours_[rank]);
      if (own == fold_.classes.size())
        fold_.classes.push_back({rank, 0, scale_of(rank), program_of_[rank]});
      ++fold_.classes[own].ranks;
      fold_.class_of.push_back(own);
    }
    fold_.begun.resize(fold_.classes.size());
    for (auto& [group, groups] : groups_) {
      groups.lowest_class.assign(groups.ranks.size(), ~std::uint32_t{0});
      for (std::uint32_t rank = 0; rank < fold_.class_of.size(); ++rank) {
        std::uint32_t& lowest = groups.lowest_class[groups.group_of[rank]];
        lowest = std::min(lowest, fold_.class_of[rank]);
      }
    }
  }

  Result<void> check_size(std::size_t most_begun) const {
    std::vector<std::size_t> of_programs;
    for (const StepDescription& program : fold_.programs) {
      of_programs.push_back(static_cast<std::size_t>(std::ranges::count_if(
          program.tasks, [](const StepTask& task) { return task.collective.has_value(); })));
    }
    std::size_t begun = 0;
    for (const RankClass& own : fold_.classes) begun += of_programs[own.program];
    if (begun <= most_begun) return {};
    return invalid(std::to_string(fold_.classes.size()) + " ranks that differ have " +
                   std::to_string(begun) + " communications together, more than the " +
                   std::to_string(most_begun) + " that are compared");
  }

  std::uint32_t first_rank(std::uint32_t of_class) const {
    return static_cast<std::uint32_t>(fold_.classes[of_class].first_rank);
  }

  Key key_of(const StepTask& task, std::uint32_t rank) const {
    const Relation relation = relation_of(task);
    const Groups& groups = groups_.at(task.group);
    const auto& members = groups.ranks[groups.group_of[rank]];
    Key key{.group = task.group};
    if (!relation.peer) {
      key.first = groups.lowest_class[groups.group_of[rank]];
      return key;
    }
    const std::uint32_t peer = peer_of(relation, rank);
    const std::uint32_t from = relation.sends ? rank : peer, to = relation.sends ? peer : rank;
    const auto size = static_cast<std::uint32_t>(members.size());
    key.is_message = true;
    key.first = fold_.class_of[from];
    key.second = fold_.class_of[to];
    key.distance = (groups.index_in[to] + size - groups.index_in[from]) % size;
    return key;
  }

  /// Adds the communications of a class, each matched with those of others.
  Result<void> match(std::uint32_t own) {
    const std::uint32_t rank = first_rank(own);
    const std::uint32_t program = fold_.classes[own].program;
    const CommunicationDetail* next_detail =
        fold_.details.empty() ? nullptr : fold_.details[program].data();
    std::map<std::pair<Key, bool>, std::uint32_t> count;
    for (const StepTask& task : fold_.programs[program].tasks) {
      if (!task.collective) continue;
      const CommunicationDetail* const detail = next_detail ? next_detail++ : nullptr;
      Key key = key_of(task, rank);
      const bool sends = *task.collective == CollectiveKind::send;
      key.number = count[{key, sends}]++;
      const auto [found, is_new] =
          numbers_.try_emplace(key, static_cast<std::uint32_t>(parties_.size()));
      if (is_new) parties_.push_back({&task, detail, own, key, {}});
      Party& party = parties_[found->second];
      if (!is_alike(party, task, detail)) {
        const std::uint32_t other = partner_of(party, task, rank);
        return invalid("ranks " + std::to_string(other) + " and " + std::to_string(rank) +
                       " have different communications in the same place of a group: " +
                       words_of(*party.task, other, party.detail) + " and " +
                       words_of(task, rank, detail));
      }
      (sends ? party.is_sent : party.is_received) = true;
      party.classes.push_back(own);
      fold_.begun[own].push_back(found->second);
    }
    return {};
  }

  bool is_alike(const Party& party, const StepTask& task, const CommunicationDetail* detail) const {
    const bool is_same =
        party.key.is_message || (*party.task->collective == *task.collective &&
                                 distance_of(*party.task, mesh_) == distance_of(task, mesh_));
    return is_same && party.task->bytes == task.bytes && (!detail || *party.detail == *detail);
  }

  /// Returns a rank of the first class of `party` with which `rank` has `task`.
  std::uint32_t partner_of(const Party& party, const StepTask& task, std::uint32_t rank) const {
    const Relation relation = relation_of(task);
    if (relation.peer) return peer_of(relation, rank);
    const Groups& groups = groups_.at(task.group);
    const auto& members = groups.ranks[groups.group_of[rank]];
    return *std::ranges::find_if(
        members, [&](std::uint32_t member) { return fold_.class_of[member] == party.first_class; });
  }

  std::string words_of(const StepTask& task, std::uint32_t rank,
                       const CommunicationDetail* detail) const {
    return detail ? in_words(task, *detail, mesh_, rank) : in_words(task, mesh_);
  }

  Result<void> check_members() {
    std::vector<const Party*> has(fold_.classes.size());
    for (const Party& party : parties_) {
      const std::uint32_t rank = first_rank(party.first_class);
      const auto missing = [&](std::uint32_t other) {
        return invalid("rank " + std::to_string(other) + " never takes part in " +
                       words_of(*party.task, rank, party.detail) + ", which rank " +
                       std::to_string(rank) + " has");
      };
      if (party.key.is_message) {
        if (party.is_sent && party.is_received) continue;
        return missing(peer_of(relation_of(*party.task), rank));
      }
      for (const std::uint32_t of_class : party.classes) has[of_class] = &party;
      const Groups& groups = groups_[party.key.group];
      for (const std::uint32_t member : groups.ranks[groups.group_of[rank]])
        if (has[fold_.class_of[member]] != &party) return missing(member);
    }
    return {};
  }

  std::uint32_t port_of(std::uint32_t of_class) const { return 2 * of_class; }
  /// Returns the number of the links of the hosts that are alike to that of the class.
  std::uint32_t network_of(std::uint32_t of_class) {
    const std::int64_t host = host_of(first_rank(of_class));
    Colours classes;
    for (std::uint32_t rank : ranks_on(host)) classes.push_back(fold_.class_of[rank]);
    std::ranges::sort(classes);
    return 2 * static_cast<std::uint32_t>(fold_.classes.size() + hosts_.of(std::move(classes)));
  }
  std::vector<std::uint32_t> ranks_on(std::int64_t host) const {
    std::vector<std::uint32_t> ranks;
    const auto end = std::min((host + 1) * ranks_per_host_, std::ssize(program_of_));
    for (std::int64_t rank = host * ranks_per_host_; rank < end; ++rank)
      ranks.push_back(static_cast<std::uint32_t>(rank));
    return ranks;
  }

  void add_uses() {
    std::map<Key, std::uint32_t> first_alike;
    for (const Party& party : parties_) {
      Key alike = party.key;
      alike.number = 0;
      if (*party.task->collective == CollectiveKind::shift)
        alike.distance = static_cast<std::uint32_t>(1 + distance_of(*party.task, mesh_));
      const auto [found, is_new] =
          first_alike.try_emplace(alike, static_cast<std::uint32_t>(fold_.communications.size()));
      fold_.communications.push_back(is_new ? communication_of(party)
                                            : fold_.communications[found->second]);
    }
    fold_.links = 2 * (fold_.classes.size() + hosts_.size());
  }

  FoldedCommunication communication_of(const Party& party) {
    return party.key.is_message ? message_of(party.key, *party.task, party.first_class)
                                : collective_of(party.key, *party.task, party.first_class);
  }

  FoldedCommunication message_of(const Key& key, const StepTask& task, std::uint32_t own) {
    const std::uint32_t rank = first_rank(own);
    FoldedCommunication message;
    message.members = {key.first, key.second};
    message.crosses_hosts = host_of(rank) != host_of(peer_of(relation_of(task), rank));
    if (!message.crosses_hosts) {
      message.uses = {{port_of(key.first), 1}, {port_of(key.second) + 1, 1}};
      return message;
    }
    const auto ranks_beside = [&](std::uint32_t of_class) {
      return static_cast<double>(std::ranges::count_if(
          ranks_on(host_of(first_rank(of_class))),
          [&](std::uint32_t other) { return fold_.class_of[other] == of_class; }));
    };
    message.uses = {{network_of(key.first), ranks_beside(key.first)},
                    {network_of(key.second) + 1, ranks_beside(key.second)}};
    return message;
  }

  FoldedCommunication collective_of(const Key& key, const StepTask& task, std::uint32_t own) {
    const Groups& groups = groups_[key.group];
    const auto& ranks = groups.ranks[groups.group_of[first_rank(own)]];
    FoldedCommunication collective;
    for (const std::uint32_t rank : ranks) {
      collective.members.push_back(fold_.class_of[rank]);
      collective.crosses_hosts |= host_of(rank) != host_of(ranks.front());
    }
    std::ranges::sort(collective.members);
    collective.members.erase(std::unique(collective.members.begin(), collective.members.end()),
                             collective.members.end());
    const bool is_shift = *task.collective == CollectiveKind::shift;
    const std::int64_t distance = distance_of(task, mesh_);
    if (is_shift && distance == 0) return collective;
    const double times_beside =
        is_shift ? static_cast<double>(mesh_.shifted_off_host(task.group, distance)) : 1;
    std::map<std::uint32_t, double> times;
    for (const std::uint32_t member : collective.members) {
      const std::uint32_t link = collective.crosses_hosts ? network_of(member) : port_of(member);
      times[link] = collective.crosses_hosts ? groups_beside(key, member) * times_beside : 1;
    }
    for (const auto& [link, count] : times) {
      collective.uses.push_back({link, count});
      collective.uses.push_back({link + 1, count});
    }
    return collective;
  }

  /// Returns how many groups alike to that of `key` have ranks on the host of a class.
  double groups_beside(const Key& key, std::uint32_t of_class) {
    const Groups& groups = groups_[key.group];
    std::vector<std::uint32_t> found;
    for (const std::uint32_t rank : ranks_on(host_of(first_rank(of_class)))) {
      if (groups.lowest_class[groups.group_of[rank]] != key.first) continue;
      if (std::ranges::find(found, groups.group_of[rank]) == found.end())
        found.push_back(groups.group_of[rank]);
    }
    return static_cast<double>(found.size());
  }

  const std::span<const double> scales_;
  const bool is_each_alone_;
  const Mesh mesh_;
  const std::int64_t ranks_per_host_;
  const std::vector<std::uint32_t> program_of_;
  std::vector<std::vector<Relation>> relations_;  // by program
  std::map<CollectiveGroup, Groups> groups_;
  Colours colours_;  // by rank
  JobFold fold_;
  std::map<Key, std::uint32_t> numbers_;
  std::vector<Party> parties_;
  Numbers<Colours> hosts_;
};

}  // namespace

Result<JobFold> fold_job(const StepDescription& step) {
  auto programs = programs_of_ranks(step);
  HOCKET_TRY(programs);
  JobPrograms job{program_steps(step), {}, std::move(*programs)};
  return Folder(std::move(job), step.rank_compute_scale, step.jitter.kind != JitterKind::none)
      .run(std::numeric_limits<std::size_t>::max());
}

Result<JobFold> fold_programs(JobPrograms job) {
  return Folder(std::move(job), {}, false).run(kMostFoldedBegun);
}

std::vector<std::uint32_t> order_of_class(const JobFold& fold, std::size_t of_class,
                                          std::span<const std::uint32_t> order) {
  constexpr std::uint32_t kNotBegun = ~std::uint32_t{0};
  const auto& begun = fold.begun[of_class];
  std::vector<std::uint32_t> numbers(fold.communications.size(), kNotBegun);
  for (std::uint32_t number = 0; number < begun.size(); ++number) numbers[begun[number]] = number;
  std::vector<std::uint32_t> own;
  for (const std::uint32_t communication : order)
    if (numbers[communication] != kNotBegun) own.push_back(numbers[communication]);
  return own;
}

}  // namespace hocket
