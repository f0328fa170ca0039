# Options of every target: language, warnings, sanitizers, output folders.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

option(HOCKET_BENCHMARKS "Build the programs in benchmarks/" OFF)
option(HOCKET_TEST_CASES "Make each case of a unit test a test of CTest, a process of its own" ON)
option(HOCKET_WARNINGS_ARE_ERRORS "End the build at a warning; other compilers have others" ON)
option(HOCKET_BUILD_FOLDERS "Let programs look in folders of their build; OFF: for other machines"
       ON)
set(HOCKET_SANITIZE "" CACHE STRING "Value for -fsanitize=, empty for none")
option(HOCKET_FUZZ "Build the fuzz targets in tests/fuzz/ in place of the tests; needs clang" OFF)
set(HOCKET_CUDA "AUTO" CACHE STRING
    "CUDA parts: ON (required), OFF, or AUTO (if the toolkit is found)")
set_property(CACHE HOCKET_CUDA PROPERTY STRINGS AUTO ON OFF)
set(HOCKET_NVIDIA_PYTHON "${PROJECT_SOURCE_DIR}/build/nvidia" CACHE PATH
    "Python environment with NVIDIA's packages; scripts/setup makes it")
set(HOCKET_TORCH_PYTHON "${PROJECT_SOURCE_DIR}/build/torch" CACHE PATH
    "Python environment with PyTorch, for tests; `scripts/setup torch` makes it")
set(HOCKET_FRAMEWORKS_PYTHON "${PROJECT_SOURCE_DIR}/build/frameworks" CACHE PATH
    "Python environment with frameworks, for tests; `scripts/setup frameworks` makes it")
set(HOCKET_PAGE_PYTHON "${PROJECT_SOURCE_DIR}/build/page" CACHE PATH
    "Python environment with Playwright, for tests; `scripts/setup page` makes it")

# Equal sources then give equal programs wherever they are built: messages name sources without the
# folder in which they lie.
if(NOT HOCKET_BUILD_FOLDERS)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>)
endif()

