#pragma once

// Derives from the configuration how the plan decides, and the static order that it follows.
// Private to this folder. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/plan/captured_step.h"
#include "core/plan/plan.h"
#include "core/step/rank_grid.h"
#include "core/step/schedule_config.h"

namespace hocket {

/// The order of collectives of order=static, and the check that steps are those it was made for.
class StaticPartOrder {
 public:
  /// No order.
  StaticPartOrder() = default;
  /// Takes the collectives of a step, one entry per part. There may be none: a rank that
  /// communicates with no other follows an order, too.
  explicit StaticPartOrder(std::optional<std::vector<std::uint32_t>> order);

  /// False unless the order is static.
  bool exists() const { return exists_; }
  const std::vector<std::uint32_t>& collectives() const { return order_; }

  /// Returns the order for a step whose first collective has the number `first`.
  std::vector<std::uint64_t> numbers_from(std::uint64_t first) const;

  /// Returns the error that collective `index` of a step, of `bytes` in parts of `partition_bytes`,
  /// has other parts than in the order.
  std::optional<Error> check(std::size_t index, std::int64_t bytes,
                             std::int64_t partition_bytes) const;
  /// Returns the error that a step with some, namely `collectives`, has fewer than the order.
  std::optional<Error> check_count(std::size_t collectives) const;
  /// Makes both checks for a captured step.
  std::optional<Error> check(const CapturedStep& step, std::int64_t partition_bytes) const;

  bool operator==(const StaticPartOrder& other) const {
    return exists_ == other.exists_ && order_ == other.order_;
  }

 private:
  bool exists_ = false;
  std::vector<std::uint32_t> order_;
  /// Number of parts by collective.
  std::vector<std::int64_t> parts_;
};

struct Schedule {
  ScheduleConfig config;
  StaticPartOrder static_order;
  /// Rank 0 sends its order of collectives to the others while they run.
  bool announces = false;
  PlanOptions plan;

  bool is_served() const { return plan.servers > 0; }
};

/// Returns the schedule of rank `rank` among `ranks`. `static_order` is used with order=static
/// only. `servers` is the number of the job's parameter servers.
Schedule schedule_of(const ScheduleConfig& config,
                     std::optional<std::vector<std::uint32_t>> static_order, int rank, int ranks,
                     int servers = 0);

/// Returns invalid_argument where `config` wants parameter servers and the job has none, or divides
/// sums among ranks in ways that servers do not know.
Result<void> check_servers(const ScheduleConfig& config, int servers, bool is_placed);

}  // namespace hocket
