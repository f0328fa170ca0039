#include "store/store.h"

#include <array>

namespace hocket {
namespace {

constexpr std::array<std::string_view, 3> kStudyStates = {"running", "finished", "interrupted"};

}  // namespace

std::string_view to_string(StudyState state) {
  return kStudyStates.at(static_cast<std::size_t>(state));
}

}  // namespace hocket
