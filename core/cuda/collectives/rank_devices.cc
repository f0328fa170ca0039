#include "core/cuda/collectives/rank_devices.h"

#include <unistd.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string_view>
#include <utility>

namespace hocket {
namespace {

/// Longest identity that a rank sends; NCCL, too, compares no more of NCCL_HOSTID.
constexpr std::size_t kMaxIdentityBytes = 1023;

std::string name_of_host() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

std::string id_of_host(const std::string& name) {
  if (const char* const id = std::getenv("NCCL_HOSTID")) return id;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot_id;
  std::getline(file, boot_id);
  return name + boot_id;
}

bool may_share_device() {
  const char* const set = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return set && *set && std::string_view(set) != "0";
}

/// The host's id comes last, since it may contain anything.
std::string text_of(const RankDevice& device) {
  const std::string text = device.host_name + "\n" + device.bus_id + "\n" +
                           (device.may_share ? "shares" : "") + "\n" + device.host_id;
  return text.substr(0, kMaxIdentityBytes);
}

Result<RankDevice> parse_device(std::string_view text) {
  std::array<std::string, 3> lines;
  for (std::string& line : lines) {
    const std::size_t end = text.find('\n');
    if (end == text.npos) {
      return failure(ErrorCode::unavailable,
                     "a rank sent something else than its device; do all ranks run the same "
                     "version?");
    }
    line = text.substr(0, end);
    text.remove_prefix(end + 1);
  }
  return RankDevice{lines[0], lines[1], !lines[2].empty(), std::string(text)};
}

/// Returns every rank's `text`, by rank. Uses sums alone, since messages go from rank 0 only.
Result<std::vector<std::string>> exchange_texts(Collective& messages, const std::string& text) {
  const auto ranks = static_cast<std::size_t>(messages.world_size());
  const auto own = static_cast<std::size_t>(messages.rank());
  std::vector<float> sizes(ranks);
  sizes[own] = static_cast<float>(text.size());
  HOCKET_TRY(messages.all_reduce(sizes, 0));
  std::vector<std::size_t> ends;
  for (const float size : sizes) {
    if (!(size >= 0 && size <= static_cast<float>(kMaxIdentityBytes)) || std::floor(size) != size)
      return failure(ErrorCode::unavailable, "the ranks do not run the same version");
    ends.push_back((ends.empty() ? 0 : ends.back()) + static_cast<std::size_t>(size));
  }
  if (ends.back() == 0) return std::vector<std::string>(ranks);
  std::vector<float> bytes(ends.back());
  for (std::size_t i = 0; i < text.size(); ++i)
    bytes[ends[own] - text.size() + i] = static_cast<float>(static_cast<unsigned char>(text[i]));
  HOCKET_TRY(messages.all_reduce(bytes, 1));
  std::vector<std::string> texts(ranks);
  std::size_t at = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (; at < ends[rank]; ++at)
      texts[rank].push_back(static_cast<char>(static_cast<unsigned char>(bytes[at])));
  }
  return texts;
}

}  // namespace

RankDevice rank_device(DeviceDriver& driver) {
  const std::string name = name_of_host();
  return {name, driver.bus_id().value_or(""), may_share_device(), id_of_host(name)};
}

Result<std::vector<RankDevice>> exchange_rank_devices(Collective& messages, const RankDevice& own) {
  const auto texts = exchange_texts(messages, text_of(own));
  HOCKET_TRY(texts);
  std::vector<RankDevice> devices;
  for (const std::string& text : *texts) {
    auto device = parse_device(text);
    HOCKET_TRY(device);
    devices.push_back(std::move(*device));
  }
  return devices;
}

Result<void> check_devices_differ(std::span<const RankDevice> devices) {
  std::map<std::pair<std::string, std::string>, std::size_t> first_rank;
  for (std::size_t rank = 0; rank < devices.size(); ++rank) {
    const RankDevice& device = devices[rank];
    if (device.bus_id.empty()) {
      return failure(ErrorCode::unavailable, "rank " + std::to_string(rank) + " on host " +
                                                 device.host_name +
                                                 " cannot tell the bus id of its GPU");
    }
    const auto [first, is_new] = first_rank.emplace(std::pair(device.host_id, device.bus_id), rank);
    if (is_new || (device.may_share && devices[first->second].may_share)) continue;
    return invalid("ranks " + std::to_string(first->second) + " and " + std::to_string(rank) +
                   " use the same GPU, " + device.bus_id + " of host " + device.host_name +
                   "; every rank needs a GPU of its own: start at most as many ranks on a host as "
                   "it has GPUs, and check LOCAL_RANK, CUDA_VISIBLE_DEVICES and --device cuda:N of "
                   "both ranks");
  }
  return {};
}

}  // namespace hocket
