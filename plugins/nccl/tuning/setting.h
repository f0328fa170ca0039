#pragma once

// A setting: for each class of collectives what is wanted. The ranks of a communicator agree on one
// (plugins/nccl/agreement/) in its form as bytes:
//
//   "HS" version=3 u8 | mode u8 | entries u16 | entries times: class u16, algorithm i8,
//   protocol i8, channels u8
//
// in little-endian order, by rising class, without those that are left to NCCL. The mode is that of
// Events, or 4 if the plugin is off; then there are no entries. Equal settings have equal bytes. A
// plain value.

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/nccl/tuning/choice.h"
#include "plugins/nccl/tuning/collective_class.h"
#include "plugins/nccl/tuning/events.h"

namespace hocket::nccl {

struct Setting {
  std::array<Choice, kClasses> choices = {};
  /// The ranks count or time their collectives while the setting is in force, all the same ones.
  Events events = Events::none;
  /// The plugin leaves the communicator alone for good: it chooses nothing and asks for no events.
  bool is_off = false;

  const Choice& of(const CollectiveClass& its) const {
    return choices[static_cast<std::size_t>(its.index())];
  }
  Choice& of(const CollectiveClass& its) { return choices[static_cast<std::size_t>(its.index())]; }

  bool operator==(const Setting&) const = default;
};

std::string encode(const Setting& setting);

/// Returns nothing for bytes of another form, and for values out of range.
std::optional<Setting> decode_setting(std::string_view bytes);

}  // namespace hocket::nccl
