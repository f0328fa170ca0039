#include "plugins/nccl/tuning/setting.h"

#include <cstdint>

namespace hocket::nccl {
namespace {

constexpr char kVersion = 3;
constexpr char kOff = static_cast<char>(Events::timed) + 1;
constexpr std::size_t kHeaderBytes = 6, kEntryBytes = 5;

void put_u16(std::string& bytes, int value) {
  bytes.push_back(static_cast<char>(value & 0xff));
  bytes.push_back(static_cast<char>(value >> 8 & 0xff));
}

int u16_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]) | static_cast<std::uint8_t>(bytes[at + 1]) << 8;
}

bool is_valid(const Choice& choice) {
  const bool has_algorithm = choice.algorithm >= 0;
  return choice.algorithm >= -1 && choice.algorithm < abi::kAlgorithms && choice.protocol >= -1 &&
         choice.protocol < abi::kProtocols && has_algorithm == (choice.protocol >= 0) &&
         choice.channels <= kMostChannels && !choice.is_default();
}

}  // namespace

std::string encode(const Setting& setting) {
  if (setting.is_off) return {'H', 'S', kVersion, kOff, 0, 0};
  std::string bytes = {'H', 'S', kVersion, static_cast<char>(setting.events)};
  int entries = 0;
  for (const Choice& choice : setting.choices) entries += choice.is_default() ? 0 : 1;
  put_u16(bytes, entries);
  for (int i = 0; i < kClasses; ++i) {
    const Choice& choice = setting.choices[static_cast<std::size_t>(i)];
    if (choice.is_default()) continue;
    put_u16(bytes, i);
    bytes.push_back(static_cast<char>(choice.algorithm));
    bytes.push_back(static_cast<char>(choice.protocol));
    bytes.push_back(static_cast<char>(choice.channels));
  }
  return bytes;
}

std::optional<Setting> decode_setting(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes || bytes.substr(0, 2) != "HS" || bytes[2] != kVersion)
    return std::nullopt;
  if (bytes[3] < 0 || bytes[3] > kOff) return std::nullopt;
  const auto entries = static_cast<std::size_t>(u16_at(bytes, 4));
  if (bytes.size() != kHeaderBytes + entries * kEntryBytes) return std::nullopt;
  Setting setting;
  setting.is_off = bytes[3] == kOff;
  if (!setting.is_off) setting.events = static_cast<Events>(bytes[3]);
  if (setting.is_off && entries > 0) return std::nullopt;
  int last = -1;
  for (std::size_t at = kHeaderBytes; at < bytes.size(); at += kEntryBytes) {
    const int index = u16_at(bytes, at);
    const Choice choice{static_cast<std::int8_t>(bytes[at + 2]),
                        static_cast<std::int8_t>(bytes[at + 3]),
                        static_cast<std::uint8_t>(bytes[at + 4])};
    if (index <= last || index >= kClasses || !is_valid(choice)) return std::nullopt;
    setting.choices[static_cast<std::size_t>(index)] = choice;
    last = index;
  }
  return setting;
}

}  // namespace hocket::nccl
