# A library for each room of docs/ROOMS.md, which the style test reads, too: what a room may include
# is what its library links. The folders' CMakeLists.txt add what a room needs from outside.

# Rooms with rules of their own, in the CMakeLists.txt of their folders.
set(HOCKET_ROOMS_APART benchmarks capi cli examples tests web)

# Sources that are no part of their room's library, by the reason.
set(HOCKET_SOURCES_APART
    # need the CUDA toolkit (core/cuda/CMakeLists.txt)
    core/cuda/collectives/nccl_collective.cc core/cuda/collectives/nccl_functions.cc
    core/cuda/driver/capability_probe.cc core/cuda/driver/cuda_driver.cc
    core/cuda/products/blas_lt.cc core/cuda/products/blas_lt_functions.cc
    job/cuda/cuda_platform.cc
    kernels/cuda/cudnn/attention_graph.cc kernels/cuda/cudnn/cudnn_attention.cc
    kernels/cuda/cudnn/cudnn_descriptor.cc kernels/cuda/cudnn/cudnn_functions.cc
    kernels/cuda/cudnn/cudnn_graph.cc
    # is the plugin that NCCL loads (plugins/nccl/CMakeLists.txt)
    plugins/nccl/communicator/find_object.cc plugins/nccl/communicator/open_communicator.cc)
if(HOCKET_FUZZ)
  # Coroutines, which clang 14 cannot compile with this standard library, and what needs them; no
  # target needs hosts.
  list(APPEND HOCKET_ROOMS_APART core/host)
  list(APPEND HOCKET_SOURCES_APART core/greeting/server_side.cc
       core/servers/emulated_servers.cc core/servers/parameter_server.cc
       core/servers/server_connection.cc core/servers/tcp_servers.cc)
endif()
if(NOT TARGET CUPTI::headers)
  list(APPEND HOCKET_ROOMS_APART profiler/cupti)
endif()

# Rooms that are not compiled for speed: what they do is done once, or takes the time of files,
# sockets or people, and full optimisation would double the time of their builds.
string(CONCAT HOCKET_COLD_ROOMS
    "^(archive|capi|cli|daemon)|^client/(link|start)"
    "|^core/(files|graph$|greeting|hardware|layout|protocol|sharing)|^job/(network|run)"
    "|^models/signals|^tuner/(command|explain|slurm|study|table|trial)")

# Sets `out` to the library of a room: hocket_core_plan for core/plan.
function(hocket_library_of out room)
  string(REPLACE "/" "_" library "hocket_${room}")
  set(${out} ${library} PARENT_SCOPE)
endfunction()

# hocket_link(TARGET KIND NAME…): links rooms ("core/plan"), all rooms of a folder that is none
# itself ("tuner"; "core" is the ground), and other libraries.
function(hocket_link target kind)
  get_property(rooms GLOBAL PROPERTY HOCKET_ROOMS)
  foreach(name IN LISTS ARGN)
    if(name IN_LIST HOCKET_ROOMS_APART)
      continue()  # its own rules link it, if at all
    endif()
    set(below ${rooms})
    list(FILTER below INCLUDE REGEX "^${name}/")
    if(name IN_LIST rooms)
      set(below ${name})
    elseif(NOT below)
      target_link_libraries(${target} ${kind} ${name})
      continue()
    endif()
    foreach(room IN LISTS below)
      hocket_library_of(library ${room})
      target_link_libraries(${target} ${kind} ${library})
    endforeach()
  endforeach()
endfunction()

# hocket_room_links(ROOM NAME…): what a room needs beside the rooms that it may include.
function(hocket_room_links room)
  hocket_library_of(library ${room})
  if(NOT TARGET ${library})
    return()
  endif()
  get_target_property(type ${library} TYPE)
  set(kind PUBLIC)
  if(type STREQUAL INTERFACE_LIBRARY)
    set(kind INTERFACE)
  endif()
  hocket_link(${library} ${kind} ${ARGN})
endfunction()

# Sets `out` to the sources of the room: those in its folder and in folders below it that are no
# rooms themselves.
function(hocket_sources_of out room rooms)
  file(GLOB_RECURSE found RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
       ${PROJECT_SOURCE_DIR}/${room}/*.cc)
  foreach(other IN LISTS rooms)
    string(FIND ${other} ${room}/ at)
    if(at EQUAL 0)
      list(FILTER found EXCLUDE REGEX "^${other}/")
    endif()
  endforeach()
  list(REMOVE_ITEM found ${HOCKET_SOURCES_APART})
  list(SORT found)
  list(TRANSFORM found PREPEND ${PROJECT_SOURCE_DIR}/)
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# Makes the libraries. A row is: | `room` | holds | `room` `room` | public headers |. Where it names
# `core`, the rooms of the first table are meant: the ground.
function(hocket_make_rooms)
  set(document ${PROJECT_SOURCE_DIR}/docs/ROOMS.md)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${document})
  file(READ ${document} lines)
  string(REGEX REPLACE "[][;]" "," lines "${lines}")  # they mean something in lists
  string(REPLACE "\n" ";" lines "${lines}")
  set(tables 0)
  foreach(line IN LISTS lines)
    if(line MATCHES "^\\| room \\|")
      math(EXPR tables "${tables} + 1")
    elseif(line MATCHES "^\\| `([^`]+)` \\|[^|]*\\|([^|]*)\\|")
      set(room ${CMAKE_MATCH_1})
      string(REGEX MATCHALL "[a-z_/]+" includes_${room} "${CMAKE_MATCH_2}")
      list(APPEND rooms ${room})
      if(tables EQUAL 1)
        list(APPEND ground ${room})
      endif()
    endif()
  endforeach()
  list(REMOVE_ITEM rooms ${HOCKET_ROOMS_APART})
  set_property(GLOBAL PROPERTY HOCKET_ROOMS ${rooms} core)
  set(HOCKET_GROUND ${ground} PARENT_SCOPE)
  foreach(room IN LISTS rooms)
    hocket_sources_of(sources ${room} "${rooms}")
    hocket_library_of(library ${room})
    if(sources)
      hocket_library(${library} SOURCES ${sources} LINK ${includes_${room}})
      if(room MATCHES "${HOCKET_COLD_ROOMS}")
        target_compile_options(${library} PRIVATE $<$<CONFIG:Release>:-O1>)
      endif()
    else()
      add_library(${library} INTERFACE)
      hocket_link(${library} INTERFACE hocket_options ${includes_${room}})
    endif()
  endforeach()
  add_library(hocket_core INTERFACE)
  hocket_link(hocket_core INTERFACE ${ground})
endfunction()
