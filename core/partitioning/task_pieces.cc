#include "core/partitioning/task_pieces.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/partitioning/collective_stages.h"
#include "core/partitioning/data_chunks.h"
#include "core/partitioning/workload_cuts.h"

namespace hocket::partitioning {
namespace {

/// Bounds pieces and accesses, so that a step of the largest size in the smallest pieces is refused
/// before it exhausts memory.
constexpr std::int64_t kMaxPieces = kMaxStepTasks;
constexpr std::size_t kMaxAccesses = 16 * kMaxStepTasks;

/// An item and its cut.
struct CutItem {
  const Sources* sources = nullptr;
  const Rule* rule = nullptr;
  std::uint32_t rule_index = 0;
  std::optional<CollectiveCut> collective;
  /// Set for a computation that is divided.
  std::optional<ComputeCut> computation;
  std::vector<Stage> stages;
};

/// Returns "NAME[2]"; an unnamed task has unnamed pieces.
std::string piece_name(const std::string& name, std::int64_t index, std::int64_t pieces) {
  return name.empty() || pieces == 1 ? name : name + "[" + std::to_string(index) + "]";
}

std::string bucket_name(const StepDescription& step, const Sources& sources) {
  const std::string& first = step.tasks[sources.front()].name;
  if (sources.size() == 1 || first.empty()) return first;
  return first + " to " + step.tasks[sources.back()].name;
}

class PieceMaker {
 public:
  PieceMaker(const StepDescription& step, const Rules& rules, const std::vector<Sources>& items)
      : step_(step), chunks_(step.data.size()) {
    const auto communicated = communicated_data(step);
    const Mesh mesh = mesh_of(step);
    items_.reserve(items.size());
    for (const Sources& sources : items) {
      CutItem& item = items_.emplace_back();
      const StepTask& task = step.tasks[sources.front()];
      item.sources = &sources;
      item.rule_index = rules.of_task[sources.front()];
      item.rule = &rules.rules[item.rule_index];
      if (task.collective) {
        item.collective = cut_collective(step, sources, *item.rule);
        item.stages =
            changes_data(task)
                ? stages_of(*task.collective, task.group, *item.rule, mesh.grid_of(task.group.axes))
                : std::vector<Stage>{{*task.collective, task.group, false}};
      } else {
        item.computation = cut_computation(task, *item.rule, communicated);
      }
    }
  }

  Result<Pieces> make() {
    const auto count = count_pieces();
    HOCKET_TRY(count);
    made_.pieces.reserve(static_cast<std::size_t>(*count));
    made_.data = step_.data;
    cut_data();
    chunks_.finish(made_.data);
    touched_by_.resize(made_.data.size(), 0);
    for (const CutItem& item : items_) {
      ++item_number_;
      item.collective ? make_collective(item) : make_computation(item);
      if (accesses_ > kMaxAccesses) return failure(too_fine(item, "accesses of data"));
    }
    return std::move(made_);
  }

 private:
  /// Returns whether `task` changes data, which its stages need to depend on each other.
  static bool changes_data(const StepTask& task) {
    return std::any_of(task.accesses.begin(), task.accesses.end(),
                       [](const Access& access) { return access.mode != AccessMode::read; });
  }

  Error too_fine(const CutItem& item, const char* what) const {
    const std::string field = path_of(*item.rule, "partition_bytes");
    return {ErrorCode::invalid_argument,
            field + ": found " + std::to_string(item.rule->partition_bytes) +
                ", which makes too many " + what + " out of this step, at the task \"" +
                step_.tasks[item.sources->front()].name + "\"; raise it"};
  }

  Result<std::int64_t> count_pieces() const {
    std::int64_t count = 0;
    for (const CutItem& item : items_) {
      count += item.collective
                   ? item.collective->pieces * static_cast<std::int64_t>(item.stages.size())
                   : item.computation.value_or(ComputeCut{}).pieces;
      if (count > kMaxPieces) return failure(too_fine(item, "pieces"));
    }
    return count;
  }

  /// Adds the cuts of all data to the chunk table, those of collectives first.
  void cut_data() {
    for (const CutItem& item : items_) {
      if (!item.collective) continue;
      std::int64_t offset = 0;
      for (const std::uint32_t source : *item.sources) offset += cut_member(item, source, offset);
    }
    for (const CutItem& item : items_) {
      if (!item.computation) continue;
      const Dimension& dimension = dimension_of(item);
      for (const DimensionSlice& slice : dimension.slices) {
        for (std::int64_t i = 0; i < item.computation->pieces; ++i) {
          const Range bytes = bytes_of(slice, dimension, item.computation->piece(i));
          chunks_.add_cut(slice.data, slice.of_block, bytes.begin);
          chunks_.add_cut(slice.data, slice.of_block, bytes.end);
        }
      }
    }
  }

