# The CUDA toolkit, and the headers of the libraries that programs look for when they run
# (core/cuda/libraries/library_search.h): cuBLASLt, NCCL and cuDNN, from the toolkit or from the
# Python packages that scripts/setup installs. Sets HOCKET_KERNELS where kernels are compiled, and
# HOCKET_NVIDIA_LIBRARY_FOLDERS.

# Makes `target` from `header`, if it is found: hocket_header_target(NCCL::headers nccl.h)
function(hocket_header_target target header)
  string(MAKE_C_IDENTIFIER HOCKET_${header}_DIR folder)  # a variable of the cache
  find_path(${folder} ${header} HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${HOCKET_NVIDIA_INCLUDES})
  if(NOT ${folder})
    return()
  endif()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${${folder}} ${CUDAToolkit_INCLUDE_DIRS})
endfunction()

if(HOCKET_CUDA STREQUAL "OFF")
  message(STATUS "CUDA: off (HOCKET_CUDA=OFF)")
  return()
endif()
find_package(CUDAToolkit QUIET)
if(NOT CUDAToolkit_FOUND)
  if(HOCKET_CUDA STREQUAL "ON")
    message(FATAL_ERROR "HOCKET_CUDA=ON, but no CUDA toolkit was found. Install one, name it with "
                        "-DCUDAToolkit_ROOT=DIR, or configure with -DHOCKET_CUDA=OFF.")
  endif()
  message(STATUS "CUDA: no toolkit found; the CUDA parts are not built (HOCKET_CUDA=AUTO)")
  return()
endif()
message(STATUS "CUDA: toolkit ${CUDAToolkit_VERSION} found in ${CUDAToolkit_BIN_DIR}")

# In the program itself, so that it starts on a machine without the toolkit. Streams and events are
# the driver's, the same for the libraries' own copies of the runtime.
if(TARGET CUDA::cudart_static)
  set(HOCKET_CUDART CUDA::cudart_static)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
else()
  set(HOCKET_CUDART CUDA::cudart)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
endif()

# Kernels are built as released: sanitizers know nothing of them, and nvcc wants GCC.
if(CUDAToolkit_NVCC_EXECUTABLE AND NOT HOCKET_FUZZ AND NOT HOCKET_SANITIZE)
  set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE} CACHE FILEPATH "nvcc")
  # The H200's own code, and what the driver compiles for others from the A100 on.
  set(CMAKE_CUDA_ARCHITECTURES 90-real 80-virtual CACHE STRING "CUDA architectures")
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

set(HOCKET_NVIDIA_LIBRARY_FOLDERS ${CUDAToolkit_LIBRARY_DIR}
    ${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/lib64)
if(CUDAToolkit_VERSION_MAJOR EQUAL 13)  # the packages are CUDA 13's
  file(GLOB packages ${HOCKET_NVIDIA_PYTHON}/lib/python3*/site-packages/nvidia/*)
  foreach(package IN LISTS packages)
    list(APPEND HOCKET_NVIDIA_INCLUDES ${package}/include)
    list(APPEND HOCKET_NVIDIA_LIBRARY_FOLDERS ${package}/lib)
  endforeach()
endif()

hocket_header_target(CUBLAS::headers cublasLt.h)
hocket_header_target(NCCL::headers nccl.h)
hocket_header_target(CUPTI::headers cupti.h)
find_path(HOCKET_cudnn_graph_h_DIR cudnn_graph.h HINTS ${CUDAToolkit_INCLUDE_DIRS}
          PATHS ${HOCKET_NVIDIA_INCLUDES})
foreach(library CUBLAS NCCL CUPTI)
  if(TARGET ${library}::headers)
    continue()
  endif()
  set(message "the headers of ${library} were not found; run scripts/setup, or install them")
  if(HOCKET_CUDA STREQUAL "ON")
    message(FATAL_ERROR "HOCKET_CUDA=ON, but ${message}.")
  endif()
  message(STATUS "CUDA: ${message}. What needs them is not built (HOCKET_CUDA=AUTO)")
endforeach()
# Optional even with HOCKET_CUDA=ON: attention is then computed without it.
if(HOCKET_cudnn_graph_h_DIR)
  file(STRINGS ${HOCKET_cudnn_graph_h_DIR}/cudnn_version.h lines
       REGEX "define CUDNN_(MAJOR|MINOR) ")
  string(REGEX REPLACE "[^0-9]+([0-9]+)[^0-9]+([0-9]+).*" "\\1.\\2" cudnn_version "${lines}")
endif()
if(cudnn_version VERSION_GREATER_EQUAL 9.16)
  hocket_header_target(CUDNN::headers cudnn_graph.h)
else()
  message(STATUS "CUDA: no headers of cuDNN 9.16 or newer; attention is not one kernel")
endif()
