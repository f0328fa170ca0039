# Adds to each staged package what only a package has: its copyright and changelog, zsh's completion
# where Debian looks for it, the package for Python where Debian's Python looks for it, and the
# reasons for what lintian is not to report. cpack runs it before it makes the packages.

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(name ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(stage ${CPACK_TEMPORARY_DIRECTORY}/${component})
  set(docs ${stage}/usr/share/doc/${name})
  file(MAKE_DIRECTORY ${docs})
  file(COPY_FILE ${CPACK_HOCKET_SOURCE_DIR}/packaging/debian/copyright ${docs}/copyright)
  file(COPY_FILE ${CPACK_HOCKET_CHANGELOG} ${docs}/changelog)
  execute_process(COMMAND gzip -9nf ${docs}/changelog COMMAND_ERROR_IS_FATAL ANY)
  set(overrides ${CPACK_HOCKET_SOURCE_DIR}/packaging/debian/${name}/lintian-overrides)
  if(EXISTS ${overrides})
    file(MAKE_DIRECTORY ${stage}/usr/share/lintian/overrides)
    file(COPY_FILE ${overrides} ${stage}/usr/share/lintian/overrides/${name})
  endif()
endforeach()

set(share ${CPACK_TEMPORARY_DIRECTORY}/program/usr/share/zsh)
file(RENAME ${share}/site-functions ${share}/vendor-completions)

# A link: `hocket torch` puts its folder into PYTHONPATH, which must not have all others, too.
set(modules ${CPACK_TEMPORARY_DIRECTORY}/python/usr/lib/python3/dist-packages)
file(MAKE_DIRECTORY ${modules})
file(CREATE_LINK ../../../share/hocket/python/hocket ${modules}/hocket SYMBOLIC)

# As everybody may read them, whatever the umask of who makes the packages.
execute_process(COMMAND chmod -R u+rwX,go=rX ${CPACK_TEMPORARY_DIRECTORY}
                COMMAND_ERROR_IS_FATAL ANY)
