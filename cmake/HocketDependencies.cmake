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
# Headers alone: the store opens libpq when it needs it.
find_path(HOCKET_LIBPQ_INCLUDE_DIR libpq-fe.h PATH_SUFFIXES postgresql REQUIRED)
find_package(LibArchive 3.6 REQUIRED)
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
find_package(yaml-cpp 0.7 REQUIRED)
find_package(spdlog REQUIRED)
pkg_check_modules(systemd REQUIRED libsystemd)  # the header; the library is opened at run time
# Its CMake package asks for what only its own server and client need.
pkg_check_modules(prometheus REQUIRED IMPORTED_TARGET prometheus-cpp-core)
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
endif()
if(HOCKET_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
