# The library that others link (libdepute.so, with the backends and the command line), and what `cmake --install`
# puts where: bin/depute, include/depute/, lib/libdepute.so, lib/cmake/depute/ for find_package(depute),
# lib/pkgconfig/depute.pc for pkg-config.
if(DEPUTE_SANITIZE)
  return()  # a library with a sanitizer in it is of no use to others
endif()
include(GNUInstallDirs)
if(WIN32)  # Windows takes no patterns of what a library exports: the program alone is installed
  install(TARGETS depute RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  return()
endif()
include(CMakePackageConfigHelpers)

get_property(parts GLOBAL PROPERTY DEPUTE_PARTS)
list(TRANSFORM parts REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
add_library(depute_shared SHARED ${objects})
set(exports ${CMAKE_CURRENT_LIST_DIR}/exports.map)
# The archives add nothing to the objects but the libraries of others that these need.
target_link_libraries(depute_shared PRIVATE ${parts})
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  target_link_options(depute_shared PRIVATE -Wl,--version-script=${exports} -Wl,--no-undefined)
endif()
set_target_properties(depute_shared PROPERTIES OUTPUT_NAME depute EXPORT_NAME depute LINK_DEPENDS ${exports}
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_compile_features(depute_shared INTERFACE cxx_std_20)
target_include_directories(depute_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# `cmake --install` builds whatever is still missing, before it copies the first file: `make build` builds the program alone.
install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" --build \"${PROJECT_BINARY_DIR}\" --target depute_installed
  RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR \"depute is not installed: it could not be built\")
endif()")
install(TARGETS depute RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS depute_shared EXPORT depute LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/depute DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# The manual page and completions are what the program prints of its own records.
set(printed ${PROJECT_BINARY_DIR}/printed)
add_custom_command(OUTPUT ${printed}/depute.1 ${printed}/bash/depute ${printed}/zsh/_depute ${printed}/fish/depute.fish
  COMMAND ${CMAKE_COMMAND} -E make_directory ${printed}/bash ${printed}/zsh ${printed}/fish
  COMMAND depute man > ${printed}/depute.1
  COMMAND depute completion bash > ${printed}/bash/depute
  COMMAND depute completion zsh > ${printed}/zsh/_depute
  COMMAND depute completion fish > ${printed}/fish/depute.fish
  DEPENDS depute)
add_custom_target(depute_printed ALL DEPENDS ${printed}/depute.1)
add_custom_target(depute_installed DEPENDS depute depute_shared depute_printed)
install(FILES ${printed}/depute.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${printed}/bash/depute DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${printed}/zsh/_depute DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${printed}/fish/depute.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/depute)
install(EXPORT depute FILE depute-config.cmake NAMESPACE depute:: DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/depute-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/depute-config-version.cmake DESTINATION ${package})
# The prefix is found from the place of the file, since `cmake --install --prefix` chooses it last.
set(pkgconfig ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH to_prefix /${pkgconfig} /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/depute.pc.in ${PROJECT_BINARY_DIR}/depute.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/depute.pc DESTINATION ${pkgconfig})
