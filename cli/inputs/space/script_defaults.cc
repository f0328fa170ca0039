#include "cli/inputs/space/script_defaults.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "tuner/trial/process.h"

namespace hocket {
namespace {

constexpr std::int64_t kTimeLimitNs = 5'000'000'000;

/// Prints {"--option": "default", …}. Numbers may be products and sums of literals, as sizes are;
/// powers are left out, because a small one can take forever. A whole real is printed without its
/// fraction, for parameters that are integers.
constexpr const char* kReadDefaults = R"py(
import ast, json, sys

def number(node):
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = number(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        left, right = number(node.left), number(node.right)
        if isinstance(node.op, ast.Mult): return left * right
        if isinstance(node.op, ast.Add): return left + right
        if isinstance(node.op, ast.Sub): return left - right
        if isinstance(node.op, ast.Div): return left / right
        if isinstance(node.op, ast.LShift) and 0 <= right < 64: return left << right
    if isinstance(node, ast.Constant) and type(node.value) in (int, float): return node.value
    raise ValueError

def text(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str): return node.value
    value = number(node)
    if isinstance(value, float) and value == int(value): value = int(value)
    return repr(value)

def called(node):
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""

with open(sys.argv[1], "rb") as file: source = file.read(4 << 20)
calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
changed, changes_any = set(), False
for call in calls:
    if called(call) != "set_defaults": continue
    changed.update(keyword.arg for keyword in call.keywords if keyword.arg)
    changes_any = changes_any or any(not keyword.arg for keyword in call.keywords)
defaults = {}
for option in sys.argv[2:]:
    found = []
    for call in calls:
        if called(call) != "add_argument": continue
        words = [arg.value for arg in call.args if isinstance(arg, ast.Constant)]
        flags = [word for word in words if isinstance(word, str)]
        if option not in flags: continue
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        long = [flag for flag in flags if flag.startswith("--")] or flags
        name = long[0].lstrip("-").replace("-", "_")
        if "dest" in keywords: name = getattr(keywords["dest"], "value", None)
        found.append((name, keywords.get("default")))
    if len(found) != 1 or changes_any: continue
    name, default = found[0]
    if name is None or name in changed or default is None: continue
    try: defaults[option] = text(default)
    except Exception: pass
print(json.dumps(defaults))
)py";

/// Returns the name in an argument that is "{NAME}" and nothing else; empty for any other.
std::string_view placeholder_in(std::string_view text) {
  if (text.size() < 3 || !text.starts_with('{') || !text.ends_with('}')) return {};
  const auto name = text.substr(1, text.size() - 2);
  return name.find_first_of("{}") == std::string_view::npos ? name : std::string_view();
}

bool is_option(std::string_view text) {
  return text.size() >= 2 && text.starts_with('-') && text.find_first_of("{}= ") == text.npos;
}

std::string base_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace

std::map<std::string, std::string> placed_options(const std::vector<std::string>& command) {
  std::map<std::string, std::string> options;
  std::set<std::string> ambiguous;
  const auto place = [&](std::string_view name, std::string_view option) {
    if (name.empty() || !is_option(option)) return;
    if (!options.emplace(name, option).second) ambiguous.emplace(name);
  };
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string_view word = command[i];
    if (i > 0) place(placeholder_in(word), command[i - 1]);
    if (const auto equals = word.find('='); equals != word.npos)
      place(placeholder_in(word.substr(equals + 1)), word.substr(0, equals));
  }
  for (const auto& name : ambiguous) options.erase(name);
  return options;
}

std::optional<PythonScript> python_script(const std::vector<std::string>& command) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    std::error_code ignored;
    const bool is_script =
        command[i].ends_with(".py") && std::filesystem::is_regular_file(command[i], ignored);
    if (!is_script) continue;
    // Options such as -u may stand between the interpreter and the script.
    std::size_t before = i;
    while (before > 0 && command[before - 1].starts_with('-')) --before;
    const bool is_python = before > 0 && base_name(command[before - 1]).starts_with("python");
    return PythonScript{is_python ? command[before - 1] : "python3", command[i]};
  }
  return std::nullopt;
}

std::map<std::string, std::string> argparse_defaults(const PythonScript& script,
                                                     const std::vector<std::string>& options,
                                                     const Clock& clock) {
  ProcessOptions process;
  process.argv = {script.interpreter, "-I", "-S", "-c", kReadDefaults, script.path};
  process.argv.insert(process.argv.end(), options.begin(), options.end());
  process.time_limit_ns = kTimeLimitNs;
  const auto result = run_process(process, clock, {});
  if (!result || !result->succeeded()) return {};
  std::map<std::string, std::string> defaults;
  const auto document = nlohmann::json::parse(result->stdout_text, nullptr, false);
  if (!document.is_object()) return {};
  for (const auto& [option, value] : document.items()) {
    if (value.is_string()) defaults[option] = value.get<std::string>();
  }
  return defaults;
}

}  // namespace hocket
