#pragma once

// The code of a compute task: a move-only callable stored in place when small, so that submitting a
// task does not allocate. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <new>
#include <type_traits>
#include <utility>

#include "core/base/check.h"

namespace hocket {

class TaskBody {
 public:
  /// Callables up to this size are stored in place; larger ones on the heap.
  static constexpr std::size_t kInlineBytes = 48;

  TaskBody() = default;

  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, TaskBody> && std::is_invocable_r_v<void, F&>)
      TaskBody(F&& f) {  // NOLINT(google-explicit-constructor): a lambda is a body
    using Callable = std::remove_cvref_t<F>;
    if constexpr (sizeof(Callable) <= kInlineBytes &&
                  alignof(Callable) <= alignof(std::max_align_t) &&
                  std::is_nothrow_move_constructible_v<Callable>) {
      ::new (storage_) Callable(std::forward<F>(f));
      operations_ = &kInline<Callable>;
    } else {
      ::new (storage_) Callable*(new Callable(std::forward<F>(f)));
      operations_ = &kHeap<Callable>;
    }
  }

  TaskBody(TaskBody&& other) noexcept { take(other); }
  TaskBody& operator=(TaskBody&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~TaskBody() { reset(); }

  void operator()() {
    HOCKET_CHECK(operations_, "an empty task body was run");
    operations_->call(storage_);
  }

  explicit operator bool() const { return operations_ != nullptr; }

  void reset() {
    if (operations_ && operations_->destroy) operations_->destroy(storage_);
    operations_ = nullptr;
  }

 private:
  struct Operations {
    void (*call)(void*);
    void (*move)(void* from, void* to);  ///< null: copy the bytes
    void (*destroy)(void*);              ///< null: nothing to do
  };

  template <class F>
  static constexpr Operations inline_operations() {
    Operations operations{[](void* p) { (*static_cast<F*>(p))(); }, nullptr, nullptr};
    if constexpr (!std::is_trivially_copyable_v<F>) {
      operations.move = [](void* from, void* to) {
        ::new (to) F(std::move(*static_cast<F*>(from)));
        static_cast<F*>(from)->~F();
      };
      operations.destroy = [](void* p) { static_cast<F*>(p)->~F(); };
    }
    return operations;
  }
  template <class F>
  static constexpr Operations kInline = inline_operations<F>();

  template <class F>
  static constexpr Operations kHeap{[](void* p) { (**static_cast<F**>(p))(); }, nullptr,
                                    [](void* p) { delete *static_cast<F**>(p); }};

  void take(TaskBody& other) {
    operations_ = std::exchange(other.operations_, nullptr);
    if (!operations_) return;
    if (operations_->move) return operations_->move(other.storage_, storage_);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
    // Copies all bytes, whatever the callable's size, so that the compiler uses three vector
    // copies.
    std::memcpy(storage_, other.storage_, kInlineBytes);
#pragma GCC diagnostic pop
  }

  const Operations* operations_ = nullptr;
  alignas(std::max_align_t) std::byte storage_[kInlineBytes];
};

/// A piece of a computation that can be divided: units [begin, end) of one of its dimensions.
struct TaskPiece {
  std::uint32_t dimension = 0;  ///< index into TaskPlace::dimensions
  std::int64_t begin = 0, end = 0;

  bool operator==(const TaskPiece&) const = default;
};

/// The code of such a computation, called once for each piece; the pieces together cover it. Pieces
/// of a contraction run in sequence, from 0 on; other pieces may run concurrently.
using PieceBody = std::function<void(const TaskPiece&)>;

}  // namespace hocket
