#include "cli/files/own_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/text.h"

namespace hocket {
namespace {

constexpr mode_t kWriteByAll = S_IWOTH;
constexpr mode_t kWriteByOthers = S_IWGRP | S_IWOTH;
constexpr mode_t kAnyByOthers = S_IRWXG | S_IRWXO;

/// Type and permissions that files of one kind must have.
struct KindRule {
  const char* name;
  mode_t type;       ///< S_IFREG or S_IFDIR
  mode_t forbidden;  ///< permissions that it must not have
  const char* if_missing;
  bool may_be_roots = false;   ///< as core/files/private_file.h allows
  bool may_be_shared = false;  ///< other users may own it where they share it
};

/// Rules for the files of each kind, by OwnKind.
constexpr std::array kRules = {
    KindRule{"store", S_IFREG, kWriteByAll, "the first study or profile makes it", false, true},
    KindRule{"traces", S_IFDIR, kWriteByAll, "a job that is profiled makes it", false, true},
    KindRule{"state folder", S_IFDIR, kWriteByOthers, "made with the first file in it"},
    KindRule{"token", S_IFREG, kAnyByOthers, "`hocket serve` makes it", true},
    KindRule{"served traces", S_IFDIR, kAnyByOthers, "`hocket serve --serve-traces` makes it"},
    KindRule{"cache folder", S_IFDIR, kWriteByOthers, "a job that asks a daemon makes it"},
    KindRule{"last good", S_IFREG, kWriteByAll, "a job that asks a daemon makes it"},
    KindRule{"scratch", S_IFDIR, kAnyByOthers,
             "made by `hocket tune`, `hocket run` and `hocket with`"},
};

constexpr std::array kKinds = {OwnKind::store,     OwnKind::traces,        OwnKind::state_folder,
                               OwnKind::token,     OwnKind::served_traces, OwnKind::cache_folder,
                               OwnKind::last_good, OwnKind::scratch};
static_assert(kKinds.size() == kRules.size());

const KindRule& rule_of(OwnKind kind) {
  return kRules[static_cast<std::size_t>(kind)];
}

/// Returns the command that takes the forbidden permissions away.
std::string mend_text(const std::string& path, mode_t forbidden) {
  const char* const change = forbidden == kAnyByOthers     ? "go-rwx"
                             : forbidden == kWriteByOthers ? "go-w"
                                                           : "o-w";
  return shell_text(std::array<std::string, 3>{"chmod", change, path});
}

}  // namespace

std::span<const OwnKind> own_kinds() {
  return kKinds;
}

std::string_view to_string(OwnKind kind) {
  return rule_of(kind).name;
}

std::string_view to_string(OwnState state) {
  switch (state) {
    case OwnState::ok:
      return "ok";
    case OwnState::in_use:
      return "in use";
    case OwnState::missing:
      return "missing";
    case OwnState::left_over:
      return "left over";
    case OwnState::wrong_permissions:
      return "wrong permissions";
    case OwnState::wrong_owner:
      return "wrong owner";
    case OwnState::unusable:
      return "unusable";
  }
  return "";
}

bool is_wrong(OwnState state) {
  return state == OwnState::wrong_permissions || state == OwnState::wrong_owner ||
         state == OwnState::unusable;
}

OwnFile judged_file(OwnKind kind, std::string path, const PathStatus& status, uid_t user,
                    bool is_shared) {
  const KindRule& rule = rule_of(kind);
  OwnFile file{kind, std::move(path), status.bytes};
  const auto is = [&](OwnState state, std::string advice) {
    file.state = state;
    file.advice = std::move(advice);
    return file;
  };
  if (!status.mode) return is(OwnState::missing, rule.if_missing);
  if ((*status.mode & S_IFMT) != rule.type) {
    return is(OwnState::unusable, rule.type == S_IFDIR ? "it is not a folder; move it away"
                                                       : "it is not a regular file; move it away");
  }
  const bool is_own = status.owner == user || (rule.may_be_roots && status.owner == 0) ||
                      (rule.may_be_shared && is_shared);
  if (!is_own) {
    return is(OwnState::wrong_owner,
              "it belongs to user " + std::to_string(status.owner) + "; as that user or root: " +
                  shell_text(std::array<std::string, 3>{"chown", std::to_string(user), file.path}));
  }
  if ((*status.mode & rule.forbidden) != 0) {
    return is(OwnState::wrong_permissions, mend_text(file.path, rule.forbidden));
  }
  return file;
}

OwnFile judged_unfinished(OwnKind kind, std::string path, std::int64_t bytes,
                          std::int64_t changed_at_ns, std::int64_t now_unix_ns) {
  const bool is_old = now_unix_ns - changed_at_ns > kLeftOverAfterNs;
  return {kind, std::move(path), bytes, is_old ? OwnState::left_over : OwnState::in_use,
          is_old ? "hocket prune" : "unfinished; left over once it is a day old"};
}

}  // namespace hocket
