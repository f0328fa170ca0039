#include "archive/studies/job_similarity.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include "core/step/link.h"

namespace hocket {
namespace {

/// Weight of each feature; docs/guides/transfer.md explains the values.
constexpr double kMain = 1;      ///< a doubling of ranks, cores, rate, bytes, tensors
constexpr double kMinor = 0.25;  ///< a doubling of what follows from those, or a library's version
constexpr double kLatencyWeight = 0.5;
constexpr double kOtherProcessor = 1;
constexpr double kOtherLinkKind = 4;
constexpr double kOtherName = 1;
constexpr double kOtherTrait = 0.5;
/// Used if a job does not list its tensors and the two are not known to be the same: beyond any
/// useful distance.
constexpr double kUnknownWorkload = 16;

constexpr double kLeastLatencyNs = 1000;

/// A count of 0, which stands for "not known", is treated as half of 1.
double doublings(double a, double b) {
  return std::abs(std::log2(std::max(a, 0.5)) - std::log2(std::max(b, 0.5)));
}

class Differences {
 public:
  void add(std::string what, double doublings) {
    if (doublings > 0) all_.push_back({std::move(what), doublings});
  }

  template <class Number>
  void add_count(const char* unit, Number other, Number own, double weight) {
    add(std::to_string(other) + " " + unit + " instead of " + std::to_string(own),
        weight * doublings(static_cast<double>(other), static_cast<double>(own)));
  }

  void add_text(const char* what, const std::string& other, const std::string& own,
                double doublings) {
    if (other != own) add(std::string(what) + " " + other + " instead of " + own, doublings);
  }

  std::vector<JobDifference> take() { return std::move(all_); }

 private:
  std::vector<JobDifference> all_;
};

struct Link {
  std::string_view kind;  ///< "tcp", "emulated"
  std::optional<LinkSpec> spec;
};

Link link_of(std::string_view text) {
  const auto space = text.rfind(' ');
  if (space == std::string_view::npos) return {text, std::nullopt};
  const auto spec = parse_link(text.substr(space + 1));
  if (!spec) return {text, std::nullopt};
  return {text.substr(0, space), *spec};
}

double link_distance(const std::string& a, const std::string& b) {
  const Link x = link_of(a), y = link_of(b);
  if (x.kind != y.kind || !x.spec || !y.spec) return a == b ? 0 : kOtherLinkKind;
  const auto latency = [](const Link& link) {
    return std::max(kLeastLatencyNs, static_cast<double>(link.spec->latency_ns));
  };
  // At most the distance via another kind of link, so that the triangle inequality holds.
  return std::min(2 * kOtherLinkKind,
                  kMain * doublings(x.spec->bytes_per_second, y.spec->bytes_per_second) +
                      kLatencyWeight * doublings(latency(x), latency(y)));
}

/// A tensor size, and the share of the bytes in tensors of that size.
struct SizeShare {
  double log_size = 0;  ///< logarithm to base 2 of the size over the mean size
  double share = 0;
};

/// Returns the shares by rising size. Requires at least one byte.
std::vector<SizeShare> size_shares(const Workload& workload) {
  const auto total = static_cast<double>(workload.bytes());
  const double mean = total / static_cast<double>(workload.tensors.size());
  std::vector<SizeShare> shares;
  for (const TensorSpec& tensor : workload.tensors) {
    if (tensor.bytes == 0) continue;
    const auto bytes = static_cast<double>(tensor.bytes);
    shares.push_back({std::log2(bytes / mean), bytes / total});
  }
  std::ranges::sort(shares, {}, &SizeShare::log_size);
  return shares;
}

/// Returns the earth mover's distance: the mean number of doublings by which the tensor of a byte
/// changes.
double shape_distance(const Workload& a, const Workload& b) {
  const auto x = size_shares(a), y = size_shares(b);
  double sum = 0, left_x = x.front().share, left_y = y.front().share;
  for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    const double moved = std::min(left_x, left_y);
    sum += moved * std::abs(x[i].log_size - y[j].log_size);
    left_x -= moved;
    left_y -= moved;
    if (left_x <= 0 && ++i < x.size()) left_x = x[i].share;
    if (left_y <= 0 && ++j < y.size()) left_y = y[j].share;
  }
  return sum;
}

double total(const std::vector<JobDifference>& differences) {
  double sum = 0;
  for (const auto& difference : differences) sum += difference.doublings;
  return sum;
}

std::string version_of(const Topology& topology, const std::string& library) {
  const auto found = topology.library_versions.find(library);
  return found == topology.library_versions.end() ? "none" : found->second;
}

std::string trait_of(const Workload& workload, const std::string& name) {
  const auto found = workload.traits.find(name);
  return found == workload.traits.end() ? "none" : found->second;
}

std::string readable_text(const Workload& workload) {
  return workload.program.empty() ? workload.name : workload.program;
}

}  // namespace

