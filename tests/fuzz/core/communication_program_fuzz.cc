// Any bytes that a rank shows as its program are refused, or are a program that is written back
// as it was; then it is compared with itself and with another rank's without a crash.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"
#include "core/programs/program_check.h"

namespace {

using namespace hocket;

const Mesh& mesh() {
  static const Mesh four = Mesh::make({{"pipeline", 2}, {"data", 2}}, {4, 2}).value();
  return four;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // Two programs, divided where the first byte says.
  const std::string_view all(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t first_bytes = all.size() * data[0] / 255;
  RankPrograms job{.programs = {}, .program_of = {0, 0, 0, 0}};
  for (const std::string_view bytes : {all.substr(0, first_bytes), all.substr(first_bytes)}) {
    auto program = program_from_bytes(bytes, mesh());
    if (!program) continue;
    HOCKET_CHECK(bytes_of(*program) == bytes, "it is written back as it was read");
    job.programs.push_back(std::move(*program));
  }
  if (job.programs.empty()) return 0;
  if (job.programs.size() == 2) job.program_of = {0, 1, 0, 1};
  const auto ok = check_programs(job, mesh());
  HOCKET_CHECK(ok || ok.error().message.find('\n') == std::string_view::npos,
               "a message has one line");
  return 0;
}