  /// Adds the cuts of `source`, which begins at `offset` of the bucket; returns its size.
  std::int64_t cut_member(const CutItem& item, std::uint32_t source, std::int64_t offset) {
    const CollectiveCut& cut = *item.collective;
    const std::int64_t bytes = cut.of_block ? cut.bytes : step_.tasks[source].bytes;
    const auto data = changed_data(step_.tasks[source]);
    if (!data) return bytes;
    chunks_.add_collective(*data, cut.of_block, bytes);
    for (std::int64_t k = offset / cut.piece_bytes + 1; k * cut.piece_bytes < offset + bytes; ++k)
      chunks_.add_cut(*data, cut.of_block, k * cut.piece_bytes - offset);
    return bytes;
  }

  const Dimension& dimension_of(const CutItem& item) const {
    return step_.tasks[item.sources->front()].place.dimensions[item.computation->dimension];
  }

  Piece& add_piece(const CutItem& item, const StepTask& source, std::string name) {
    Piece& piece = made_.pieces.emplace_back();
    piece.task.name = std::move(name);
    piece.task.collective = source.collective;
    piece.task.priority = item.rule->priority.value_or(source.priority);
    // Slices refer to the data before they were cut, so dimensions are dropped.
    piece.task.place.region = source.place.region;
    piece.task.place.micro_batch = source.place.micro_batch;
    piece.task.group = source.group;
    piece.origin.sources = *item.sources;
    piece.rule = item.rule_index;
    return piece;
  }

  /// Appends accesses to the chunks of `data` in `range`.
  void add_accesses(std::vector<Access>& accesses, const Access& access, Range range) {
    found_.clear();
    chunks_.append(access.data, range, found_);
    if (accesses.empty()) accesses.reserve(found_.size());
    for (const DataId chunk : found_) accesses.push_back({chunk, access.mode});
    accesses_ += found_.size();
  }

  void make_collective(const CutItem& item) {
    const CollectiveCut& cut = *item.collective;
    const auto stages = static_cast<std::int64_t>(item.stages.size());
    const std::string name = bucket_name(step_, *item.sources);
    for (std::int64_t slot = 0; slot < cut.pieces + stages - 1; ++slot) {
      if (accesses_ > kMaxAccesses) return;
      for (std::int64_t s = 0; s < stages; ++s) {
        if (slot - s >= 0 && slot - s < cut.pieces)
          make_stage(item, name, slot - s, static_cast<std::size_t>(s));
      }
    }
  }

  void make_stage(const CutItem& item, const std::string& name, std::int64_t index,
                  std::size_t stage_index) {
    const CollectiveCut& cut = *item.collective;
    const Stage& stage = item.stages[stage_index];
    const StepTask& source = step_.tasks[item.sources->front()];
    const Range range = cut.piece(index);

    std::string stage_name = piece_name(name, index, cut.pieces);
    if (item.stages.size() > 1 && !name.empty()) {
      stage_name += ' ';
      stage_name += to_string(stage.kind);
      if (stage.group.tier != GroupTier::whole) (stage_name += ' ') += to_string(stage.group.tier);
    }
    Piece& piece = add_piece(item, source, std::move(stage_name));
    piece.task.collective = stage.kind;
    piece.task.group = stage.group;
    piece.task.peer = source.peer;
    piece.task.bytes = cut.bytes_of(range);
    if (stage.of_place) {
      const std::int64_t places = step_.ranks_per_host;
      piece.task.bytes = (piece.task.bytes + places - 1) / places;
    }
    for (const std::uint32_t s : *item.sources)
      piece.task.priority =
          std::min(piece.task.priority, item.rule->priority.value_or(step_.tasks[s].priority));
    piece.origin.begin = range.begin;
    piece.origin.end = range.end;
    // A reduce-scatter does not yet produce the data that the next step reads.
    piece.deferred = item.rule->launch == CollectiveLaunch::deferred &&
                     stage_index + 1 == item.stages.size() &&
                     stage.kind != CollectiveKind::reduce_scatter;
    add_collective_accesses(item, index, stage_index, piece.task.accesses);
  }

  void add_collective_accesses(const CutItem& item, std::int64_t index, std::size_t stage_index,
                               std::vector<Access>& accesses) {
    const CollectiveCut& cut = *item.collective;
    const Range range = cut.piece(index);
    const bool is_last = index + 1 == cut.pieces;
    std::int64_t offset = 0;
    for (const std::uint32_t s : *item.sources) {
      const StepTask& source = step_.tasks[s];
      const bool alone = item.sources->size() == 1;
      const Range member{offset, offset + (cut.of_block ? cut.bytes : source.bytes)};
      offset = member.end;
      if (!alone && (member.end <= range.begin || member.begin >= range.end)) continue;
      const bool ends = range.end >= member.end || is_last;
      const Range own{std::max<std::int64_t>(range.begin - member.begin, 0),
                      ends ? kEverything.end : range.end - member.begin};
      const bool one_changes = changed_data(source).has_value();
      for (Access access : source.accesses) {
        const bool changes = access.mode != AccessMode::read;
        if (!alone && !changes && is_accessed(accesses, access.data)) continue;
        const bool again = stage_index > 0 || (index > 0 && !chunks_.is_divided(access.data));
        if (changes && again) access.mode = AccessMode::update;
        add_accesses(accesses, access, changes && one_changes ? own : kEverything);
      }
    }
  }

