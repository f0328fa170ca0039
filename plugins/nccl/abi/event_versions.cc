#include <cstring>

#include "plugins/nccl/abi/chain.h"

namespace hocket::nccl::abi {

EventDescriptorV5 to_v5(const EventDescriptorV4& descriptor) {
  EventDescriptorV5 converted;
  std::memset(&converted, 0, sizeof(converted));
  converted.type = descriptor.type;
  converted.parent = descriptor.parent;
  converted.rank = descriptor.rank;
  std::memcpy(converted.bytes, descriptor.bytes, sizeof(descriptor.bytes));
  if (converted.type == kCollectiveEvent) {
    converted.collective.parent_group = descriptor.parent;
    converted.parent = nullptr;
  } else if (converted.type == kPointToPointEvent) {
    converted.point_to_point.parent_group = descriptor.parent;
    converted.parent = nullptr;
  }
  return converted;
}

EventDescriptorV4 to_v4(const EventDescriptorV5& descriptor) {
  EventDescriptorV4 converted;
  std::memset(&converted, 0, sizeof(converted));
  converted.type = static_cast<std::uint8_t>(descriptor.type);
  converted.parent = descriptor.parent;
  converted.rank = descriptor.rank;
  std::memcpy(converted.bytes, descriptor.bytes, sizeof(converted.bytes));
  if (descriptor.type == kCollectiveEvent) {
    converted.parent = descriptor.collective.parent_group;
  } else if (descriptor.type == kPointToPointEvent) {
    converted.parent = descriptor.point_to_point.parent_group;
  }
  return converted;
}

bool is_reported(int event_mask, std::uint64_t type) {
  constexpr int kBelowOperation =
      kProxyOperationEvent | kProxyStepEvent | kKernelChannelEvent | kNetPluginEvent;
  constexpr int kBelowGroup = kBelowOperation | kCollectiveEvent | kPointToPointEvent;
  constexpr int kBelowCopyEngine = kCopyEngineSynchronizationEvent | kCopyEngineBatchEvent;
  constexpr int kOfCopyEngines = kBelowCopyEngine | kCopyEngineCollectiveEvent;
  int brings = 0;  // the events to which one of this type may belong
  switch (type) {
    case kGroupApiEvent:
      brings = kBelowGroup | kGroupEvent | kCollectiveApiEvent | kPointToPointApiEvent |
               kKernelLaunchEvent | kOfCopyEngines;
      break;
    case kCollectiveApiEvent:
      brings = kBelowOperation | kCollectiveEvent | kKernelLaunchEvent | kOfCopyEngines;
      break;
    case kPointToPointApiEvent:
      brings = kBelowOperation | kPointToPointEvent | kKernelLaunchEvent;
      break;
    case kGroupEvent:
      brings = kBelowGroup;
      break;
    case kCollectiveEvent:
    case kPointToPointEvent:
      brings = kBelowOperation;
      break;
    case kCopyEngineCollectiveEvent:
      brings = kBelowCopyEngine;
      break;
    case kProxyOperationEvent:
      brings = kProxyStepEvent | kNetPluginEvent;
      break;
    case kProxyStepEvent:
      brings = kNetPluginEvent;
      break;
    default:
      break;
  }
  return (static_cast<std::uint64_t>(event_mask) & (type | static_cast<unsigned>(brings))) != 0;
}

}  // namespace hocket::nccl::abi
