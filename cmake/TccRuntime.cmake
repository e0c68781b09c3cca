# tcc-runtime: what runs serialised executables without the compiler (libtcc-runtime.so, libtcc-runtime.dll): the folders
# support, executable and runtime, and of ir the data types. TCC_RUNTIME_ONLY builds nothing else, for other systems, too.
#
# The types of ir are compiled for it by themselves: out of the archive of ir, one of them would bring everything else.
file(GLOB ir_data CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ir/symint*.cpp ${PROJECT_SOURCE_DIR}/ir/expr*.cpp)
foreach(name IN ITEMS bit_cast dtype scalar scalar_eval size_range suggest tensor)
  list(APPEND ir_data ${PROJECT_SOURCE_DIR}/ir/${name}.cpp)
endforeach()
add_library(tcc-runtime SHARED ${ir_data})
foreach(library IN ITEMS tcc_support tcc_executable tcc_runtime)
  target_sources(tcc-runtime PRIVATE $<TARGET_OBJECTS:${library}>)
endforeach()
target_include_directories(tcc-runtime PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(tcc-runtime PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
if(NOT TCC_RUNTIME_ONLY)
  target_link_libraries(tcc-runtime PRIVATE TBB::tbb)
endif()
target_include_directories(tcc-runtime INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
tcc_precompile(tcc-runtime)
tcc_unity(tcc-runtime)
target_compile_features(tcc-runtime INTERFACE cxx_std_20)
set_target_properties(tcc-runtime PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
if(NOT TCC_SANITIZE AND NOT WIN32)
  target_link_options(tcc-runtime PRIVATE -Wl,-z,defs)
endif()
if(WIN32)
  # All symbols, as on other systems. Exceptions pass between programs and the DLL, so that both need one libstdc++: its
  # DLLs lie beside it.
  target_link_options(tcc-runtime PRIVATE -Wl,--export-all-symbols)
  foreach(name IN ITEMS libstdc++-6.dll libgcc_s_seh-1.dll libwinpthread-1.dll)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${name} OUTPUT_VARIABLE file OUTPUT_STRIP_TRAILING_WHITESPACE)
    file(COPY ${file} DESTINATION ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  endforeach()
endif()
