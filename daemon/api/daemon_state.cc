#include "daemon/api/daemon_state.h"

#include <utility>

#include "web/assets.h"

namespace hocket {

DaemonState::DaemonState(Store& store, const Clock& clock, DaemonStateOptions options)
    : is_daemon(options.is_daemon),
      tokens(std::move(options.tokens)),
      errors(options.log),
      board(store, feed, options.limits),
      jobs(options.limits),
      live({.store = options.tuning_store ? *options.tuning_store : store,
            .feed = feed,
            .board = board,
            .jobs = jobs,
            .searches = options.searches ? *options.searches : at_once,
            .clock = clock,
            .now_unix_ns = options.now_unix_ns,
            .log = options.log,
            .errors = errors,
            .limits = options.limits,
            .method = options.method}),
      studies(store, options.limits),
      traces(std::move(options.traces)),
      computed(store, traces),
      changes(store, feed, jobs, web_version()),
      api({.store = store,
           .feed = feed,
           .board = board,
           .jobs = jobs,
           .live = live,
           .studies = studies,
           .meetings = meetings,
           .computed = computed,
           .traces = traces,
           .changes = changes,
           .clock = clock,
           .tokens = tokens,
           .now_unix_ns = options.now_unix_ns,
           .description = std::move(options.description),
           .metrics = std::move(options.metrics),
           .log = options.log,
           .hidden_folders = HiddenFolders(std::move(options.hidden_folders)),
           .errors = errors,
           .is_daemon = options.is_daemon}) {}

}  // namespace hocket
