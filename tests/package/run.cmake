# cmake -D BUILD=dir -D SOURCE=dir -D WORK=dir -D GENERATOR=... -D CXX=... -D CC=... -D EXAMPLES=dir
#       -D LIBDIR=lib -P run.cmake
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed (${status}): ${command}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
foreach(file IN ITEMS bin/tcc-run bin/tcc-worker share/tcc/configs/models/mlp.yaml share/tcc/examples/demo.yaml
        share/tcc/schemas/tuning-file.schema.json share/doc/tcc-graph-compiler/LICENSE share/man/man1/tcc-tune.1
        share/bash-completion/completions/tcc-run share/zsh/site-functions/_tcc-run
        share/fish/vendor_completions.d/tcc-run.fish ${LIBDIR}/pkgconfig/tcc.pc)
  if(NOT EXISTS ${WORK}/prefix/${file})
    message(FATAL_ERROR "not installed: ${file}")
  endif()
endforeach()
foreach(program IN ITEMS tcc-run tcc-tune tcc-compile tcc-info)
  run(bash -n ${WORK}/prefix/share/bash-completion/completions/${program})
endforeach()

# A folder that was moved, by pkg-config and by find_package.
file(RENAME ${WORK}/prefix ${WORK}/moved)
find_program(pkg_config pkg-config)
if(pkg_config)
  set(ENV{PKG_CONFIG_PATH} ${WORK}/moved/${LIBDIR}/pkgconfig)
  execute_process(COMMAND ${pkg_config} --cflags --libs tcc OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(${CC} -std=c11 ${EXAMPLES}/embed.c ${flags} -Wl,-rpath,${WORK}/moved/${LIBDIR} -o ${WORK}/embed)
  run(${WORK}/embed ${EXAMPLES}/demo.yaml null)
endif()
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${WORK}/moved
    -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_C_COMPILER=${CC} -D EXAMPLES=${EXAMPLES})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/build --output-on-failure)
