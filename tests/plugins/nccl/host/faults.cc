#include "tests/plugins/nccl/host/faults.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "tests/plugins/nccl/host/model/cost_model.h"

namespace hocket::nccl_host {
namespace {

constexpr const char* kNames[] = {"kill", "stop", "extra-call", "no-plugin", "uneven"};

bool has_call(FaultKind kind) {
  return kind != FaultKind::no_plugin && kind != FaultKind::uneven;
}

}  // namespace

Fault parse_fault(FaultKind kind, const std::string& text) {
  Fault fault{.kind = kind};
  std::istringstream in(text);
  char at = '@', colon = ':';
  in >> fault.rank;
  if (has_call(kind)) in >> at >> fault.call;
  if (kind == FaultKind::stop) in >> colon >> fault.duration_ms;
  if (!in || at != '@' || colon != ':' || !(in >> std::ws).eof() || fault.rank < 0 ||
      fault.duration_ms < 0) {
    throw std::invalid_argument(std::string("not a fault of kind ") +
                                kNames[static_cast<int>(kind)] + ": " + text);
  }
  return fault;
}

std::vector<Fault> random_faults(const std::string& kinds, int count, std::uint64_t seed, int ranks,
                                 std::uint64_t calls) {
  std::vector<FaultKind> allowed;
  std::istringstream names(kinds);
  for (std::string name; std::getline(names, name, ',');) {
    const auto found = std::find(std::begin(kNames), std::end(kNames), name);
    if (found == std::end(kNames)) throw std::invalid_argument("no fault of kind " + name);
    allowed.push_back(static_cast<FaultKind>(found - std::begin(kNames)));
  }
  if (allowed.empty()) throw std::invalid_argument("no kinds of faults");

  std::uint64_t state = mix(seed);
  const auto below = [&](std::uint64_t limit) {
    state = mix(state);
    return state % std::max<std::uint64_t>(limit, 1);
  };
  std::vector<Fault> faults;
  while (count-- > 0) {
    const Fault fault{.kind = allowed[below(allowed.size())],
                      .rank = static_cast<int>(below(ranks)),
                      .call = below(calls),
                      .duration_ms = 1 + static_cast<int>(below(100))};
    const bool repeated = fault.kind == FaultKind::kill &&
                          std::any_of(faults.begin(), faults.end(), [](const Fault& other) {
                            return other.kind == FaultKind::kill;
                          });
    if (!repeated) faults.push_back(fault);
  }
  return faults;
}

std::string to_string(const Fault& fault) {
  std::string text =
      std::string("--") + kNames[static_cast<int>(fault.kind)] + " " + std::to_string(fault.rank);
  if (has_call(fault.kind)) text += "@" + std::to_string(fault.call);
  if (fault.kind == FaultKind::stop) text += ":" + std::to_string(fault.duration_ms);
  return text;
}

const Fault* find_fault(const std::vector<Fault>& faults, FaultKind kind, int rank) {
  const auto found = std::find_if(faults.begin(), faults.end(), [&](const Fault& fault) {
    return fault.kind == kind && fault.rank == rank;
  });
  return found == faults.end() ? nullptr : &*found;
}

}  // namespace hocket::nccl_host
