#include "cli/process/harmless_signal.h"

namespace hocket {
namespace {

void do_nothing(int) {}

}  // namespace

HarmlessSignal::HarmlessSignal(int number) : number_(number) {
  struct sigaction action {};
  action.sa_handler = do_nothing;
  action.sa_flags = SA_RESTART;
  sigaction(number_, nullptr, &before_);
  if (before_.sa_handler != SIG_IGN) sigaction(number_, &action, nullptr);
}

HarmlessSignal::~HarmlessSignal() {
  sigaction(number_, &before_, nullptr);
}

}  // namespace hocket
