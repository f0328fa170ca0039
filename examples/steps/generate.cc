// Regenerates the step descriptions of this folder.
//
//   generate_steps [FOLDER]       FOLDER: destination; the current folder by default

#include <cstdio>
#include <fstream>

#include "examples/steps/architectures.h"

int main(int argc, char** argv) {
  if (argc > 2) {
    std::fprintf(stderr, "usage: generate_steps [FOLDER]\n");
    return 2;
  }
  const std::string folder = argc == 2 ? argv[1] : ".";
  for (const auto& [file, step] : hocket::example_steps()) {
    const std::string path = folder + "/" + file;
    std::ofstream out(path, std::ios::binary);
    out << hocket::example_text(step) << std::flush;
    if (!out) {
      std::fprintf(stderr, "generate_steps: cannot write %s\n", path.c_str());
      return 1;
    }
    std::printf("%s\n", path.c_str());
  }
  return 0;
}
