#include "tests/plugins/nccl/abi/fake_communicator.h"

#include <mutex>

namespace hocket::nccl {
namespace {

struct Opened {
  std::mutex mutex;
  std::vector<std::shared_ptr<FakeCommunicator>> all;
  std::size_t first_listed = 0;
  bool is_left_alone = false;
};

Opened& opened() {
  static Opened its;
  return its;
}

}  // namespace

std::vector<std::shared_ptr<FakeCommunicator>> opened_communicators() {
  const std::lock_guard lock(opened().mutex);
  return {opened().all.begin() + static_cast<std::ptrdiff_t>(opened().first_listed),
          opened().all.end()};
}

void forget_communicators() {
  const std::lock_guard lock(opened().mutex);
  opened().first_listed = opened().all.size();
}

void leave_communicators_alone(bool is_left_alone) {
  const std::lock_guard lock(opened().mutex);
  opened().is_left_alone = is_left_alone;
}

CommunicatorCalls* open_communicator(const CommunicatorIdentity& identity, Logger,
                                     measure::CollectiveMeter* meter) {
  const std::lock_guard lock(opened().mutex);
  if (opened().is_left_alone) return nullptr;
  auto communicator = std::make_shared<FakeCommunicator>();
  communicator->identity = identity;
  communicator->meter = meter;
  opened().all.push_back(communicator);
  return communicator.get();
}

}  // namespace hocket::nccl
