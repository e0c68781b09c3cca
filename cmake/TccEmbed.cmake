# tcc_embed_device_sources(TARGET): embeds the files below backends/device into TARGET, as the table that
# backends/device_source.cpp reads. The table is written again at build time when a file changes.
function(tcc_embed_device_sources target)
  set(root ${PROJECT_SOURCE_DIR}/backends/device)
  file(GLOB_RECURSE files RELATIVE ${root} CONFIGURE_DEPENDS ${root}/*)
  list(SORT files)
  set(listing ${PROJECT_BINARY_DIR}/generated/backends/device_files.txt)  # changes when a file comes or goes
  string(REPLACE ";" "\n" lines "${files}")
  file(CONFIGURE OUTPUT ${listing} CONTENT "${lines}\n" @ONLY)
  list(TRANSFORM files PREPEND ${root}/ OUTPUT_VARIABLE paths)

  set(script ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake)
  set(output ${PROJECT_BINARY_DIR}/generated/backends/device_files.cpp)
  add_custom_command(OUTPUT ${output} DEPENDS ${paths} ${listing} ${script} VERBATIM
    COMMAND ${CMAKE_COMMAND} -D ROOT=${root} -D LISTING=${listing} -D OUTPUT=${output} -P ${script}
    COMMENT "Embedding backends/device")
  target_sources(${target} PRIVATE ${output})
endfunction()