find_program(HOCKET_CCACHE ccache)
if(HOCKET_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Lets ccache use precompiled headers; ours depend on no time macros and no extra definitions.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros ${HOCKET_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${HOCKET_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${HOCKET_CCACHE})
endif()

# The default linker takes as long for some programs as their compilation does.
find_program(HOCKET_MOLD mold)
if(HOCKET_MOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_link_options(
    "$<$<AND:$<LINK_LANGUAGE:CXX>,$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>>:-fuse-ld=mold>")
endif()

add_library(hocket_options INTERFACE)
target_include_directories(hocket_options INTERFACE ${PROJECT_SOURCE_DIR})
set(as_errors)
if(HOCKET_WARNINGS_ARE_ERRORS)
  set(as_errors -Werror)
endif()
# GCC 12 reports -Wrestrict falsely for std::string (GCC bug 105651).
# Not for nvcc, which knows other options, and whose generated code is not ours.
target_compile_options(hocket_options INTERFACE
                       $<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wpedantic>
                       $<$<COMPILE_LANGUAGE:C,CXX>:${as_errors}>
                       $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>
                       $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-unknown-warning-option>)
# To GCC a source within another one is a header, where types of its own would be a mistake.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(hocket_options INTERFACE
                         $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()
if(HOCKET_SANITIZE)
  target_compile_options(hocket_options INTERFACE
    -fsanitize=${HOCKET_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  # These two checks take long to compile. The address sanitizer sees null references that are used,
  # and x86 allows unaligned ones.
  if(HOCKET_SANITIZE MATCHES undefined)
    # Nor are tests checked for undefined behaviour: it is looked for in what they call.
    target_compile_options(hocket_options INTERFACE
      -fno-sanitize=null,alignment
      $<$<BOOL:$<TARGET_PROPERTY:HOCKET_IS_TEST>>:-fno-sanitize=undefined>)
  endif()
  # GCC warns that the thread sanitizer does not see fences, of which Boost.Asio has some.
  if(HOCKET_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(hocket_options INTERFACE -Wno-tsan)
  endif()
  target_link_options(hocket_options INTERFACE -fsanitize=${HOCKET_SANITIZE})
  target_compile_definitions(hocket_options INTERFACE HOCKET_SANITIZED)
endif()

# A build with sanitizers is for its tests: what they do not need is not built.
function(hocket_needed_only name)
  if(HOCKET_SANITIZE)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# Headers that nearly every source of a library includes, compiled once for all of them.
function(hocket_library_header)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/hocket_library_header.cc
       CONTENT "// Only its header is used.\n")
  add_library(hocket_library_header STATIC EXCLUDE_FROM_ALL
              ${PROJECT_BINARY_DIR}/hocket_library_header.cc)
  target_link_libraries(hocket_library_header PRIVATE hocket_options nlohmann_json::nlohmann_json
                        tl::expected)
  target_precompile_headers(hocket_library_header PRIVATE
                            ${PROJECT_SOURCE_DIR}/core/base/precompiled.h)
  hocket_cacheable_header(hocket_library_header)
endfunction()

# Lets ccache store a precompiled header and the sources that use it.
function(hocket_cacheable_header name)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${name} PRIVATE
                           "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endfunction()

# Full optimisation of what is the tests' own would double the time of its build.
function(hocket_little_optimized_in_tests name)
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/tests/")
    target_compile_options(${name} PRIVATE
                           $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
  endif()
endfunction()

# hocket_library(NAME SOURCES … LINK …): a static library with the project's options. Here and
# below LINK takes rooms ("core/plan") and other libraries.
function(hocket_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  hocket_link(${name} PUBLIC hocket_options ${ARG_LINK})
  target_precompile_headers(${name} REUSE_FROM hocket_library_header)
  hocket_cacheable_header(${name})
  # False warnings of the same GCC bug, which appear because GCC does not treat a precompiled
  # header as a system header.
  target_compile_options(${name} PRIVATE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-stringop-overflow;-Wno-array-bounds>)
  hocket_little_optimized_in_tests(${name})
  hocket_needed_only(${name})
endfunction()

# All programs, and the tests that start them.
add_custom_target(hocket_jobs)

# hocket_program(NAME SOURCES … LINK …): an executable in bin/.
function(hocket_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  hocket_link(${name} PRIVATE hocket_options ${ARG_LINK})
  hocket_little_optimized_in_tests(${name})
  hocket_needed_only(${name})
  add_dependencies(hocket_jobs ${name})
endfunction()

# Precompiled header of the tests, in one version for each optimisation level.
function(hocket_test_header name)
  # A program like the tests, because libraries are compiled as another kind of
  # position-independent code.
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${name}.cc CONTENT "int main() {}\n")
  add_executable(${name} EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE hocket_options GTest::gtest GTest::gmock
                        nlohmann_json::nlohmann_json)
  target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/precompiled.h)
  hocket_test_options(${name} ${ARGN})
endfunction()

# Compiler options of the tests' own code.
function(hocket_test_options name)
  target_compile_options(${name} PRIVATE ${ARGN})
  set_target_properties(${name} PROPERTIES HOCKET_IS_TEST ON)
  hocket_cacheable_header(${name})
endfunction()

# The tests of the preset `threads`.
add_custom_target(hocket_threads)

# hocket_test(NAME SOURCES … LINK … [SINGLE_THREADED] [SHARES_DATA] [OPTIMIZED] [WHOLE] [SHARDS n]
#             [LABEL unit|job|gpu]):
# adds a GoogleTest program. Tests of label "unit" run under the sanitizers too, under that of
# threads unless what they test is SINGLE_THREADED; of those, SHARES_DATA marks the ones of rooms
# whose own code lets threads share data. "job" tests run as released alone: those that start whole
# programs, and those in which a sanitizer would find nothing more. "gpu" tests are built with them,
# and skip where there is no device. OPTIMIZED is for tests that compute much themselves.
# WHOLE programs are one test of CTest, for those whose cases share what takes long to start.
# Without HOCKET_TEST_CASES a program of unit tests is one test, too, or SHARDS of them that run
# beside each other: starting a process for each case takes longer than most cases do.
function(hocket_test name)
  cmake_parse_arguments(ARG "SINGLE_THREADED;SHARES_DATA;OPTIMIZED;WHOLE" "LABEL;SHARDS"
                        "SOURCES;LINK" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(HOCKET_SANITIZE AND NOT ARG_LABEL STREQUAL unit)
    return()
  endif()
  if(HOCKET_SANITIZE MATCHES thread AND ARG_SINGLE_THREADED)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  hocket_link(${name} PRIVATE hocket_options ${ARG_LINK}
              GTest::gtest GTest::gmock GTest::gtest_main)
  if(ARG_LABEL MATCHES "job|gpu")
    add_dependencies(hocket_jobs ${name})
  endif()
  set(labels ${ARG_LABEL})
  if(ARG_SHARES_DATA)
    add_dependencies(hocket_threads ${name})
    list(APPEND labels threads)
  endif()
  if(ARG_OPTIMIZED)
    set(header hocket_test_header_optimized)
    hocket_test_options(${name} -O1)
  else()
    set(header hocket_test_header)
    hocket_test_options(${name} -O0)
  endif()
  target_precompile_headers(${name} REUSE_FROM ${header})
  if(ARG_WHOLE)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 300
                         SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
    return()
  endif()
  if(ARG_LABEL STREQUAL unit AND NOT HOCKET_TEST_CASES)
    if(NOT ARG_SHARDS)
      set(ARG_SHARDS 1)
    endif()
    foreach(shard RANGE 1 ${ARG_SHARDS})
      math(EXPR index "${shard} - 1")
      add_test(NAME ${name}.${shard} COMMAND ${name})
      set_tests_properties(${name}.${shard} PROPERTIES LABELS "${labels}" TIMEOUT 900 ENVIRONMENT
                           "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${index}")
    endforeach()
    return()
  endif()
  set(prefix "")
  if(ARG_LABEL STREQUAL gpu)
    set(prefix gpu.)  # the same test may run without a device too
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${prefix}"
                       PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 300)
endfunction()
