# tcc_version_source(TARGET): adds the source of support/version.h to TARGET. Every build looks at git, and writes and
# compiles the source again only if the commit, or whether the tree is as committed, has changed.
function(tcc_version_source target)
  set(output ${PROJECT_BINARY_DIR}/generated/support/version.cpp)
  set(script ${PROJECT_SOURCE_DIR}/cmake/write_version.cmake)
  add_custom_target(${target}_version BYPRODUCTS ${output} VERBATIM
    COMMAND ${CMAKE_COMMAND} -D VERSION=${PROJECT_VERSION} -D ROOT=${PROJECT_SOURCE_DIR} -D OUTPUT=${output} -P ${script}
    COMMENT "Looking at the commit")
  target_sources(${target} PRIVATE ${output})
  add_dependencies(${target} ${target}_version)
endfunction()
