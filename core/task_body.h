#pragma once

// The code of a compute task: a move-only callable kept in place when small, so that submitting a
// task allocates nothing.

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "core/check.h"

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
    if (operations_) operations_->destroy(storage_);
    operations_ = nullptr;
  }

 private:
  struct Operations {
    void (*call)(void*);
    void (*move)(void* from, void* to);
    void (*destroy)(void*);
  };

  template <class F>
  static constexpr Operations kInline{[](void* p) { (*static_cast<F*>(p))(); },
                                      [](void* from, void* to) {
                                        ::new (to) F(std::move(*static_cast<F*>(from)));
                                        static_cast<F*>(from)->~F();
                                      },
                                      [](void* p) { static_cast<F*>(p)->~F(); }};

  template <class F>
  static constexpr Operations kHeap{
      [](void* p) { (**static_cast<F**>(p))(); },
      [](void* from, void* to) { ::new (to) F*(*static_cast<F**>(from)); },
      [](void* p) { delete *static_cast<F**>(p); }};

  void take(TaskBody& other) {
    operations_ = std::exchange(other.operations_, nullptr);
    if (operations_) operations_->move(other.storage_, storage_);
  }

  const Operations* operations_ = nullptr;
  alignas(std::max_align_t) std::byte storage_[kInlineBytes];
};

}  // namespace hocket
