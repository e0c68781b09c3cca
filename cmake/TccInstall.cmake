# This file says what `cmake --install` installs, and where. Programs that were not built are left out and named at the
# end, so that what is installed works; `cmake --build BUILD --target programs` builds all of them.
#
# The Tiny C Compiler is called tcc too. Nothing here has a name of it: its documents are in share/doc/tcc, its files in
# lib/tcc.
set(doc_dir ${CMAKE_INSTALL_DATAROOTDIR}/doc/tcc-graph-compiler)
set(data_dir ${CMAKE_INSTALL_DATADIR}/tcc)
get_property(programs GLOBAL PROPERTY TCC_PROGRAMS)
get_property(with_help GLOBAL PROPERTY TCC_PROGRAMS_WITH_HELP)

add_dependencies(programs tcc-runtime)  # which is installed with them
install(TARGETS tcc-core tcc-runtime EXPORT tcc LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/tcc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(DIRECTORY configs DESTINATION ${data_dir} PATTERN "*.sh" EXCLUDE)
install(DIRECTORY examples DESTINATION ${data_dir} PATTERN CMakeLists.txt EXCLUDE)
file(GLOB schemas CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.schema.json)
install(FILES ${schemas} DESTINATION ${data_dir}/schemas)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${doc_dir})
install(DIRECTORY docs DESTINATION ${doc_dir} PATTERN "*.schema.json" EXCLUDE)

# Programs and what they say about themselves. OPTIONAL passes over files that are not there.
install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)
set(help ${PROJECT_BINARY_DIR}/help)
foreach(program IN LISTS with_help)
  install(FILES ${help}/man/${program}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
  install(FILES ${help}/bash/${program} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions OPTIONAL)
  install(FILES ${help}/zsh/_${program} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions OPTIONAL)
  install(FILES ${help}/fish/${program}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d OPTIONAL)
endforeach()
install(CODE "
  set(absent)
  foreach(program IN ITEMS ${programs})
    if(NOT EXISTS \"${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/\${program}\")
      string(APPEND absent \" \${program}\")
    endif()
  endforeach()
  if(absent)
    message(STATUS \"Left out, since not built:\${absent} (cmake --build ${PROJECT_BINARY_DIR} --target programs)\")
  endif()")

# find_package(tcc) and `pkg-config tcc`.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tcc)
install(EXPORT tcc NAMESPACE tcc:: DESTINATION ${package_dir} FILE tccTargets.cmake)
# In a folder of their own: find_package() cannot use the build folder, which has no tccTargets.cmake.
set(config_dir ${PROJECT_BINARY_DIR}/generated/package)
configure_package_config_file(cmake/tccConfig.cmake.in ${config_dir}/tccConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${config_dir}/tccConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${config_dir}/tccConfig.cmake ${config_dir}/tccConfigVersion.cmake DESTINATION ${package_dir})
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH prefix_of_pkgconfig /prefix/${pkgconfig_dir} /prefix)  # so that the folder may be moved
string(REGEX REPLACE "/$" "" prefix_of_pkgconfig ${prefix_of_pkgconfig})
configure_file(cmake/tcc.pc.in tcc.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tcc.pc DESTINATION ${pkgconfig_dir})
