#include "tests/kernels/cuda/emulated_device.h"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace hocket::emulated {
namespace {

constexpr unsigned kLanes = 32;
constexpr std::size_t kStackBytes = 64 << 10;
#ifdef HOCKET_SANITIZED
constexpr bool kRecords = false;
#else
constexpr bool kRecords = true;
#endif

/// The bounds of a stack, for the address sanitizer.
struct Stack {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  void* fake = nullptr;  ///< owned by the sanitizer
};

/// Switches from stack `from` to `to` and returns when another switch comes back. Then updates the
/// bounds of `to`, since another thread may have called run() meanwhile.
void switch_stacks([[maybe_unused]] Stack& from, ucontext_t& from_context,
                   [[maybe_unused]] Stack& to, ucontext_t& to_context) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&from.fake, to.bottom, to.bytes);
#endif
  swapcontext(&from_context, &to_context);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(from.fake, &to.bottom, &to.bytes);
#endif
}

enum class Stop { none, block, warp, end, fault };

struct Fiber {
  ucontext_t context = {};
  std::unique_ptr<std::byte[]> memory;
  Stack stack;
  Stop stop = Stop::none;  ///< point at which it waits; none: it can continue
  Place place;
  bool predicate = false;
  /// Its value for a meeting; its value at the last one.
  std::array<std::byte, 8> value = {}, published = {};
};

std::string words_of(const Fiber& fiber) {
  if (fiber.stop == Stop::end) return "at its end";
  return "at " + std::string(fiber.place.file_name()) + ":" + std::to_string(fiber.place.line());
}

bool is_at_same_place(const Fiber& a, const Fiber& b) {
  return a.stop == b.stop &&
         (a.stop == Stop::end || (a.place.line() == b.place.line() &&
                                  std::strcmp(a.place.file_name(), b.place.file_name()) == 0));
}

/// Prepares a fiber that starts in `live` at its first switch.
void prepare(Fiber& fiber, void (*live)()) {
  fiber.memory.reset(new std::byte[kStackBytes]);  // uninitialised until it is used
  fiber.stack = {fiber.memory.get(), kStackBytes, nullptr};
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.memory.get();
  fiber.context.uc_stack.ss_size = kStackBytes;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, live, 0);
}

/// The emulated device; one launch at a time.
class Device {
 public:
  Result<void> run(const char* kernel, dim3 grid, dim3 block, const std::function<void()>& thread) {
    HOCKET_CHECK(block.x > 0 && block.x % kLanes == 0 && block.x <= 1024 && block.y == 1,
                 "a block is 1 to 32 whole warps");
    HOCKET_CHECK(grid.x > 0 && grid.y > 0 && grid.y <= 65535, "no such grid can be launched");
    random_.seed(++launches_);
    thread_ = &thread;
    gridDim = grid;
    blockDim = block;
    make_fibers(block.x);
    for (const std::size_t number : shuffled(std::size_t{grid.x} * grid.y)) {
      blockIdx.x = static_cast<unsigned>(number % grid.x);
      blockIdx.y = static_cast<unsigned>(number / grid.x);
      if (!run_block()) {
        fibers_.clear();  // fibers inside the kernel, which never continue
        return failure(ErrorCode::unavailable, std::string(kernel) + ": " + fault_);
      }
    }
    return {};
  }

  Fiber& current() { return *fibers_[current_]; }
  /// Returns whether `address` is on the stack of the running thread.
  bool is_on_stack(const void* address) const {
    const Fiber& fiber = *fibers_[current_];
    const auto* const at = static_cast<const std::byte*>(address);
    return at >= fiber.memory.get() && at < fiber.memory.get() + kStackBytes;
  }
  const Fiber& lane_of_warp(unsigned lane) const {
    return *fibers_[current_ / kLanes * kLanes + lane];
  }
  bool any_predicate() const { return any_; }

  /// Makes the current fiber wait.
  void stop(Stop why, Place place) {
    Fiber& fiber = current();
    fiber.stop = why;
    fiber.place = place;
    switch_stacks(fiber.stack, fiber.context, stack_, context_);
  }

  /// Sets the message with which stop(Stop::fault, …) ends the launch. Separate from stop(), since
  /// the stack of a fiber that never continues must own nothing.
  void explain(std::string fault) { fault_ = std::move(fault); }

 private:
  static void live();

  void make_fibers(std::size_t threads) {
    threads_ = threads;
    while (fibers_.size() < threads) {
      fibers_.push_back(std::make_unique<Fiber>());
      prepare(*fibers_.back(), &Device::live);
    }
  }

