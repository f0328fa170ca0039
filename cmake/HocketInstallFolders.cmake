# Where an installation has what, below its prefix: CMAKE_INSTALL_LIBDIR and the like. On Debian
# libraries lie in lib/TRIPLET below every prefix, not only below /usr, so that one build serves
# /usr/local and the packages; the loader, pkg-config and CMake look there. To have lib:
# -DCMAKE_INSTALL_LIBDIR=lib
# Such a folder is not set again, because CMake would make an absolute path of it.

if(NOT DEFINED CMAKE_INSTALL_LIBDIR AND EXISTS /etc/debian_version AND CMAKE_LIBRARY_ARCHITECTURE)
  set(CMAKE_INSTALL_LIBDIR lib/${CMAKE_LIBRARY_ARCHITECTURE} CACHE PATH
      "Folder of libraries, below the prefix")
endif()
include(GNUInstallDirs)
