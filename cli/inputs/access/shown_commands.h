#pragma once

// Commands in messages, with the options that make them work as they are printed. Thread-safe.

#include <string>

namespace CLI {
class App;
}

namespace hocket {

/// Returns " --store STORE", quoted for a shell and without a password; "" if `option` is empty.
std::string store_argument(const std::string& option);

/// Returns an argument as it may be shown: that of a connection to a server without its password.
std::string shown_argument(const std::string& argument);

/// Returns " --daemon ADDRESS", quoted for a shell; "" if `address` is empty.
std::string daemon_argument(const std::string& address);

/// Returns `message` in which every command between backticks, such as `hocket studies`, has the
/// --store and --daemon that the verb which was parsed by `program` was given, where the verb in
/// the message takes them and does not have them yet. Otherwise it would look elsewhere.
std::string with_given_place(const std::string& message, const CLI::App& program);

}  // namespace hocket