  /// Returns whether earlier members of the bucket access `data`; they then read all of it.
  bool is_accessed(const std::vector<Access>& accesses, DataId data) {
    found_.clear();
    chunks_.append(data, kEverything, found_);
    return std::any_of(accesses.begin(), accesses.end(),
                       [&](const Access& access) { return access.data == found_.front(); });
  }

  void make_computation(const CutItem& item) {
    const StepTask& source = step_.tasks[item.sources->front()];
    const ComputeCut cut = item.computation.value_or(ComputeCut{});
    for (std::int64_t index = 0; index < cut.pieces; ++index) {
      if (accesses_ > kMaxAccesses) return;
      Piece& piece = add_piece(item, source, piece_name(source.name, index, cut.pieces));
      const Range units = cut.piece(index);
      if (item.computation) {
        piece.origin.dimension = cut.dimension;
        piece.origin.begin = units.begin;
        piece.origin.end = units.end;
      }
      const auto until = [&](std::int64_t unit) {
        return static_cast<std::int64_t>(
            static_cast<double>(source.duration_ns) *
            (static_cast<double>(unit) / static_cast<double>(cut.extent)));
      };
      piece.task.duration_ns = until(units.end) - until(units.begin);
      if (index > 0) piece.task.duration_ns += dimension_of(item).piece_ns;
      for (const Access& access : source.accesses)
        add_compute_accesses(item, access, units, piece.task.accesses);
    }
  }

  void add_compute_accesses(const CutItem& item, const Access& access, Range units,
                            std::vector<Access>& accesses) {
    const std::size_t first = accesses.size();
    const auto sliced = sliced_dimension(item, access.data);
    if (!chunks_.is_divided(access.data) || !sliced) {
      add_accesses(accesses, access, kEverything);
    } else {
      const auto& dimensions = step_.tasks[item.sources->front()].place.dimensions;
      const Dimension& dimension = dimensions[*sliced];
      const bool divided = item.computation && item.computation->dimension == *sliced;
      for (const DimensionSlice& slice : dimension.slices) {
        if (slice.data != access.data) continue;
        add_accesses(accesses, access,
                     bytes_of(slice, dimension, divided ? units : Range{0, dimension.extent}));
      }
      unite(accesses, first);
    }
    // A piece must keep the results that earlier pieces of its task wrote to the same chunks.
    for (std::size_t i = first; i < accesses.size(); ++i) {
      std::uint32_t& touched_by = touched_by_[accesses[i].data.index];
      if (touched_by == item_number_ && accesses[i].mode == AccessMode::write)
        accesses[i].mode = AccessMode::update;
      touched_by = item_number_;
    }
  }

  /// Returns the dimension whose slices determine the part of `data` that the item accesses: the
  /// one along which it is divided, or else the first one. Absent when it accesses all of it.
  std::optional<std::uint32_t> sliced_dimension(const CutItem& item, DataId data) const {
    const auto& dimensions = step_.tasks[item.sources->front()].place.dimensions;
    const auto names_data = [&](const DimensionSlice& slice) { return slice.data == data; };
    const auto says = [&](const Dimension& dimension) {
      const auto& slices = dimension.slices;
      return std::any_of(slices.begin(), slices.end(), names_data);
    };
    std::optional<std::uint32_t> sliced;
    if (item.computation && says(dimensions[item.computation->dimension])) {
      sliced = item.computation->dimension;
    } else if (const auto d = std::find_if(dimensions.begin(), dimensions.end(), says);
               d != dimensions.end()) {
      sliced = static_cast<std::uint32_t>(d - dimensions.begin());
    }
    if (!sliced) return sliced;
    // Slices counted in another way than the chunks do not determine which chunks are accessed.
    const auto& slices = dimensions[*sliced].slices;
    const bool known = std::all_of(slices.begin(), slices.end(), [&](const DimensionSlice& slice) {
      return !names_data(slice) || chunks_.counts(data, slice.of_block);
    });
    return known ? sliced : std::nullopt;
  }

  /// Merges accesses of the item to the same chunk, since slices of the same data may overlap.
  static void unite(std::vector<Access>& accesses, std::size_t first) {
    const auto begin = accesses.begin() + static_cast<std::ptrdiff_t>(first);
    std::sort(begin, accesses.end(),
              [](const Access& a, const Access& b) { return a.data.index < b.data.index; });
    accesses.erase(std::unique(begin, accesses.end(),
                               [](const Access& a, const Access& b) { return a.data == b.data; }),
                   accesses.end());
  }

  const StepDescription& step_;
  std::vector<CutItem> items_;
  ChunkTable chunks_;
  Pieces made_;
  /// By data item and chunk: number of the last item that accesses it, from 1; 0 for none.
  std::vector<std::uint32_t> touched_by_;
  std::uint32_t item_number_ = 0;
  std::size_t accesses_ = 0;
  std::vector<DataId> found_;
};

}  // namespace

Result<Pieces> make_pieces(const StepDescription& step, const Rules& rules,
                           const std::vector<Sources>& items) {
  return PieceMaker(step, rules, items).make();
}

}  // namespace hocket::partitioning
