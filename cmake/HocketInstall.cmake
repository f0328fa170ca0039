# What `cmake --install` puts where: the program, the client library with its headers, the plugin
# for NCCL beside it, and the package for Python, which `hocket torch` finds beside the program.

include(GNUInstallDirs)
install(TARGETS hocket RUNTIME)
install(TARGETS hocket_client_c LIBRARY)
install(TARGETS hocket_nccl_plugin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${PROJECT_BINARY_DIR}/lib/libnccl-profiler-hocket.so
        DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES tuner/client/c/hocket_client.h tuner/client/c/hocket_schedule.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hocket)
install(DIRECTORY plugins/python/hocket DESTINATION ${CMAKE_INSTALL_DATADIR}/hocket/python
        FILES_MATCHING PATTERN *.py)
