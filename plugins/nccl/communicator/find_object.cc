// GCC's unwinder, which the plugin contains so that it needs libc alone, looks up the object of an
// address by _dl_find_object(). glibc has it since 2.35, and programs with an older one are common.
// So the plugin has its own, which asks as unwinders did before. Nothing else calls it.

#include <dlfcn.h>
#include <link.h>
#include <cstdint>

#if defined(DLFO_STRUCT_HAS_EH_DBASE)

namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* found;
};

/// Called for each object that is loaded; returns 1 once the address is in it.
int look_into(dl_phdr_info* object, std::size_t, void* data) {
  const Search& search = *static_cast<Search*>(data);
  std::uintptr_t begin = UINTPTR_MAX, end = 0, frames = 0;
  bool is_within = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    const std::uintptr_t from = object->dlpi_addr + header.p_vaddr, to = from + header.p_memsz;
    if (header.p_type == PT_GNU_EH_FRAME) frames = from;
    if (header.p_type != PT_LOAD) continue;
    is_within = is_within || (search.address >= from && search.address < to);
    if (from < begin) begin = from;
    if (to > end) end = to;
  }
  if (!is_within) return 0;
  *search.found = {};
  search.found->dlfo_map_start = reinterpret_cast<void*>(begin);
  search.found->dlfo_map_end = reinterpret_cast<void*>(end);
  search.found->dlfo_eh_frame = reinterpret_cast<void*>(frames);
  return 1;
}

}  // namespace

extern "C" int _dl_find_object(void* address, dl_find_object* found) noexcept {
  Search search{reinterpret_cast<std::uintptr_t>(address), found};
  const bool is_known = dl_iterate_phdr(look_into, &search) == 1 && found->dlfo_eh_frame != nullptr;
  return is_known ? 0 : -1;
}

#endif
