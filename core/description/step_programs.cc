#include "core/description/step_programs.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kShownNameBytes = 80;

std::string shown(const StepDescription& step, std::size_t program) {
  const std::string& name = step.programs[program].name;
  return "programs[" + std::to_string(program) + "]" +
         (name.empty() ? "" : " (\"" + printable(name, kShownNameBytes) + "\")");
}

/// By axis of the mesh, the indices along it that a program is at.
using AxisPlaces = std::vector<std::vector<std::size_t>>;

Result<AxisPlaces> places_of(const Mesh& mesh, const RankProgram& program,
                             const std::string& shown) {
  const auto axes = mesh.axes();
  AxisPlaces places;
  for (const MeshAxis& axis : axes) {
    auto& all = places.emplace_back(static_cast<std::size_t>(axis.size));
    std::iota(all.begin(), all.end(), std::size_t{0});
  }
  for (const ProgramPlace& place : program.at) {
    const auto found = std::ranges::find(axes, place.axis, &MeshAxis::name);
    if (found == axes.end()) {
      std::string known;
      for (const MeshAxis& axis : axes) known += (known.empty() ? "" : ", ") + axis.name;
      return invalid(shown + ": \"at\" names the axis \"" + printable(place.axis, kShownNameBytes) +
                     "\"; the mesh has " + (known.empty() ? "none, give it \"mesh\"" : known));
    }
    std::vector<std::size_t> indices;
    for (const std::int64_t index : place.indices) {
      if (index < 0 || index >= found->size) {
        return invalid(shown + ": \"at\" expects an index along \"" + found->name +
                       "\" from 0 to " + std::to_string(found->size - 1) + ", found " +
                       std::to_string(index));
      }
      indices.push_back(static_cast<std::size_t>(index));
    }
    std::ranges::sort(indices);
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
    places[static_cast<std::size_t>(found - axes.begin())] = std::move(indices);
  }
  return places;
}

/// Returns the ranks at these places. Ranks are numbered along the last axis first.
std::vector<std::size_t> ranks_at(const AxisPlaces& places, std::span<const MeshAxis> axes) {
  std::vector<std::size_t> ranks{0};
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    std::vector<std::size_t> further;
    for (const std::size_t rank : ranks) {
      for (const std::size_t index : places[axis])
        further.push_back(rank * static_cast<std::size_t>(axes[axis].size) + index);
    }
    ranks = std::move(further);
  }
  return ranks;
}

}  // namespace

std::vector<StepDescription> program_steps(const StepDescription& step) {
  if (step.programs.empty()) return {expand(step)};
  StepDescription common = step;
  common.programs.clear();
  // Long fields that are not of a program are not there many times.
  common.name.clear();
  common.source.clear();
  common.quality = {};
  common.prediction_withheld.clear();
  common.rank_compute_scale.clear();
  std::vector<StepDescription> steps(step.programs.size(), common);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].data = step.programs[i].data;
    steps[i].tasks = step.programs[i].tasks;
  }
  return steps;
}

Result<std::vector<std::uint32_t>> programs_of_ranks(const StepDescription& step) {
  if (step.ranks > kMaxProgramRanks) {
    return invalid("a step whose ranks may differ has at most " + std::to_string(kMaxProgramRanks) +
                   " ranks, found " + std::to_string(step.ranks));
  }
  if (step.ranks % step.ranks_per_host != 0) {
    return invalid("hosts of a step whose ranks may differ have equally many: ranks_per_host (" +
                   std::to_string(step.ranks_per_host) + ") does not divide ranks (" +
                   std::to_string(step.ranks) + ")");
  }
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  const auto ranks = static_cast<std::size_t>(step.ranks);
  if (step.programs.empty()) return std::vector<std::uint32_t>(ranks, 0);
  const Mesh mesh = mesh_of(step);
  std::vector<std::uint32_t> programs(ranks, kNone);
  std::vector<std::size_t> all(ranks);
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (std::size_t i = 0; i < step.programs.size(); ++i) {
    const auto places = places_of(mesh, step.programs[i], shown(step, i));
    HOCKET_TRY(places);
    for (const std::size_t rank : places->empty() ? all : ranks_at(*places, mesh.axes())) {
      if (programs[rank] != kNone) {
        return invalid("rank " + std::to_string(rank) + " has two programs, " +
                       shown(step, programs[rank]) + " and " + shown(step, i) +
                       "; give each rank one by \"at\"");
      }
      programs[rank] = static_cast<std::uint32_t>(i);
    }
  }
  const auto without = std::ranges::find(programs, kNone);
  if (without == programs.end()) return programs;
  return invalid("rank " + std::to_string(without - programs.begin()) +
                 " has no program; give each rank one by \"at\"");
}

bool takes_part_by_rank(const StepDescription& step) {
  const auto& scales = step.rank_compute_scale;
  const bool ranks_differ = step.jitter.kind != JitterKind::none ||
                            (step.servers && step.servers->colocated) ||
                            std::ranges::adjacent_find(scales, std::not_equal_to()) != scales.end();
  const auto is_of_some = [&](const StepTask& task) {
    return task.collective &&
           (is_message(*task.collective) || (ranks_differ && !task.group.axes.is_all()));
  };
  return !step.programs.empty() || std::ranges::any_of(step.tasks, is_of_some);
}

Result<void> check_same_on_all_ranks(const StepDescription& step, const std::string& what) {
  if (!takes_part_by_rank(step)) return {};
  return invalid(what +
                 " is of steps in which all ranks take part in everything; this one has programs, "
                 "messages, or groups of some axes among ranks that differ");
}

}  // namespace hocket