  std::vector<std::size_t> shuffled(std::size_t count) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    return order;
  }

  bool fail(std::string why) {
    fault_ = std::move(why);
    return false;
  }

  bool run_block() {
    for (std::size_t i = 0; i < threads_; ++i) fibers_[i]->stop = Stop::none;
    for (;;) {
      for (const std::size_t warp : shuffled(threads_ / kLanes)) {
        if (!run_warp(warp * kLanes)) return false;
      }
      any_ = false;
      for (std::size_t i = 0; i < threads_; ++i) {
        if (!is_at_same_place(*fibers_[0], *fibers_[i])) {
          return fail("thread 0 is " + words_of(*fibers_[0]) + ", but thread " + std::to_string(i) +
                      " is " + words_of(*fibers_[i]));
        }
        any_ = any_ || fibers_[i]->predicate;
      }
      if (fibers_[0]->stop == Stop::end) return true;
      for (std::size_t i = 0; i < threads_; ++i) fibers_[i]->stop = Stop::none;
    }
  }

  /// Runs the warp until its lanes wait for the block or have ended.
  bool run_warp(std::size_t first) {
    for (;;) {
      const bool backwards = random_() % 2 == 0;
      for (unsigned i = 0; i < kLanes; ++i) {
        if (!resume(first + (backwards ? kLanes - 1 - i : i))) return false;
      }
      bool meets = false;
      for (unsigned i = 0; i < kLanes; ++i) meets |= fibers_[first + i]->stop == Stop::warp;
      if (!meets) return true;
      for (unsigned i = 0; i < kLanes; ++i) {
        if (!is_at_same_place(*fibers_[first], *fibers_[first + i])) {
          return fail("lane 0 is " + words_of(*fibers_[first]) + ", but lane " + std::to_string(i) +
                      " of its warp is " + words_of(*fibers_[first + i]));
        }
      }
      for (unsigned i = 0; i < kLanes; ++i) {
        Fiber& fiber = *fibers_[first + i];
        fiber.published = fiber.value;
        fiber.stop = Stop::none;
      }
    }
  }

  /// Resumes a fiber until its next wait.
  bool resume(std::size_t thread) {
    Fiber& fiber = *fibers_[thread];
    current_ = thread;
    threadIdx.x = static_cast<unsigned>(thread);
    switch_stacks(stack_, context_, fiber.stack, fiber.context);
    return fiber.stop != Stop::fault;
  }

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::size_t threads_ = 0, current_ = 0;
  const std::function<void()>* thread_ = nullptr;
  ucontext_t context_ = {};  // context of run()
  Stack stack_;
  bool any_ = false;
  std::string fault_;
  std::minstd_rand random_;
  unsigned launches_ = 0;

  friend void note_stack(Device&);
};

Device& device() {
  static Device device;
  return device;
}

PutWork& put_work() {
  static PutWork put;
  return put;
}

/// Collects the accesses of a launch.
class Recorder {
 public:
  void begin() { is_on_ = true; }

  void note(const void* address, std::size_t bytes, bool writes) {
    if (!is_on_ || bytes == 0 || device().is_on_stack(address)) return;
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    // Threads mostly continue a range that was accessed shortly before.
    const std::size_t oldest = ranges_.size() > kRecent ? ranges_.size() - kRecent : 0;
    for (std::size_t i = ranges_.size(); i-- > oldest;) {
      Range& range = ranges_[i];
      if (range.writes != writes || begin > range.end || begin + bytes < range.begin) continue;
      range.begin = std::min(range.begin, begin);
      range.end = std::max(range.end, begin + bytes);
      return;
    }
    ranges_.push_back({begin, begin + bytes, writes});
  }

  /// Returns the recorded ranges, of which no two of one kind overlap or touch.
  std::vector<AccessedMemory> end() {
    is_on_ = false;
    std::ranges::sort(ranges_, {},
                      [](const Range& range) { return std::pair(range.writes, range.begin); });
    std::vector<Range> united;
    for (const Range& range : ranges_) {
      if (united.empty() || united.back().writes != range.writes ||
          united.back().end < range.begin) {
        united.push_back(range);
      } else {
        united.back().end = std::max(united.back().end, range.end);
      }
    }
    ranges_.clear();
    std::vector<AccessedMemory> accessed;
    for (const Range& range : united)
      accessed.push_back(
          {reinterpret_cast<const void*>(range.begin), range.end - range.begin, range.writes});
    return accessed;
  }