bool is_same_job(const Workload& a, const Workload& b) {
  return a.name == b.name && a.program == b.program && a.bytes() == b.bytes() &&
         (a.parameters == b.parameters || a.parameters.empty() || b.parameters.empty());
}

std::vector<JobDifference> job_differences(const Topology& other, const Topology& own) {
  Differences found;
  found.add_count("ranks", other.world_size, own.world_size, kMain);
  found.add_text("link", other.link, own.link, link_distance(other.link, own.link));
  found.add_text("processor", other.cpu_model, own.cpu_model, kOtherProcessor);
  found.add_count("cores", other.cores, own.cores, kMain);
  found.add_count("hardware threads", other.hardware_threads, own.hardware_threads, kMinor);
  found.add_count("sockets", other.sockets, own.sockets, kMinor);
  found.add_count("NUMA nodes", other.numa_nodes, own.numa_nodes, kMinor);
  found.add_count("GiB of memory", other.memory_gib, own.memory_gib, kMinor);
  std::set<std::string> libraries;
  for (const auto* topology : {&other, &own})
    for (const auto& [library, version] : topology->library_versions) libraries.insert(library);
  for (const auto& library : libraries) {
    found.add_text(library.c_str(), version_of(other, library), version_of(own, library), kMinor);
  }
  return found.take();
}

std::vector<JobDifference> job_differences(const Workload& other, const Workload& own) {
  Differences found;
  if (other.bytes() == 0 || own.bytes() == 0) {
    const bool is_plain = !other.program.empty() || !own.program.empty();
    const std::string why = is_plain ? "" : ", which do not both say what their tensors are";
    found.add("workload " + readable_text(other) + " instead of " + readable_text(own) + why,
              is_same_job(other, own) ? 0 : kUnknownWorkload);
    return found.take();
  }
  found.add_text("workload", other.name, own.name, kOtherName);
  found.add_count("bytes of tensors", other.bytes(), own.bytes(), kMain);
  found.add_count("tensors", other.tensors.size(), own.tensors.size(), kMain);
  found.add("other proportions of tensors", kMain * shape_distance(other, own));
  std::set<std::string> traits;
  for (const auto* workload : {&other, &own})
    for (const auto& [name, value] : workload->traits) traits.insert(name);
  for (const auto& name : traits)
    found.add_text(name.c_str(), trait_of(other, name), trait_of(own, name), kOtherTrait);
  return found.take();
}

std::vector<JobDifference> job_differences(const TunedJob& other, const TunedJob& own) {
  auto all = job_differences(other.topology, own.topology);
  for (auto& difference : job_differences(other.workload, own.workload))
    all.push_back(std::move(difference));
  return all;
}

double job_distance(const Topology& a, const Topology& b) {
  return total(job_differences(a, b));
}

double job_distance(const Workload& a, const Workload& b) {
  return total(job_differences(a, b));
}

double job_distance(const TunedJob& a, const TunedJob& b) {
  return total(job_differences(a, b));
}

std::string readable(std::vector<JobDifference> differences) {
  if (differences.empty()) return "the same topology and workload";
  std::ranges::stable_sort(differences, std::ranges::greater(), &JobDifference::doublings);
  std::string text;
  for (const auto& difference : differences) text += (text.empty() ? "" : ", ") + difference.what;
  return text;
}

std::vector<std::size_t> nearest_first(const TunedJob& own, std::span<const TunedJob> others) {
  std::vector<double> distances;
  for (const auto& other : others) distances.push_back(job_distance(other, own));
  std::vector<std::size_t> order(others.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t place) { return distances[place]; });
  return order;
}

}  // namespace hocket
