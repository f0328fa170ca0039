#include "core/cuda/device_collective.h"

#include <string>

namespace hocket {

Result<void> check_pieces(std::size_t values, int world_size) {
  if (values % static_cast<std::size_t>(world_size) == 0) return {};
  return invalid(std::to_string(values) + " values cannot be cut into a piece for each of " +
                 std::to_string(world_size) + " ranks: must be a multiple of that");
}

Result<void> check_root(int root, int world_size) {
  if (root >= 0 && root < world_size) return {};
  return invalid("rank " + std::to_string(root) + " is to send: must be from 0 to " +
                 std::to_string(world_size - 1));
}

}  // namespace hocket
