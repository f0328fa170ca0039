#include "core/host/rank_environment.h"

#include <charconv>
#include <cstdlib>

namespace hocket {
namespace {

constexpr int kMaxRanks = 1 << 20;

Result<int> parse_count(const std::string& name, const std::string& text, int low, int high) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    return failure(ErrorCode::invalid_argument,
                   "environment variable " + name + ": expected an integer from " +
                       std::to_string(low) + " to " + std::to_string(high) + ", found \"" + text +
                       "\"");
  }
  return value;
}

}  // namespace

Result<RankEnvironment> read_rank_environment(
    const std::function<std::optional<std::string>(const char*)>& variable) {
  constexpr struct {
    const char* rank;
    const char* size;
    const char* local_rank;
  } launchers[] = {{"RANK", "WORLD_SIZE", "LOCAL_RANK"},
                   {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
                   {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
                   {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"}};
  RankEnvironment environment;
  for (const auto& launcher : launchers) {
    const auto rank = variable(launcher.rank), size = variable(launcher.size);
    if (!rank || !size) continue;
    const auto world_size = parse_count(launcher.size, *size, 1, kMaxRanks);
    if (!world_size) return failure(world_size.error());
    const auto place = parse_count(launcher.rank, *rank, 0, *world_size - 1);
    if (!place) return failure(place.error());
    environment.rank = *place;
    environment.world_size = *world_size;
    environment.local_rank = *place;
    if (const auto local = variable(launcher.local_rank)) {
      const auto local_rank = parse_count(launcher.local_rank, *local, 0, *world_size - 1);
      if (!local_rank) return failure(local_rank.error());
      environment.local_rank = *local_rank;
    }
    break;
  }
  if (const auto rendezvous = variable("HOCKET_RENDEZVOUS")) {
    environment.rendezvous = *rendezvous;
  } else if (const auto address = variable("MASTER_ADDR"), port = variable("MASTER_PORT");
             address && port) {
    // torchrun's own store listens on MASTER_PORT, so the ranks meet on the port above it.
    const auto number = parse_count("MASTER_PORT", *port, 1, 65534);
    if (!number) return failure(number.error());
    environment.rendezvous = "tcp://" + *address + ":" + std::to_string(*number + 1);
  }
  if (environment.world_size > 1 && environment.rendezvous.empty()) {
    return failure(
        ErrorCode::invalid_argument,
        "rank " + std::to_string(environment.rank) + " of " +
            std::to_string(environment.world_size) +
            " does not know where to meet the others: set HOCKET_RENDEZVOUS to file:FOLDER or "
            "tcp://HOST:PORT of rank 0, or start with hocket run");
  }
  return environment;
}

Result<RankEnvironment> read_rank_environment() {
  return read_rank_environment([](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  });
}

}  // namespace hocket
