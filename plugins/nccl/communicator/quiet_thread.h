#pragma once

// Threads that get none of the program's signals, since its handlers do not expect them there.

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace hocket::nccl {

/// `name` has at most 15 characters.
template <class Run>
std::thread start_quietly(const char* name, Run run) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(run));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace hocket::nccl
