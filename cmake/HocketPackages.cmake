# The Debian packages, made of the components of an installation:
#
#   cpack -G DEB --config build/release/CPackConfig.cmake -B FOLDER
#
# packaging/debian/finish.cmake adds what only a package has, and ldconfig.cmake says when the cache
# of the loader is renewed.

# Debian sorts 1.0~dev5 before 1.0, as Python sorts 1.0.dev5.
string(REPLACE ".dev" "~dev" HOCKET_DEBIAN_VERSION ${HOCKET_VERSION})
set(CPACK_VERBATIM_VARIABLES ON)  # texts keep their quotes
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VERSION ${HOCKET_DEBIAN_VERSION})
set(CPACK_PACKAGE_NAME hocket)
set(CPACK_PACKAGE_CONTACT "The hocket maintainers <maintainers@hocket.dev>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL program demo client nccl development python systemd)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian/finish.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian/ldconfig.cmake)
# Each package has a description of its own, and nothing in front of it.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_NAME} built using CMake")
set(same "(= ${HOCKET_DEBIAN_VERSION})")
# The packages that the installed headers and static libraries need.
set(headers nlohmann-json3-dev libexpected-dev libboost-dev libgloo-dev libhwloc-dev libssl-dev)
list(JOIN headers ", " headers)

# hocket_package(COMPONENT NAME SECTION DESCRIPTION [DEPENDS …] [RECOMMENDS …] [SUGGESTS …]
#                [ARCHITECTURE all] [SCRIPTS …])
# DESCRIPTION: the synopsis on a line of its own, and the text.
macro(hocket_package component name section description)
  cmake_parse_arguments(ARG "" "DEPENDS;RECOMMENDS;SUGGESTS;ARCHITECTURE" "SCRIPTS" ${ARGN})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION ${description})
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS ${ARG_DEPENDS})
  set(CPACK_DEBIAN_${upper}_PACKAGE_RECOMMENDS ${ARG_RECOMMENDS})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SUGGESTS ${ARG_SUGGESTS})
  if(ARG_ARCHITECTURE)
    set(CPACK_DEBIAN_${upper}_PACKAGE_ARCHITECTURE ${ARG_ARCHITECTURE})
    set(CPACK_DEBIAN_${upper}_PACKAGE_SHLIBDEPS OFF)
  endif()
  set(scripts ${ARG_SCRIPTS})
  list(TRANSFORM scripts PREPEND ${PROJECT_SOURCE_DIR}/packaging/debian/${name}/)
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${scripts})
endmacro()

hocket_package(program hocket utils
"profiling-guided tuner of distributed training
hocket schedules the steps of data-parallel training so that communication
overlaps with computation, measures the gain, searches for the configuration
with the largest gain, and stores it.

This package has the program, its manual pages and its completion in shells."
  RECOMMENDS "python3-hocket ${same}" SUGGESTS "hocket-daemon ${same}, hocket-demo ${same}")
hocket_package(demo hocket-demo utils
"training job for the demonstration of hocket
A GPT-2-style model, trained by two processes over an emulated link, which the
command \"hocket demo\" tunes."
  DEPENDS "hocket ${same}")
hocket_package(client libhocket-client1 libs
"client library of the tuner hocket
Training jobs fetch their configuration with this library, report their
iterations, and have their communication scheduled.")
hocket_package(nccl libnccl-plugin-hocket libs
"plugin by which hocket tunes NCCL
NCCL loads this plugin into any program where the variables NCCL_TUNER_PLUGIN
and NCCL_PROFILER_PLUGIN name it. The plugin measures the program's collectives
and tunes their algorithm, their protocol and their number of channels."
  DEPENDS "libhocket-client1 (>= ${HOCKET_DEBIAN_VERSION})")
hocket_package(development libhocket-dev libdevel
"headers and libraries to build jobs with hocket
The C interface of the client library; the scheduler and the client for C++20
as static libraries; and what CMake and pkg-config need to find them."
  DEPENDS "libhocket-client1 ${same}, ${headers}")
hocket_package(python python3-hocket python
"tunes PyTorch jobs while they train
The package hocket for Python 3, which uses the client library, and
hocket.torch, which tunes and schedules the communication of PyTorch jobs."
  DEPENDS "python3 (>= 3.10), libhocket-client1 (>= ${HOCKET_DEBIAN_VERSION})"
  ARCHITECTURE all SCRIPTS postinst prerm)
hocket_package(systemd hocket-daemon net
"daemon that serves configurations to training jobs
The units by which systemd runs hocket's daemon, with a user of its own. Jobs
ask it for their configuration, and it tunes them while they train."
  DEPENDS "hocket (>= ${HOCKET_DEBIAN_VERSION}), libsystemd0, adduser,\
 init-system-helpers (>= 1.52)"
  ARCHITECTURE all SCRIPTS postinst prerm postrm)

# The day at noon, so that equal sources make equal packages.
execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C
                        date --utc --rfc-email --date "${HOCKET_VERSION_DATE} 12:00"
                OUTPUT_VARIABLE HOCKET_CHANGELOG_DATE OUTPUT_STRIP_TRAILING_WHITESPACE)
configure_file(packaging/debian/changelog.in ${PROJECT_BINARY_DIR}/package/changelog @ONLY)
set(CPACK_HOCKET_SOURCE_DIR ${PROJECT_SOURCE_DIR})
set(CPACK_HOCKET_CHANGELOG ${PROJECT_BINARY_DIR}/package/changelog)
include(CPack)
