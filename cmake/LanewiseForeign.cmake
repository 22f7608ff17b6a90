# Dependencies of a cross-compiled build, for whose architecture no packages are installed: GoogleTest from the sources that
# Debian's package googletest puts there, xxHash as a header alone. The library itself depends on nothing.

# lanewise_foreign_xxhash(): the target PkgConfig::XXHASH, from this machine's xxhash.h, which compiles anywhere. It is
# copied: the folder it lies in has headers of this machine's architecture beside it.
function(lanewise_foreign_xxhash)
  find_file(LANEWISE_XXHASH_HEADER xxhash.h PATHS /usr/include NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  set(folder ${PROJECT_BINARY_DIR}/foreign)
  configure_file(${LANEWISE_XXHASH_HEADER} ${folder}/xxhash.h COPYONLY)
  add_library(PkgConfig::XXHASH INTERFACE IMPORTED GLOBAL)
  target_include_directories(PkgConfig::XXHASH INTERFACE ${folder})
  target_compile_definitions(PkgConfig::XXHASH INTERFACE XXH_INLINE_ALL)
endfunction()

# lanewise_foreign_googletest(): the targets GTest::gtest and GTest::gtest_main.
macro(lanewise_foreign_googletest)
  find_path(LANEWISE_GOOGLETEST_SOURCE CMakeLists.txt PATHS /usr/src/googletest/googletest NO_DEFAULT_PATH
            NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  set(INSTALL_GTEST OFF CACHE BOOL "" FORCE)
  set(GOOGLETEST_VERSION 1.12.1)
  add_subdirectory(${LANEWISE_GOOGLETEST_SOURCE} ${PROJECT_BINARY_DIR}/foreign/googletest EXCLUDE_FROM_ALL)
endmacro()
