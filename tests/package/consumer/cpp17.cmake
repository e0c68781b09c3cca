# cmake -D CXX=... -D INCLUDE=dir -D SOURCE=file -P cpp17.cmake: compiled as C++17, the file has one error, which says why.
execute_process(COMMAND ${CXX} -std=c++17 -fsyntax-only -I ${INCLUDE} ${SOURCE} RESULT_VARIABLE status ERROR_VARIABLE text)
string(REGEX MATCHALL "error:[^\n]*" errors "${text}")
list(LENGTH errors count)
if(status EQUAL 0 OR NOT count EQUAL 1 OR NOT errors MATCHES "tcc needs C\\+\\+20: compile with -std=c\\+\\+20")
  message(FATAL_ERROR "status ${status}, ${count} errors:\n${text}")
endif()
