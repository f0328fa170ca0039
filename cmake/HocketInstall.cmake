# The rules of `cmake --install`, by component: docs/INSTALL.md says what each is for. The Debian
# packages are made of the same components (HocketPackages.cmake).

include(CMakePackageConfigHelpers)

# Manual pages and completion, by the program itself.
set(reference ${PROJECT_BINARY_DIR}/reference)
add_custom_command(
  OUTPUT ${reference}/made
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${reference}
  COMMAND hocket manual ${reference}/man1
  COMMAND gzip -9n -r ${reference}/man1
  COMMAND hocket completion bash > ${reference}/hocket
  COMMAND hocket completion zsh > ${reference}/_hocket
  COMMAND hocket completion fish > ${reference}/hocket.fish
  COMMAND ${CMAKE_COMMAND} -E touch ${reference}/made
  DEPENDS hocket VERBATIM
  COMMENT "Writing manual pages and completion")
add_custom_target(hocket_reference ALL DEPENDS ${reference}/made)

# An installation needs these; tests install it.
add_dependencies(hocket_jobs gpt2_demo hocket_reference hocket_client_c hocket_nccl_plugin
                 hocket_nccl_profiler hocket_archives)

# program
install(TARGETS hocket RUNTIME COMPONENT program)
install(DIRECTORY ${reference}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT program)
install(FILES ${reference}/hocket DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        COMPONENT program)
install(FILES ${reference}/_hocket DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
        COMPONENT program)
install(FILES ${reference}/hocket.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)
# Files of knobs as examples; the program has them itself.
install(DIRECTORY formats/knobs DESTINATION ${CMAKE_INSTALL_DATADIR}/hocket COMPONENT program
        FILES_MATCHING PATTERN *.json)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program
        FILES_MATCHING PATTERN *.md PATTERN *.svg)

# demo: the job that `hocket demo` tunes (cli/process/demo_job.h)
install(TARGETS gpt2_demo RUNTIME DESTINATION libexec/hocket COMPONENT demo)

# client: the C library
install(TARGETS hocket_client_c EXPORT hocketClientC
        LIBRARY COMPONENT client NAMELINK_COMPONENT development)

# nccl: the plugin for NCCL, which opens the client library
install(TARGETS hocket_nccl_plugin hocket_nccl_profiler
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT nccl)

# python: where `hocket torch` looks for it
install(DIRECTORY plugins/python/hocket DESTINATION ${CMAKE_INSTALL_DATADIR}/hocket/python
        COMPONENT python FILES_MATCHING PATTERN *.py)

# systemd: units that start the program from where it is installed
foreach(unit hocket.service hocket.socket)
  install(CODE "
    file(READ \"${PROJECT_SOURCE_DIR}/packaging/${unit}\" unit)
    set(programs \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/\")
    string(REPLACE /usr/bin/ \"\${programs}\" unit \"\${unit}\")
    set(file \"\${CMAKE_INSTALL_PREFIX}/lib/systemd/system/${unit}\")
    message(STATUS \"Installing: \$ENV{DESTDIR}\${file}\")
    file(WRITE \"\$ENV{DESTDIR}\${file}\" \"\${unit}\")
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${file}\")" COMPONENT systemd)
endforeach()

# development: headers, static libraries, and what CMake and pkg-config need. The archives have a
# folder of their own: the C++ client's has the name of the C library, and a static link would take
# it instead.
set(archives ${CMAKE_INSTALL_LIBDIR}/hocket)
set_target_properties(hocket_client_c PROPERTIES EXPORT_NAME client_c)
add_custom_target(hocket_archives)
# hocket_archive(NAME EXPORT ROOM…): one archive of the libraries of several rooms.
function(hocket_archive name export)
  set(archive hocket_${name}_archive)
  foreach(room IN LISTS ARGN)
    hocket_library_of(library ${room})
    get_target_property(type ${library} TYPE)
    if(NOT type STREQUAL INTERFACE_LIBRARY)
      list(APPEND objects $<TARGET_OBJECTS:${library}>)
    endif()
  endforeach()
  add_library(${archive} STATIC ${objects})
  set_target_properties(${archive} PROPERTIES OUTPUT_NAME hocket_${name} EXPORT_NAME ${export}
                        LINKER_LANGUAGE CXX)
  target_compile_features(${archive} PUBLIC cxx_std_20)
  target_include_directories(${archive} INTERFACE
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/hocket>)
  add_dependencies(hocket_archives ${archive})
endfunction()
hocket_archive(core ground ${HOCKET_GROUND})
hocket_archive(host host core/greeting core/host)
hocket_archive(client client core/sharing client/link client/start client/live)
target_link_libraries(hocket_core_archive PUBLIC nlohmann_json::nlohmann_json tl::expected
                      Threads::Threads Boost::headers)
target_link_libraries(hocket_host_archive PUBLIC hocket_core_archive gloo PkgConfig::hwloc
                      OpenSSL::Crypto)
target_link_libraries(hocket_client_archive PUBLIC hocket_core_archive OpenSSL::SSL Boost::headers)
add_library(hocket_installed_core INTERFACE)
set_target_properties(hocket_installed_core PROPERTIES EXPORT_NAME core)
target_link_libraries(hocket_installed_core INTERFACE hocket_host_archive hocket_core_archive)
target_include_directories(hocket_client_c INTERFACE
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS hocket_core_archive hocket_host_archive hocket_installed_core EXPORT hocketCore
        ARCHIVE DESTINATION ${archives} COMPONENT development)
install(TARGETS hocket_client_archive EXPORT hocketClient
        ARCHIVE DESTINATION ${archives} COMPONENT development)
install(FILES capi/hocket_client.h capi/hocket_schedule.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hocket COMPONENT development)
foreach(folder core/base core/files core/step core/description core/trace core/protocol
               core/collective core/plan core/partitioning core/placement core/scheduler core/tape
               core/greeting core/host client/link client/start client/live)
  install(DIRECTORY ${folder}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hocket/${folder}
          COMPONENT development
          FILES_MATCHING PATTERN *.h PATTERN precompiled.h EXCLUDE)
endforeach()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/hocket)
foreach(export hocketCore hocketClient hocketClientC)
  install(EXPORT ${export} NAMESPACE hocket:: DESTINATION ${package} COMPONENT development)
endforeach()
configure_package_config_file(packaging/cmake/hocketConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/package/hocketConfig.cmake
                              INSTALL_DESTINATION ${package}
                              NO_SET_AND_CHECK_MACRO)
# A C++ interface that may change with every minor version.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/hocketConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH HOCKET_PREFIX_OF_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(packaging/pkgconfig/hocket-client.pc.in
               ${PROJECT_BINARY_DIR}/package/hocket-client.pc @ONLY)
configure_file(packaging/pkgconfig/hocket-core.pc.in
               ${PROJECT_BINARY_DIR}/package/hocket-core.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/hocketConfig.cmake
              ${PROJECT_BINARY_DIR}/package/hocketConfigVersion.cmake
        DESTINATION ${package} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/package/hocket-client.pc
              ${PROJECT_BINARY_DIR}/package/hocket-core.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
