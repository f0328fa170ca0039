#include "core/programs/program_check.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/fingerprint.h"
#include "core/base/text.h"
#include "core/programs/fold_order.h"
#include "core/programs/job_fold.h"
#include "core/step/rank_grid.h"

namespace hocket {
namespace {

constexpr std::uint32_t kProgramMagic = 0x726f6b68;
constexpr std::size_t kFingerprintBytes = 36;
/// Limit on the parts in the static orders of ranks that differ.
constexpr std::size_t kMostComparedParts = 16'000'000;
/// Indices of the parts of the exchange, beside those of a step's first parts.
constexpr std::uint64_t kFirstIndex = 0xffff'0000, kIndices = 0xffff;

/// A rank's announcement of its program.
struct Announcement {
  std::uint32_t magic = kProgramMagic;
  std::uint32_t reserved = 0;
  std::uint64_t bytes = 0;
  std::array<char, kFingerprintBytes> fingerprint = {};
  std::array<char, 12> padding = {};
};
static_assert(sizeof(Announcement) == kBlockAlignmentBytes, "one block for each rank");

std::string on_rank(std::size_t rank) {
  return "rank " + std::to_string(rank);
}

std::string_view fingerprint_in(const Announcement& announcement) {
  return {announcement.fingerprint.data(), announcement.fingerprint.size()};
}

/// Memory for bytes that a collective moves, and does not compute with, as float32.
std::vector<float> room_for(std::size_t bytes) {
  return std::vector<float>((bytes + sizeof(float) - 1) / sizeof(float));
}

Announcement announcement_of(std::string_view bytes) {
  Announcement announcement{.bytes = bytes.size()};
  const std::string fingerprint = fingerprint_of_bytes(bytes);
  std::ranges::copy(fingerprint, announcement.fingerprint.begin());
  return announcement;
}

/// Returns the announcements of all ranks.
Result<std::vector<Announcement>> announce(const Announcement& own, Collective& collective) {
  const RankGrid& grid = collective.grid();
  const std::int64_t all = grid.ranks * kBlockAlignmentBytes;
  std::vector<float> values = room_for(static_cast<std::size_t>(all));
  auto* const bytes = reinterpret_cast<char*>(values.data());
  std::memcpy(bytes + block_range(all, grid, collective.rank()).begin, &own, sizeof own);
  HOCKET_TRY(collective.run({.kind = CollectiveKind::all_gather,
                             .group = CollectiveGroup::world,
                             .values = values,
                             .index = kFirstIndex}));
  std::vector<Announcement> announcements(static_cast<std::size_t>(grid.ranks));
  for (std::int64_t rank = 0; rank < grid.ranks; ++rank) {
    std::memcpy(&announcements[static_cast<std::size_t>(rank)],
                bytes + block_range(all, grid, rank).begin, sizeof(Announcement));
  }
  return announcements;
}

/// The programs that were announced, and the first rank that has each.
struct Announced {
  std::vector<std::size_t> first_ranks;
  std::vector<std::uint32_t> program_of;
};

Result<Announced> read_announcements(std::span<const Announcement> announcements) {
  Announced announced;
  std::map<std::string, std::uint32_t, std::less<>> numbers;
  std::uint64_t all_bytes = 0;
  for (std::size_t rank = 0; rank < announcements.size(); ++rank) {
    const Announcement& announcement = announcements[rank];
    if (announcement.magic != kProgramMagic)
      return invalid(on_rank(rank) +
                     " does not announce a program; run one version of hocket on "
                     "all ranks");
    if (announcement.bytes == 0 || announcement.bytes > kMostProgramBytes)
      return invalid(on_rank(rank) + " announces a program of " +
                     std::to_string(announcement.bytes) + " bytes (1 to " +
                     std::to_string(kMostProgramBytes) + " are compared)");
    const auto [found, is_new] =
        numbers.try_emplace(std::string(fingerprint_in(announcement)),
                            static_cast<std::uint32_t>(announced.first_ranks.size()));
    announced.program_of.push_back(found->second);
    if (is_new) {
      announced.first_ranks.push_back(rank);
      all_bytes += announcement.bytes;
    } else if (announcements[announced.first_ranks[found->second]].bytes != announcement.bytes) {
      return invalid(on_rank(rank) + " announces another size than " +
                     on_rank(announced.first_ranks[found->second]) + " for the same program");
    }
  }
  if (all_bytes <= kMostProgramsBytes) return announced;
  return invalid("the ranks' programs have " + std::to_string(all_bytes) +
                 " bytes together (at most " + std::to_string(kMostProgramsBytes) +
                 " are compared); give ranks that do the same the same names of tasks");
}

/// Returns for people what all ranks must have alike.
std::string schedule_in_words(const CommunicationProgram& program) {
  constexpr std::string_view names[] = {"the order of submission", "a static order",
                                        "the order that rank 0 decides"};
  return "partition_bytes=" + std::to_string(program.partition_bytes) + " and " +
         std::string(names[static_cast<std::size_t>(program.order)]);
}

std::size_t first_rank_of(const RankPrograms& job, std::size_t program) {
  return static_cast<std::size_t>(std::ranges::find(job.program_of, program) -
                                  job.program_of.begin());
}

Result<void> check_schedules(const RankPrograms& job) {
  const CommunicationProgram& first = job.programs.front();
  for (std::size_t i = 0; i < job.programs.size(); ++i) {
    const CommunicationProgram& program = job.programs[i];
    if (!program.refusal.empty()) {
      return invalid(on_rank(first_rank_of(job, i)) +
                     " cannot run its step: " + printable(program.refusal, kMostRefusalBytes));
    }
  }
  for (std::size_t i = 1; i < job.programs.size(); ++i) {
    const CommunicationProgram& program = job.programs[i];
    if (program.order == first.order && program.partition_bytes == first.partition_bytes) continue;
    return invalid("ranks have different configurations: " + on_rank(first_rank_of(job, 0)) +
                   " has " + schedule_in_words(first) + ", " + on_rank(first_rank_of(job, i)) +
                   " has " + schedule_in_words(program) + "; give all ranks the same");
  }
  return {};
}

StepTask task_of(const ProgramCommunication& communication) {
  StepTask task;
  task.name = communication.name;
  task.collective = communication.kind;
  task.bytes = communication.bytes;
  task.group = communication.group;
  if (is_message(communication.kind) || communication.kind == CollectiveKind::shift)
    task.peer = MessagePeer{communication.peer, true};
  return task;
}

JobPrograms fold_input(const RankPrograms& job, const Mesh& mesh) {
  JobPrograms input;
  input.program_of = job.program_of;
  for (const CommunicationProgram& program : job.programs) {
    StepDescription& step = input.steps.emplace_back();
    step.ranks = mesh.grid().ranks;
    step.ranks_per_host = mesh.grid().ranks_per_host;
    step.mesh.assign(mesh.axes().begin(), mesh.axes().end());
    auto& details = input.details.emplace_back();
    for (const ProgramCommunication& communication : program.communications) {
      step.tasks.push_back(task_of(communication));
      const bool has_root = communication.kind == CollectiveKind::broadcast;
      details.push_back({communication.type, has_root ? communication.peer : 0});
    }
  }
  return input;
}

/// Returns when all ranks have come here, or one of them has left from here.
void wait_for_all(Collective& collective) {
  const std::int64_t all = collective.grid().ranks * kBlockAlignmentBytes;
  std::vector<float> values = room_for(static_cast<std::size_t>(all));
  (void)collective.run({.kind = CollectiveKind::all_gather,
                        .group = CollectiveGroup::world,
                        .values = values,
                        .index = kFirstIndex + kIndices});
}

}  // namespace

Result<RankPrograms> exchange_programs(const CommunicationProgram& own, const Mesh& mesh,
                                       Collective& collective) {
  std::string bytes = bytes_of(own);
  if (bytes.size() > kMostProgramBytes) {
    bytes = bytes_of({.refusal = "its program has " + std::to_string(bytes.size()) +
                                 " bytes (at most " + std::to_string(kMostProgramBytes) +
                                 " are compared); capture a shorter step"});
  }
  const auto announcements = announce(announcement_of(bytes), collective);
  HOCKET_TRY(announcements);
  auto announced = read_announcements(*announcements);
  HOCKET_TRY(announced);
  RankPrograms job{.programs = {}, .program_of = std::move(announced->program_of)};
  std::optional<Error> error;
  for (std::size_t i = 0; i < announced->first_ranks.size(); ++i) {
    const std::size_t rank = announced->first_ranks[i];
    const Announcement& announcement = (*announcements)[rank];
    std::vector<float> values = room_for(announcement.bytes);
    const bool is_only = announced->first_ranks.size() == 1;
    if (is_only || std::cmp_equal(rank, collective.rank())) {
      std::memcpy(values.data(), bytes.data(),
                  std::min<std::size_t>(bytes.size(), announcement.bytes));
    }
    if (!is_only) {
      HOCKET_TRY(collective.run({.kind = CollectiveKind::broadcast,
                                 .group = CollectiveGroup::world,
                                 .values = values,
                                 .index = kFirstIndex + 1 + i % (kIndices - 1),
                                 .peer = rank}));
    }
    const std::string_view received(reinterpret_cast<const char*>(values.data()),
                                    announcement.bytes);
    auto program = fingerprint_of_bytes(received) == fingerprint_in(announcement)
                       ? program_from_bytes(received, mesh)
                       : invalid("it sends another program than it announced");
    // The others are received all the same: no rank leaves another one waiting.
    if (!program && !error) error = program.error().in(on_rank(rank));
    job.programs.push_back(program ? std::move(*program) : CommunicationProgram{});
  }
  if (error) return failure(std::move(*error));
  return job;
}

Result<void> check_programs(const RankPrograms& job, const Mesh& mesh) {
  HOCKET_TRY(check_schedules(job));
  const auto fold = fold_programs(fold_input(job, mesh));
  HOCKET_TRY(fold);
  if (job.programs.front().order != BeginOrder::static_order)
    return check_order_of_submission(*fold);
  std::size_t parts = 0;
  for (const RankClass& own : fold->classes) parts += job.programs[own.program].part_order.size();
  if (parts > kMostComparedParts) {
    return invalid("the static orders have " + std::to_string(parts) + " parts together (at most " +
                   std::to_string(kMostComparedParts) + " are compared); raise partition_bytes");
  }
  std::vector<std::vector<std::uint32_t>> orders;
  for (const CommunicationProgram& program : job.programs) orders.push_back(program.part_order);
  return check_part_orders(*fold, orders, job.programs.front().partition_bytes);
}

Result<void> check_job(const CommunicationProgram& own, const Mesh& mesh, Collective& collective) {
  const auto job = exchange_programs(own, mesh, collective);
  const Result<void> checked =
      job ? check_programs(*job, mesh) : Result<void>(failure(job.error()));
  if (!checked && checked.error().code == ErrorCode::invalid_argument) wait_for_all(collective);
  return checked;
}

}  // namespace hocket
