# Lets the cache of the loader be renewed as Debian's policy wants it, whatever CMake's version
# does: by a trigger of the client library's package, and not by that of the plugin for NCCL, which
# nothing is linked to. cpack runs it once the packages are made.

foreach(package IN LISTS CPACK_PACKAGE_FILES)
  if(NOT package MATCHES "/lib(hocket-client|nccl-plugin)[^/]*$")
    continue()
  endif()
  set(folder ${CPACK_TEMPORARY_DIRECTORY}/repacked)
  file(REMOVE_RECURSE ${folder})
  execute_process(COMMAND dpkg-deb --raw-extract ${package} ${folder} COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE ${folder}/DEBIAN/postinst ${folder}/DEBIAN/postrm ${folder}/DEBIAN/triggers)
  if(package MATCHES libhocket-client)
    file(WRITE ${folder}/DEBIAN/triggers "activate-noawait ldconfig\n")
    file(CHMOD ${folder}/DEBIAN/triggers PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  endif()
  execute_process(COMMAND dpkg-deb -Zxz --root-owner-group --build ${folder} ${package}
                  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endforeach()
