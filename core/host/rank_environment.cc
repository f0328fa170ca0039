#include "core/host/rank_environment.h"

#include <charconv>
#include <cstdlib>

#include "core/greeting/rendezvous_secret.h"
#include "core/host/launcher_variables.h"
#include "core/protocol/secret.h"

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

using Variable = std::function<std::optional<std::string>(const char*)>;

/// Reads everything except the rendezvous. Requires that the launcher has set rank and size.
Result<void> read_ranks(const LauncherVariables& launcher, const Variable& variable,
                        RankEnvironment& environment) {
  const auto read = [&](const char* name, int low, int high, int& target) -> Result<bool> {
    const auto text = variable(name);
    if (!text) return false;
    const auto value = parse_count(name, *text, low, high);
    HOCKET_TRY(value);
    target = *value;
    return true;
  };
  HOCKET_TRY(read(launcher.size, 1, kMaxRanks, environment.world_size));
  const int ranks = environment.world_size;
  HOCKET_TRY(read(launcher.rank, 0, ranks - 1, environment.rank));
  environment.local_rank = environment.rank;
  const auto knows_place = read(launcher.local_rank, 0, ranks - 1, environment.local_rank);
  HOCKET_TRY(knows_place);
  int& per_host = environment.ranks_per_host;
  const int most = launcher.local_size_is_a_wish ? kMaxRanks : ranks;
  HOCKET_TRY(read(launcher.local_size, 1, most, per_host));
  const bool host_by_host =
      ranks % per_host == 0 &&
      (!*knows_place || environment.local_rank == environment.rank % per_host);
  if (!host_by_host) per_host = 1;
  return {};
}

}  // namespace

Result<RankEnvironment> read_rank_environment(
    const std::function<std::optional<std::string>(const char*)>& variable) {
  RankEnvironment environment;
  for (const LauncherVariables& launcher : launcher_variables()) {
    if (!variable(launcher.rank) || !variable(launcher.size)) continue;
    HOCKET_TRY(read_ranks(launcher, variable, environment));
    break;
  }
  if (const auto rendezvous = variable("HOCKET_RENDEZVOUS")) {
    environment.rendezvous = *rendezvous;
  } else if (const auto address = variable("MASTER_ADDR"), port = variable("MASTER_PORT");
             address && port) {
    // torchrun's own store listens on MASTER_PORT, so the ranks use the port above it.
    const auto number = parse_count("MASTER_PORT", *port, 1, 65534);
    HOCKET_TRY(number);
    environment.rendezvous = "tcp://" + *address + ":" + std::to_string(*number + 1);
  }
  if (const auto servers = variable(kServersVariable); servers && !servers->empty()) {
    std::string_view rest = *servers;
    for (auto comma = rest.find(','); comma != std::string_view::npos; comma = rest.find(',')) {
      environment.servers.emplace_back(rest.substr(0, comma));
      rest.remove_prefix(comma + 1);
    }
    environment.servers.emplace_back(rest);
  }
  environment.secret = variable(kRendezvousSecretVariable).value_or("");
  if (!environment.secret.empty()) {
    const auto ok = check_secret(environment.secret);
    if (!ok) {
      return failure(
          ok.error().in(std::string("environment variable ") + kRendezvousSecretVariable));
    }
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
