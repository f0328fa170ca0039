#include "core/servers/wire.h"

#include <limits>

namespace hocket::server_wire {

Result<void> check_request(const Request& request) {
  if (request.operation < kPush || request.operation > kUpdate || request.reserved != 0)
    return invalid("there is no such request");
  if (request.offset_bytes < 0 || request.offset_bytes % std::int64_t{sizeof(float)} != 0)
    return invalid("a part begins at a multiple of the size of its values");
  if (request.values > std::numeric_limits<std::int64_t>::max() / sizeof(float))
    return invalid("no part has so many values");
  if (request.timeout_ns < 0 || request.timeout_ns > kLongestWaitNs)
    return invalid("nobody waits for so long");
  return {};
}

Update to_wire(const PartUpdate& update) {
  const OptimizerStep& step = update.step;
  return {.tensor = update.tensor,
          .optimizer = static_cast<std::uint32_t>(step.kind),
          .update = step.update,
          .gradient_scale = step.gradient_scale,
          .learning_rate = step.learning_rate,
          .momentum = step.momentum,
          .beta1 = step.beta1,
          .beta2 = step.beta2,
          .epsilon = step.epsilon};
}

Result<PartUpdate> from_wire(const Update& update) {
  const PartUpdate read = {.tensor = update.tensor,
                           .step = {.kind = static_cast<OptimizerKind>(update.optimizer),
                                    .update = update.update,
                                    .gradient_scale = update.gradient_scale,
                                    .learning_rate = update.learning_rate,
                                    .momentum = update.momentum,
                                    .beta1 = update.beta1,
                                    .beta2 = update.beta2,
                                    .epsilon = update.epsilon}};
  HOCKET_TRY(validate(read.step));
  return read;
}

}  // namespace hocket::server_wire