 private:
  static constexpr std::size_t kRecent = 8;
  struct Range {
    std::uintptr_t begin = 0, end = 0;
    bool writes = false;
  };
  // On only in the thread that runs the launch: others may launch kernels meanwhile.
  static inline thread_local bool is_on_ = false;
  std::vector<Range> ranges_;
};

Recorder& recorder() {
  static Recorder recorder;
  return recorder;
}

/// Records the stack of run(); called in a fiber that has just started.
void note_stack([[maybe_unused]] Device& device) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, &device.stack_.bottom, &device.stack_.bytes);
#endif
}

/// Runs a fiber: one thread of a block after the other.
void Device::live() {
  note_stack(device());
  for (;;) {
    (*device().thread_)();
    device().stop(Stop::end, Place::current());
  }
}

}  // namespace

Result<void> run(const char* kernel, dim3 grid, dim3 block, const std::function<void()>& thread) {
  return device().run(kernel, grid, block, thread);
}

void set_put_work(PutWork put) {
  put_work() = std::move(put);
}

Result<void> launch(DeviceStream stream, const char* kernel, dim3 grid, dim3 block,
                    std::function<void()> thread) {
  if (!put_work()) return run(kernel, grid, block, thread);
  put_work()(stream, [=, thread = std::move(thread)] {
    recorder().begin();
    const auto ok = run(kernel, grid, block, thread);
    HOCKET_CHECK(ok, ok.error().message.c_str());
    std::vector<AccessedMemory> accessed = recorder().end();
    HOCKET_CHECK(!kRecords || !accessed.empty(),
                 (std::string(kernel) + " is not compiled to report what it accesses").c_str());
    return accessed;
  });
  return {};
}

bool meet_block(bool predicate, Place place) {
  device().current().predicate = predicate;
  device().stop(Stop::block, place);
  return device().any_predicate();
}

void meet_warp(unsigned lanes, const void* value, std::size_t bytes, Place place) {
  if (lanes != 0xffffffffu) {
    device().explain("an exchange of a part of a warp");
    device().stop(Stop::fault, place);
  }
  Fiber& fiber = device().current();
  HOCKET_CHECK(bytes <= fiber.value.size(), "too large for an exchange");
  std::memcpy(fiber.value.data(), value, bytes);
  device().stop(Stop::warp, place);
}

const void* brought_by(unsigned lane) {
  return device().lane_of_warp(lane).published.data();
}

void expect_aligned(const void* address, std::size_t bytes, Place place) {
  if (reinterpret_cast<std::uintptr_t>(address) % bytes == 0) return;
  device().explain("an access at " + std::string(place.file_name()) + ":" +
                   std::to_string(place.line()) + " is not aligned to " + std::to_string(bytes) +
                   " bytes");
  device().stop(Stop::fault, place);
}

}  // namespace hocket::emulated

#ifndef HOCKET_SANITIZED

// The functions that GCC calls at each access of a source compiled with -fsanitize=thread.
#define HOCKET_RECORD(name, bytes, writes)                     \
  extern "C" void __tsan_##name(void* address);                \
  extern "C" void __tsan_##name(void* address) {               \
    hocket::emulated::recorder().note(address, bytes, writes); \
  }
#define HOCKET_RECORD_BOTH(of, bytes)          \
  HOCKET_RECORD(of##read##bytes, bytes, false) \
  HOCKET_RECORD(of##write##bytes, bytes, true)

HOCKET_RECORD_BOTH(, 1)
HOCKET_RECORD_BOTH(, 2)
HOCKET_RECORD_BOTH(, 4)
HOCKET_RECORD_BOTH(, 8)
HOCKET_RECORD_BOTH(, 16)
HOCKET_RECORD_BOTH(unaligned_, 2)
HOCKET_RECORD_BOTH(unaligned_, 4)
HOCKET_RECORD_BOTH(unaligned_, 8)
HOCKET_RECORD_BOTH(unaligned_, 16)

extern "C" {
void __tsan_init();
void __tsan_init() {}
void __tsan_read_range(void* address, std::size_t bytes);
void __tsan_read_range(void* address, std::size_t bytes) {
  hocket::emulated::recorder().note(address, bytes, false);
}
void __tsan_write_range(void* address, std::size_t bytes);
void __tsan_write_range(void* address, std::size_t bytes) {
  hocket::emulated::recorder().note(address, bytes, true);
}
void __tsan_vptr_update(void**, void*);
void __tsan_vptr_update(void**, void*) {}
}

#endif
