#pragma once

// Steps that compute something, for tests: an interpreter on integers, whose sums do not depend on
// their order. It runs a step and, by the origins of its pieces, a partitioned step.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/partitioning/step_partition.h"
#include "core/step/rank_grid.h"

namespace hocket {

/// The operation of a computation. Elements have 4 bytes.
struct ProgramOperation {
  enum class Kind : std::uint8_t {
    /// Every unit of the dimension `along` mixes its inputs into its outputs. Data without a slice
    /// are written in columns, one per unit; along a contraction, every unit adds to all of them.
    mix,
    /// accesses[2] = accesses[0] · accesses[1], of `rows` × `inner` and `inner` × `columns`.
    product,
  };
  Kind kind = Kind::mix;
  int along = -1;  ///< −1: there is a single unit
  std::int64_t rows = 1, inner = 1, columns = 1;
};

struct StepProgram {
  StepDescription step;
  std::vector<std::int64_t> elements;        ///< number of elements of each data
  std::vector<ProgramOperation> operations;  ///< operation of each task; unused for collectives
};

/// Elements that a task reads or writes on one rank, with all data concatenated.
struct Touched {
  std::vector<bool> read, written;
};

class StepInterpreter {
 public:
  using Value = std::uint64_t;

  explicit StepInterpreter(const StepProgram& program)
      : program_(program), grid_{program.step.ranks, program.step.ranks_per_host} {
    std::size_t total = 0;
    for (const std::int64_t count : program.elements) {
      first_.push_back(total);
      total += static_cast<std::size_t>(count);
    }
    ranks_.resize(static_cast<std::size_t>(grid_.ranks));
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (std::size_t e = 0; e < total; ++e)
        ranks_[r].values.push_back(scrambled(r * 1'000'003 + e));
    }
  }

  /// Runs a task or a piece of a task on all ranks; returns the elements touched on each.
  std::vector<Touched> run(const StepTask& piece, const PieceOrigin& origin) {
    for (Rank& rank : ranks_) {
      rank.touched.read.assign(rank.values.size(), false);
      rank.touched.written.assign(rank.values.size(), false);
    }
    if (piece.collective) {
      run_collective(piece, origin);
    } else {
      for (std::size_t r = 0; r < ranks_.size(); ++r) run_computation(r, origin);
    }
    std::vector<Touched> touched;
    for (Rank& rank : ranks_) touched.push_back(rank.touched);
    return touched;
  }

  /// Returns all values of all ranks.
  std::vector<std::vector<Value>> values() const {
    std::vector<std::vector<Value>> all;
    for (const Rank& rank : ranks_) all.push_back(rank.values);
    return all;
  }

 private:
  struct Rank {
    std::vector<Value> values;
    Touched touched;
  };
  struct Span {
    std::int64_t begin = 0, end = 0;  ///< elements of a piece of data
  };

  static Value scrambled(Value x) {
    x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15;
    return x ^ (x >> 29);
  }

  Value get(std::size_t rank, DataId data, std::int64_t element) {
    const std::size_t at = first_[data.index] + static_cast<std::size_t>(element);
    ranks_[rank].touched.read[at] = true;
    return ranks_[rank].values[at];
  }
  void put(std::size_t rank, DataId data, std::int64_t element, Value value) {
    const std::size_t at = first_[data.index] + static_cast<std::size_t>(element);
    ranks_[rank].touched.written[at] = true;
    ranks_[rank].values[at] = value;
  }

  void run_computation(std::size_t rank, const PieceOrigin& origin) {
    const std::uint32_t source = origin.sources.front();
    const StepTask& task = program_.step.tasks[source];
    const ProgramOperation& operation = program_.operations[source];
    const bool whole = origin.begin == 0 && origin.end == 0;
    if (operation.kind == ProgramOperation::Kind::product) {
      const std::string divided = whole ? "" : task.place.dimensions[origin.dimension].name;
      const auto along = [&](const char* name, std::int64_t extent) {
        return divided == name ? Span{origin.begin, origin.end} : Span{0, extent};
      };
      multiply(rank, task, operation, along("rows", operation.rows),
               along("inner", operation.inner), along("columns", operation.columns));
      return;
    }
    const Dimension* dimension =
        operation.along < 0 ? nullptr
                            : &task.place.dimensions[static_cast<std::size_t>(operation.along)];
    const std::int64_t extent = dimension ? dimension->extent : 1;
    for (std::int64_t u = whole ? 0 : origin.begin; u < (whole ? extent : origin.end); ++u) {
      if (dimension && dimension->kind == DimensionKind::contraction) {
        add_unit(rank, source, *dimension, u);
      } else {
        mix_unit(rank, source, dimension, u, extent);
      }
    }
  }

