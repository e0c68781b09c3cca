# tcc-runtime: what runs a serialised executable without the compiler (libtcc-runtime.so): the folders executable and
# runtime, and of ir and support what these use.
add_library(tcc-runtime SHARED $<TARGET_OBJECTS:tcc_executable> $<TARGET_OBJECTS:tcc_runtime>)
# Their objects are in already; the archives give the rest that is used.
target_link_libraries(tcc-runtime PRIVATE tcc_runtime)
target_include_directories(tcc-runtime INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
set_target_properties(tcc-runtime PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
if(NOT TCC_SANITIZE)
  target_link_options(tcc-runtime PRIVATE -Wl,-z,defs)
endif()
