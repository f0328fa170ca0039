#include "core/cuda/executor/device_memory.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/check.h"

namespace hocket {
namespace {

/// Calls `visit(data, overwrites)` once for each accessed piece of data. `overwrites` is true when
/// the task only writes it.
template <class Visit>
void for_each_data(std::span<const Access> accesses, Visit&& visit) {
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const auto is_same = [&](const Access& other) { return other.data == accesses[i].data; };
    if (std::ranges::any_of(accesses.first(i), is_same)) continue;
    visit(accesses[i].data, std::ranges::none_of(accesses.subspan(i), [&](const Access& other) {
            return is_same(other) && other.mode != AccessMode::write;
          }));
  }
}

}  // namespace

void DeviceMemory::add(DataId data, std::size_t bytes, std::uint32_t uses) {
  HOCKET_CHECK(bytes > 0 && uses > 0, "memory of no size or without a use");
  std::lock_guard lock(mutex_);
  if (data.index >= temporaries_.size()) temporaries_.resize(data.index + 1);
  Temporary& temporary = temporaries_[data.index];
  HOCKET_CHECK(temporary.uses == 0, "memory was added twice");
  temporary = {.bytes = bytes, .uses = uses, .used = 0, .memory = nullptr};
}

void DeviceMemory::clear() {
  std::lock_guard lock(mutex_);
  temporaries_.clear();
}

const DeviceMemory::Temporary* DeviceMemory::find(DataId data) const {
  if (data.index >= temporaries_.size() || temporaries_[data.index].uses == 0) return nullptr;
  return &temporaries_[data.index];
}

DeviceMemory::Temporary* DeviceMemory::find(DataId data) {
  return const_cast<Temporary*>(std::as_const(*this).find(data));
}

bool DeviceMemory::has(DataId data) const {
  std::lock_guard lock(mutex_);
  return find(data) != nullptr;
}

void* DeviceMemory::at(DataId data) const {
  std::lock_guard lock(mutex_);
  const Temporary* temporary = find(data);
  HOCKET_CHECK(temporary && temporary->memory, "a task uses memory of data it does not access");
  return temporary->memory;
}

Result<void> DeviceMemory::begin_task(std::span<const Access> accesses, DeviceStream stream) {
  std::lock_guard lock(mutex_);
  Result<void> result;
  for_each_data(accesses, [&](DataId data, bool overwrites) {
    Temporary* temporary = find(data);
    if (!temporary || temporary->memory || !result) return;
    if (!overwrites) {
      result = invalid("data " + std::to_string(data.index) +
                       " is read before a task of the step has written it, or after as many uses "
                       "as a step was said to have, " +
                       std::to_string(temporary->uses) + "; count the uses of this step");
      return;
    }
    auto memory = driver_.allocate(temporary->bytes, stream);
    if (!memory) {
      result = failure(memory.error().in("allocating " + std::to_string(temporary->bytes) +
                                         " bytes for data " + std::to_string(data.index)));
      return;
    }
    temporary->memory = *memory;
  });
  return result;
}

void DeviceMemory::end_task(std::span<const Access> accesses, std::vector<DataId>& last_used) {
  std::lock_guard lock(mutex_);
  last_used.clear();
  for_each_data(accesses, [&](DataId data, bool) {
    Temporary* temporary = find(data);
    if (temporary && ++temporary->used == temporary->uses) last_used.push_back(data);
  });
}

Result<void> DeviceMemory::free(DataId data, DeviceStream stream) {
  std::lock_guard lock(mutex_);
  Temporary* temporary = find(data);
  HOCKET_CHECK(temporary && temporary->memory, "memory was freed twice");
  temporary->used = 0;
  return driver_.free(std::exchange(temporary->memory, nullptr), stream);
}

}  // namespace hocket
