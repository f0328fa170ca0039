# Everything that hocket takes from outside, each as an imported target. scripts/setup installs it.

find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(tl-expected REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(SQLite3 REQUIRED)
if(NOT TARGET SQLite3::SQLite3)  # the name since CMake 4.3
  add_library(SQLite3::SQLite3 ALIAS SQLite::SQLite3)
endif()
find_package(Protobuf 3.21 REQUIRED)
# By Boost's own package: CMake 3.30 and newer have no module for it.
find_package(Boost 1.74 REQUIRED CONFIG)
find_package(Gloo REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
# Debian has two CMake packages of this name, and which one is found depends on CMake's version.
pkg_check_modules(nlopt REQUIRED IMPORTED_TARGET nlopt)
pkg_check_modules(re2 REQUIRED IMPORTED_TARGET re2)
# Its -pthread changes predefined macros, so precompiled headers could not be used.
set_target_properties(PkgConfig::re2 PROPERTIES INTERFACE_COMPILE_OPTIONS "")
pkg_check_modules(openblas REQUIRED IMPORTED_TARGET openblas)
find_package(OpenSSL 3.0 REQUIRED)
find_package(spdlog REQUIRED)
pkg_check_modules(systemd REQUIRED IMPORTED_TARGET libsystemd)
# Its CMake package asks for what only its own server and client need.
pkg_check_modules(prometheus REQUIRED IMPORTED_TARGET prometheus-cpp-core)
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
endif()
if(HOCKET_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()

if(HOCKET_CUDA STREQUAL "OFF")
  message(STATUS "CUDA: off (HOCKET_CUDA=OFF)")
else()
  find_package(CUDAToolkit QUIET)
  if(CUDAToolkit_FOUND)
    message(STATUS "CUDA: toolkit ${CUDAToolkit_VERSION} found in ${CUDAToolkit_BIN_DIR}")
    # Kernels are built as released: sanitizers know nothing of them, and nvcc wants GCC. They set
    # HOCKET_KERNELS.
    if(CUDAToolkit_NVCC_EXECUTABLE AND NOT HOCKET_FUZZ AND NOT HOCKET_SANITIZE)
      set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE} CACHE FILEPATH "nvcc")
      # The H200's own code, and what the driver compiles for others from the A100 on.
      set(CMAKE_CUDA_ARCHITECTURES 90-real 80-virtual CACHE STRING "CUDA architectures")
      set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)  # the one that the rest of hocket uses
      if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CUDA_HOST_COMPILER)
        set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
      endif()
      enable_language(CUDA)
      if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # as in CMake 3.25
        set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      endif()
      set(CMAKE_CUDA_STANDARD 20)
      set(CMAKE_CUDA_STANDARD_REQUIRED ON)
      set(HOCKET_KERNELS ON)
    else()
      message(STATUS "CUDA: no kernels are built (no nvcc, or a build with sanitizers)")
    endif()
    find_library(NCCL_LIBRARY nccl HINTS ${CUDAToolkit_LIBRARY_DIR})
    find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
    if(NCCL_LIBRARY AND NCCL_INCLUDE_DIR)
      add_library(NCCL::nccl UNKNOWN IMPORTED)
      set_target_properties(NCCL::nccl PROPERTIES IMPORTED_LOCATION ${NCCL_LIBRARY}
                            INTERFACE_INCLUDE_DIRECTORIES ${NCCL_INCLUDE_DIR})
    elseif(HOCKET_CUDA STREQUAL "ON")
      message(FATAL_ERROR "HOCKET_CUDA=ON, but NCCL was not found. Install it, or name it with "
                          "-DNCCL_LIBRARY=FILE -DNCCL_INCLUDE_DIR=DIR.")
    else()
      message(STATUS "CUDA: no NCCL found; several ranks cannot train on devices "
                     "(HOCKET_CUDA=AUTO)")
    endif()

    # Optional even with HOCKET_CUDA=ON: attention is then computed without it.
    find_library(CUDNN_LIBRARY cudnn HINTS ${CUDAToolkit_LIBRARY_DIR})
    find_path(CUDNN_INCLUDE_DIR cudnn_graph.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
    if(CUDNN_LIBRARY AND CUDNN_INCLUDE_DIR)
      file(STRINGS ${CUDNN_INCLUDE_DIR}/cudnn_version.h CUDNN_VERSION_LINES
           REGEX "define CUDNN_(MAJOR|MINOR) ")
      string(REGEX REPLACE "[^0-9]+([0-9]+)[^0-9]+([0-9]+).*" "\\1.\\2" CUDNN_VERSION
             "${CUDNN_VERSION_LINES}")
    endif()
    if(CUDNN_VERSION VERSION_GREATER_EQUAL 9.16)
      message(STATUS "CUDA: cuDNN ${CUDNN_VERSION} found")
      add_library(CUDNN::cudnn UNKNOWN IMPORTED)
      set_target_properties(CUDNN::cudnn PROPERTIES IMPORTED_LOCATION ${CUDNN_LIBRARY}
                            INTERFACE_INCLUDE_DIRECTORIES ${CUDNN_INCLUDE_DIR})
    else()
      message(STATUS "CUDA: no cuDNN 9.16 or newer found; attention is not one kernel. Name it "
                     "with -DCUDNN_LIBRARY=FILE -DCUDNN_INCLUDE_DIR=DIR.")
    endif()
  elseif(HOCKET_CUDA STREQUAL "ON")
    message(FATAL_ERROR "HOCKET_CUDA=ON, but no CUDA toolkit was found. Install one, name it with "
                        "-DCUDAToolkit_ROOT=DIR, or configure with -DHOCKET_CUDA=OFF.")
  else()
    message(STATUS "CUDA: no toolkit found; the CUDA parts are not built (HOCKET_CUDA=AUTO)")
  endif()
endif()
