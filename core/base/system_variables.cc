#include "core/base/system_variables.h"

#include <array>

namespace hocket {
namespace {

struct VariableUse {
  std::string_view names;  ///< separated by blanks; one that ends with "*" begins names
  std::string_view use;
};

constexpr std::array kVariableUses = {
    VariableUse{"PATH", "says where programs are"},
    VariableUse{"LD_* DYLD_* GCONV_PATH", "says which libraries are loaded"},
    VariableUse{"PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONUSERBASE PYTHONEXECUTABLE VIRTUAL_ENV "
                "CONDA_PREFIX PERL5LIB PERL5OPT RUBYLIB RUBYOPT NODE_PATH NODE_OPTIONS CLASSPATH "
                "JAVA_TOOL_OPTIONS JULIA_LOAD_PATH LUA_PATH",
                "says which modules a program loads"},
    VariableUse{"SHELL IFS ENV BASH_ENV BASH_FUNC_* BASHOPTS SHELLOPTS PROMPT_COMMAND PS4 CDPATH",
                "changes how a shell reads commands"},
    VariableUse{"HOME PWD OLDPWD TMPDIR USER LOGNAME UID EUID PPID XDG_*",
                "says who runs a program and where its files are"},
    VariableUse{"CUDA_VISIBLE_DEVICES NVIDIA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES "
                "ROCR_VISIBLE_DEVICES GPU_DEVICE_ORDINAL ASCEND_RT_VISIBLE_DEVICES "
                "ZE_AFFINITY_MASK CUDA_DEVICE_ORDER",
                "says which devices a program uses"},
    VariableUse{"RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE NODE_RANK GROUP_RANK MASTER_ADDR "
                "MASTER_PORT SLURM_* OMPI_* PMI_* PMIX_*",
                "is a launcher's, which numbers processes by it"},
    VariableUse{"SSH_AUTH_SOCK GIT_SSH GIT_SSH_COMMAND KUBECONFIG DOCKER_HOST",
                "says which hosts a program reaches, and as whom"},
};

}  // namespace

std::string_view system_variable_use(std::string_view name) {
  for (const VariableUse& each : kVariableUses) {
    std::string_view rest = each.names;
    while (!rest.empty()) {
      const auto length = rest.find(' ');
      std::string_view known = rest.substr(0, length);
      rest.remove_prefix(length == std::string_view::npos ? rest.size() : length + 1);
      const bool is_begin = known.ends_with('*');
      if (is_begin) known.remove_suffix(1);
      if (is_begin ? name.starts_with(known) : name == known) return each.use;
    }
  }
  return {};
}

}  // namespace hocket