  void multiply(std::size_t rank, const StepTask& task, const ProgramOperation& o, Span rows,
                Span inner, Span columns) {
    const Access &a = task.accesses[0], &b = task.accesses[1], &c = task.accesses[2];
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      for (std::int64_t j = columns.begin; j < columns.end; ++j) {
        const std::int64_t at = i * o.columns + j;
        const bool adds = inner.begin > 0 || c.mode == AccessMode::update;
        Value sum = adds ? get(rank, c.data, at) : 0;
        for (std::int64_t k = inner.begin; k < inner.end; ++k)
          sum += get(rank, a.data, i * o.inner + k) * get(rank, b.data, k * o.columns + j);
        put(rank, c.data, at, sum);
      }
    }
  }

  /// Returns the elements of `data` that unit `u` accesses through the dimension's slices; nothing
  /// without a dimension.
  std::vector<Span> spans(std::size_t rank, DataId data, const Dimension* dimension,
                          std::int64_t u) const {
    std::vector<Span> spans;
    if (!dimension) return spans;
    const std::int64_t count = program_.elements[data.index];
    for (const DimensionSlice& slice : dimension->slices) {
      if (slice.data != data) continue;
      const std::int64_t begin = slice.begin_bytes + u * slice.bytes_per_unit;
      const std::int64_t tail = u + 1 == dimension->extent ? slice.tail_bytes : 0;
      std::int64_t base = 0, limit = count;
      if (slice.of_block) {
        const std::int64_t block = block_bytes(count * 4, grid_.ranks) / 4;
        base = std::min(grid_.block_of(static_cast<std::int64_t>(rank)) * block, count);
        limit = std::min(base + block, count);
      }
      spans.push_back({std::min(base + begin / 4, limit),
                       std::min(base + (begin + slice.bytes_per_unit + tail) / 4, limit)});
    }
    return spans;
  }
  static bool is_sliced(DataId data, const Dimension* dimension) {
    return dimension && std::any_of(dimension->slices.begin(), dimension->slices.end(),
                                    [&](const DimensionSlice& s) { return s.data == data; });
  }

  void mix_unit(std::size_t rank, std::uint32_t source, const Dimension* dimension, std::int64_t u,
                std::int64_t extent) {
    Value mixed = scrambled(source * 977 + static_cast<Value>(u));
    const auto each_element = [&](const Access& access, const auto& visit) {
      if (is_sliced(access.data, dimension)) {
        for (const Span& span : spans(rank, access.data, dimension, u)) {
          for (std::int64_t e = span.begin; e < span.end; ++e) visit(e);
        }
        return;
      }
      const bool all = access.mode == AccessMode::read;
      const std::int64_t count = program_.elements[access.data.index];
      for (std::int64_t e = all ? 0 : u; e < count; e += all ? 1 : extent) visit(e);
    };
    const auto& accesses = program_.step.tasks[source].accesses;
    for (const Access& access : accesses) {
      if (access.mode == AccessMode::write) continue;
      each_element(access,
                   [&](std::int64_t e) { mixed = scrambled(mixed + get(rank, access.data, e)); });
    }
    for (const Access& access : accesses) {
      if (access.mode == AccessMode::read) continue;
      each_element(access, [&](std::int64_t e) {
        put(rank, access.data, e, scrambled(mixed + static_cast<Value>(e)));
      });
    }
  }

  void add_unit(std::size_t rank, std::uint32_t source, const Dimension& dimension,
                std::int64_t u) {
    Value mixed = scrambled(source * 983 + static_cast<Value>(u));
    const auto& accesses = program_.step.tasks[source].accesses;
    for (const Access& access : accesses) {
      if (access.mode != AccessMode::read) continue;
      auto parts = spans(rank, access.data, &dimension, u);
      if (!is_sliced(access.data, &dimension)) parts = {{0, program_.elements[access.data.index]}};
      for (const Span& span : parts) {
        for (std::int64_t e = span.begin; e < span.end; ++e)
          mixed = scrambled(mixed + get(rank, access.data, e));
      }
    }
    for (const Access& access : accesses) {
      if (access.mode == AccessMode::read) continue;
      for (std::int64_t e = 0; e < program_.elements[access.data.index]; ++e) {
        const bool sets = u == 0 && access.mode == AccessMode::write;
        const Value old = sets ? 0 : get(rank, access.data, e);
        put(rank, access.data, e, old + mixed * static_cast<Value>(e + 1));
      }
    }
  }

  /// Location of one element of a collective's buffer.
  struct Place {
    DataId data;
    std::int64_t element = 0;
  };

  void run_collective(const StepTask& piece, const PieceOrigin& origin) {
    std::vector<Place> buffer;
    for (const std::uint32_t s : origin.sources) {
      const StepTask& source = program_.step.tasks[s];
      const auto begin = static_cast<std::int64_t>(buffer.size()) * 4, end = begin + source.bytes;
      // A piece of a bucket reads only the data of the members in it.
      const bool takes_part =
          origin.sources.size() == 1 || (begin < origin.end && end > origin.begin);
      for (const Access& access : source.accesses) {
        if (access.mode != AccessMode::read) {
          for (std::int64_t e = 0; e < source.bytes / 4; ++e) buffer.push_back({access.data, e});
        } else if (takes_part) {
          touch_all(access.data);
        }
      }
    }
    const StepTask& source = program_.step.tasks[origin.sources.front()];
    const bool of_block = source.collective == CollectiveKind::reduce_scatter ||
                          source.collective == CollectiveKind::all_gather;
    Span range{0, static_cast<std::int64_t>(buffer.size())};
    if (of_block) {
      range = {origin.begin / 4, origin.end / 4};
    } else {
      buffer = {buffer.begin() + origin.begin / 4, buffer.begin() + origin.end / 4};
      range = {0, block_bytes(static_cast<std::int64_t>(buffer.size()) * 4, grid_.ranks) / 4};
    }
    communicate(*piece.collective, piece.group, buffer, range);
  }

  void touch_all(DataId data) {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (std::int64_t e = 0; e < program_.elements[data.index]; ++e) (void)get(r, data, e);
    }
  }

  bool is_member(CollectiveGroup group, std::int64_t a, std::int64_t b) const {
    return group.tier == GroupTier::whole ||
           (group.tier == GroupTier::inside && grid_.host_of(a) == grid_.host_of(b)) ||
           (group.tier == GroupTier::between && grid_.place_of(a) == grid_.place_of(b));
  }

  /// Returns the rank that has block `block` in the group of `rank` (core/collective/collective.h);
  /// −1 if the block does not belong to the group.
  std::int64_t owner(CollectiveGroup group, std::int64_t rank, std::int64_t block) const {
    const std::int64_t place = block / grid_.hosts(), host = block % grid_.hosts();
    switch (group.tier) {
      case GroupTier::whole:
        return host * grid_.ranks_per_host + place;
      case GroupTier::inside:
        return grid_.host_of(rank) * grid_.ranks_per_host + place;
      case GroupTier::between:
        return place == grid_.place_of(rank) ? host * grid_.ranks_per_host + place : -1;
    }
    return -1;
  }

  /// Runs the collective on `range` of every block of the buffer.
  void communicate(CollectiveKind kind, CollectiveGroup group, const std::vector<Place>& buffer,
                   Span range) {
    const auto count = static_cast<std::int64_t>(buffer.size());
    const std::int64_t block = block_bytes(count * 4, grid_.ranks) / 4;
    std::vector<std::vector<Value>> before;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      auto& values = before.emplace_back();
      for (const Place& place : buffer)
        values.push_back(ranks_[r].values[first_[place.data.index] + place.element]);
    }
    for (std::int64_t r = 0; r < grid_.ranks; ++r) {
      for (std::int64_t e = 0; e < count; ++e) {
        if (e % block < range.begin || e % block >= range.end) continue;
        const auto owner_of = [&](CollectiveGroup g) { return owner(g, r, e / block); };
        const std::int64_t has = owner_of(group);
        // In a group between hosts, each place has only its own blocks.
        if (has < 0) continue;
        Value value = 0;
        if (kind == CollectiveKind::all_gather) {
          value = before[static_cast<std::size_t>(has)][static_cast<std::size_t>(e)];
        } else if (kind == CollectiveKind::broadcast) {
          value = before[0][static_cast<std::size_t>(e)];
        } else if (kind == CollectiveKind::reduce_scatter && has != r) {
          value = kPoison;
        } else {
          for (std::int64_t other = 0; other < grid_.ranks; ++other) {
            if (is_member(group, r, other))
              value += before[static_cast<std::size_t>(other)][static_cast<std::size_t>(e)];
          }
        }
        const Place& place = buffer[static_cast<std::size_t>(e)];
        (void)get(static_cast<std::size_t>(r), place.data, place.element);
        put(static_cast<std::size_t>(r), place.data, place.element, value);
      }
    }
  }

  static constexpr Value kPoison = 0xbadbadbadbad;

  const StepProgram& program_;
  RankGrid grid_;
  std::vector<std::size_t> first_;  ///< offset of each data in the concatenated elements
  std::vector<Rank> ranks_;
};

}  // namespace hocket
