#include "core/base/system_variables.h"

#include <array>

namespace hocket {
namespace {

struct VariableUse {
  std::string_view names;  ///< separated by blanks; one that ends with "*" begins names
  std::string_view use;
};

// The variables of a family such as NCCL's are here only if they name files, programs or libraries;
// numbers and switches are tuned, so they are left out.
constexpr std::array kVariableUses = {
    VariableUse{"PATH", "says where programs are"},
    VariableUse{"LD_* DYLD_* LIBPATH SHLIB_PATH GLIBC_TUNABLES GCONV_PATH LOCPATH NLSPATH "
                "GETCONF_DIR TZDIR MALLOC_TRACE",
                "says which libraries and system files are loaded"},
    VariableUse{"PYTHON* VIRTUAL_ENV CONDA_* PIP_* UV_* PERL5* PERLLIB PERL_* PERLIO_DEBUG RUBY* "
                "GEM_* BUNDLE_* NODE_* npm_* NPM_* CLASSPATH JAVA_* _JAVA_OPTIONS JDK_* JRE_HOME "
                "MAVEN_* GRADLE_* JULIA_LOAD_PATH JULIA_DEPOT_PATH JULIA_PROJECT JULIA_BINDIR "
                "LUA_* R_HOME R_PROFILE* R_ENVIRON* R_LIBS* PHPRC PHP_INI_SCAN_DIR DOTNET_* "
                "CORECLR_* COR_* ERL_* GUILE_LOAD_PATH GUILE_LOAD_COMPILED_PATH TCLLIBPATH "
                "CAML_LD_LIBRARY_PATH OCAMLRUNPARAM GOFLAGS GOENV GOPATH GOROOT",
                "says which code an interpreter loads"},
    VariableUse{"SHELL IFS ENV BASH BASH_* BASHOPTS SHELLOPTS PROMPT_COMMAND PS0 PS1 PS2 PS3 PS4 "
                "CDPATH FPATH ZDOTDIR GLOBIGNORE EXECIGNORE HISTFILE INPUTRC POSIXLY_CORRECT",
                "changes how a shell reads commands"},
    VariableUse{"EDITOR VISUAL PAGER MANPAGER SYSTEMD_* LESS LESSOPEN LESSCLOSE LESSKEY* LESSEDIT "
                "BROWSER GIT_* SSH_* SUDO_* RSYNC_* CVS_RSH TAR_OPTIONS GREP_OPTIONS TERMINFO* "
                "TERMCAP TERMPATH MAKEFLAGS GNUMAKEFLAGS MAKEFILES",
                "says which programs another one runs"},
    VariableUse{"CC CXX CPP NVCC CUDAHOSTCXX CUDACXX HIPCXX NVCC_* CFLAGS CXXFLAGS "
                "CPPFLAGS LDFLAGS CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH LIBRARY_PATH "
                "COMPILER_PATH GCC_EXEC_PREFIX PKG_CONFIG* CMAKE_* CCACHE_* RUSTC* CARGO_* "
                "RUSTFLAGS CUDA_HOME CUDA_PATH CUDA_ROOT CUDA_CACHE_PATH ROCM_PATH ROCM_HOME "
                "HIP_PATH HIP_CLANG_PATH TRITON_CACHE_DIR "
                "TRITON_DUMP_DIR TRITON_OVERRIDE_DIR TRITON_HOME TRITON_PTXAS_PATH "
                "TRITON_LIBCUDA_PATH TRITON_LIBDEVICE_PATH TORCHINDUCTOR_CACHE_DIR "
                "TORCH_EXTENSIONS_DIR PYTORCH_KERNEL_CACHE_PATH "
                "JAX_COMPILATION_CACHE_DIR",
                "says what compiles code, or where compiled code is"},
    VariableUse{"NCCL_NET_PLUGIN NCCL_TUNER_PLUGIN NCCL_PROFILER_PLUGIN NCCL_ENV_PLUGIN "
                "NCCL_GIN_PLUGIN NCCL_RAS_PLUGIN NCCL_CONF_FILE NCCL_TUNER_CONFIG_FILE "
                "NCCL_TOPO_FILE NCCL_TOPO_DUMP_FILE NCCL_GRAPH_FILE NCCL_GRAPH_DUMP_FILE "
                "NCCL_DEBUG_FILE RCCL_TUNER_PLUGIN MSCCL_ALGO_DIR MSCCL_ALGO_FILE "
                "CUDA_INJECTION64_PATH CUDA_INJECTION32_PATH NVTX_INJECTION64_PATH "
                "NVTX_INJECTION32_PATH CUDA_MPS_* CUDA_COREDUMP_* CUDNN_LOGDEST_DBG "
                "CUBLAS_LOGDEST_DBG CUBLASLT_LOG_FILE NVSHMEM_BOOTSTRAP* "
                "HSA_TOOLS_LIB ROCP_TOOL_LIB ROCPROFILER_* OMP_TOOL OMP_TOOL_LIBRARIES "
                "UCX_MODULE_DIR UCX_MODULES UCX_LOG_FILE FI_PROVIDER_PATH RDMAV_DRIVERS "
                "IBV_DRIVERS INTEL_LIBITTNOTIFY64 INTEL_LIBITTNOTIFY32 INTEL_JIT_PROFILER64 "
                "I_MPI_ROOT I_MPI_PMI_LIBRARY I_MPI_HYDRA_* HYDRA_* MPICH_* MV2_* "
                "TPU_LIBRARY_PATH PTXLA_TPU_LIBRARY_PATH XPU_LIBRARY_PATH NEURON_LIBRARY_PATH "
                "PJRT_NAMES_AND_LIBRARY_PATHS OCL_ICD_* OPENCL_VENDOR_PATH VK_* "
                "__EGL_VENDOR_LIBRARY* LIBGL_DRIVERS_PATH HDF5_PLUGIN_PATH HDF5_PRELOAD_PLUG "
                "HDF5_VOL_CONNECTOR GTK_* QT_PLUGIN_PATH GIO_* KINETO_CONFIG HOROVOD_TIMELINE "
                "HEAPPROFILE CPUPROFILE LLVM_PROFILE_FILE GCOV_PREFIX ASAN_OPTIONS LSAN_OPTIONS "
                "MSAN_OPTIONS TSAN_OPTIONS UBSAN_OPTIONS",
                "says which libraries a program loads, or which files it writes"},
    VariableUse{"HOME PWD OLDPWD TMPDIR TMP TEMP TEMPDIR USER LOGNAME UID EUID PPID XDG_* "
                "TORCH_HOME HF_* TRANSFORMERS_CACHE KERAS_HOME",
                "says who runs a program and where its files are"},
    VariableUse{"CUDA_VISIBLE_DEVICES NVIDIA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES "
                "ROCR_VISIBLE_DEVICES GPU_DEVICE_ORDINAL ASCEND_RT_VISIBLE_DEVICES "
                "ZE_AFFINITY_MASK CUDA_DEVICE_ORDER",
                "says which devices a program uses"},
    VariableUse{"RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE NODE_RANK GROUP_RANK MASTER_ADDR "
                "MASTER_PORT TORCHELASTIC_* SLURM_* OMPI_* PMI_* PMIX_* PRTE_* NCCL_COMM_ID "
                "NCCL_HOSTID",
                "is a launcher's, which numbers processes by it"},
    VariableUse{"KUBECONFIG DOCKER_* DBUS_* DISPLAY XAUTHORITY http_proxy https_proxy ftp_proxy "
                "all_proxy no_proxy HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY "
                "SSL_CERT_FILE SSL_CERT_DIR SSLKEYLOGFILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE "
                "CURL_HOME WGETRC NETRC OPENSSL_CONF OPENSSL_MODULES OPENSSL_ENGINES "
                "HOSTALIASES LOCALDOMAIN RES_OPTIONS RESOLV_HOST_CONF KRB5* PGHOST PGSERVICE* "
                "PGPASSFILE PGSYSCONFDIR AWS_* AZURE_* GOOGLE_* WANDB_* MLFLOW_*",
                "says which hosts a program reaches and trusts, and as whom"},
};

/// Returns whether `name` is the pattern, of which a "*" at its end stands for anything.
bool matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return name == pattern;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

}  // namespace

std::string_view system_variable_use(std::string_view name) {
  for (const VariableUse& each : kVariableUses) {
    std::string_view rest = each.names;
    while (!rest.empty()) {
      const auto length = rest.find(' ');
      if (matches(rest.substr(0, length), name)) return each.use;
      rest.remove_prefix(length == std::string_view::npos ? rest.size() : length + 1);
    }
  }
  return {};
}

}  // namespace hocket
