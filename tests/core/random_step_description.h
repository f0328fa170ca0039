#pragma once

// Random step descriptions with arbitrary field values, for tests, reproducible by seed.

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/description/step_description.h"

namespace hocket {

/// A description with its parts in the order in which reading creates them.
class RandomStepDescription {
 public:
  explicit RandomStepDescription(std::uint64_t seed) : random_(seed) {}

  StepDescription make() {
    step_.name = text();
    step_.source = text();
    step_.ranks = 1 + below(8);
    step_.ranks_per_host = 1 + below(8);
    step_.collective = cost();
    if (below(2)) step_.collective_inside = cost();
    if (below(2)) step_.collective_between = cost();
    step_.micro_batch_bytes = below(2) * below(1 << 30);
    step_.memory_limit_bytes = below(2) * below(kMaxStepBytes);
    step_.compute_slowdown = number(100);
    if (below(2)) step_.cluster = Cluster{link(), link(), CollectiveAlgorithm(below(3))};
    if (below(2)) {
      step_.servers = StepServers{.servers = 1 + below(5),
                                  .rank_link = link(),
                                  .server_link = link(),
                                  .colocated = below(2) == 1,
                                  .alpha_ns = number(1e6),
                                  .overhead_bytes = number(1e5)};
    }
    if (below(2))
      for (int i = 0; i < step_.ranks; ++i) step_.rank_compute_scale.push_back(0.1 + number(9));
    if (below(2))
      step_.jitter = {JitterKind(below(5)), number(1), static_cast<std::uint64_t>(below(1 << 30))};
    if (below(2)) step_.quality = {1 + number(50), "busy"};
    if (below(4) == 0) step_.prediction_withheld = "bytes are not known";
    if (step_.cluster && below(2)) add_mesh();
    if (below(2)) step_.message = cost();
    if (!step_.mesh.empty() && !step_.servers && below(2)) {
      add_programs();
      return step_;
    }
    const auto count = 1 + below(20);
    const bool simple = below(2);
    for (int i = 0; i < count; ++i) simple ? add_layer() : add_task(i);
    return step_;
  }

 private:
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  double number(double high) {
    return below(4) ? std::uniform_real_distribution<double>(0, high)(random_) : 0;
  }
  PartCost cost() { return {number(1e6), number(5), number(1e6)}; }
  LinkSpec link() { return {1e6 + number(1e11), below(1'000'000)}; }
  std::string text() {
    static const std::vector<std::string> texts{"", "x", "a \"b\"\n", "é\u2028", "after:1"};
    return texts[static_cast<std::size_t>(below(5))];
  }

  /// Axes of hosts of their own, and one within the hosts.
  void add_mesh() {
    if (step_.ranks % step_.ranks_per_host != 0) return;
    step_.mesh = {{"pipeline", 1},
                  {"data", step_.ranks / step_.ranks_per_host},
                  {"tensor", step_.ranks_per_host}};
  }

  /// One program for all ranks, or two by their place along an axis.
  void add_programs() {
    const MeshAxis& axis = step_.mesh[1];
    const bool is_for_all = axis.size == 1 || below(2) == 0;
    for (int i = 0; i < (is_for_all ? 1 : 2); ++i) {
      RankProgram& program = step_.programs.emplace_back();
      program.name = text();
      if (!is_for_all) {
        auto& indices = program.at.emplace_back(ProgramPlace{axis.name, {}}).indices;
        for (std::int64_t at = i; at < axis.size; at += i == 0 ? axis.size : 1)
          indices.push_back(at);
      }
      const auto count = 1 + below(10);
      for (int task = 0; task < count; ++task) add_task(task);
      program.data = std::exchange(step_.data, {});
      program.tasks = std::exchange(step_.tasks, {});
      indices_.clear();
    }
  }

  void add_layer() {
    step_.layers.push_back({text(), below(1 << 30), below(1'000'000'000), below(1'000'000'000)});
  }

  void add_task(int index) {
    StepTask task;
    if (below(3)) task.name = std::to_string(index);
    task.priority = static_cast<std::uint32_t>(below(kPriorityLevels));
    if (below(2)) {
      const auto kind = static_cast<std::size_t>(below(std::ssize(kCollectiveKinds)));
      task.collective = kCollectiveKinds[kind];
      task.bytes = 1 + below(1 << 30);
      if (step_.ranks % step_.ranks_per_host == 0)
        task.group = kWorldGroups[static_cast<std::size_t>(below(3))];
      // A set of all axes is read as the world.
      if (!step_.mesh.empty() && below(2))
        task.group.axes = AxisSet::of(static_cast<std::size_t>(below(3)));
      if (step_.message && below(3) == 0) make_message(task);
      if (task.collective == CollectiveKind::shift) make_shift(task);
    } else {
      task.duration_ns = below(1'000'000'000);
    }
    std::set<std::int64_t> used;
    for (const auto mode : {AccessMode::read, AccessMode::write, AccessMode::update}) {
      for (auto left = below(3); left > 0; --left) {
        const auto which = below(12);
        if (used.insert(which).second)
          task.accesses.push_back({data("data " + std::to_string(which)), mode});
      }
    }
    task.place.region = text();
    if (below(2)) task.place.micro_batch = static_cast<std::uint32_t>(below(65'536));
    for (auto left = task.collective ? 0 : below(3); left > 0; --left) add_dimension(task);
    step_.tasks.push_back(std::move(task));
  }

  void make_message(StepTask& task) {
    const std::int64_t size =
        task.group == CollectiveGroup::world ? step_.ranks : mesh_of(step_).size_of(task.group);
    const bool is_relative = below(2) == 1;
    task.collective = below(2) ? CollectiveKind::send : CollectiveKind::receive;
    task.peer = {.index = below(size) * (is_relative && below(2) ? -1 : 1),
                 .is_relative = is_relative};
  }

  void make_shift(StepTask& task) {
    if (step_.ranks % step_.ranks_per_host != 0 || !(step_.cluster || step_.message)) {
      task.collective = CollectiveKind::broadcast;
      return;
    }
    const std::int64_t size = mesh_of(step_).size_of(task.group);
    task.peer = {.index = below(2 * size - 1) - size + 1, .is_relative = true};
  }

  void add_dimension(StepTask& task) {
    auto& dimensions = task.place.dimensions;
    Dimension dimension{.name = std::to_string(dimensions.size()),
                        .kind = DimensionKind(below(3)),
                        .extent = 1 + below(5000),
                        .slices = {}};
    for (const Access& access : task.accesses) {
      if (below(2)) continue;
      dimension.slices.push_back(
          {access.data, below(3) * below(1 << 20), below(4096), below(3) * 64, below(2) == 0});
    }
    dimensions.push_back(std::move(dimension));
  }

  DataId data(const std::string& name) {
    const auto [at, is_new] =
        indices_.try_emplace(name, static_cast<std::uint32_t>(step_.data.size()));
    if (is_new) step_.data.push_back(name);
    return {at->second};
  }

  std::mt19937_64 random_;
  StepDescription step_;
  std::map<std::string, std::uint32_t> indices_;
};

}  // namespace hocket
