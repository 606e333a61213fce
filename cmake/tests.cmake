# The tests beside the unit tests: rules of the source tree, text cases, system scripts. Exit code 77 is a skip.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(tools ${CMAKE_SOURCE_DIR}/tools)

add_test(NAME layers COMMAND ${Python3_EXECUTABLE} ${tools}/check_layers.py)
add_test(NAME layers_self_test COMMAND ${Python3_EXECUTABLE} ${tools}/check_layers.py --self-test)
add_test(NAME cases_self_test COMMAND ${Python3_EXECUTABLE} ${tools}/run_cases_test.py)
add_test(NAME reference COMMAND ${tools}/check_reference $<TARGET_FILE:culprit>)
add_test(NAME results COMMAND ${Python3_EXECUTABLE} ${tools}/check_results.py $<TARGET_FILE:culprit>)
add_test(NAME format COMMAND ${tools}/check_format)
set_tests_properties(format PROPERTIES SKIP_RETURN_CODE 77)

# Verdicts on recorded runs: a change of a detector shows here.
add_test(NAME golden COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/golden/golden.py ${CMAKE_BINARY_DIR})

# One test per case file: tests/cli/record/usage.case is case_record_usage.
file(GLOB_RECURSE case_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/cli/*.case)
foreach(case_file ${case_files})
  file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR}/tests/cli ${case_file})
  string(REGEX REPLACE "\\.case$" "" name ${name})
  string(REPLACE "/" "_" name ${name})
  add_test(NAME case_${name} COMMAND ${Python3_EXECUTABLE} ${tools}/run_cases.py ${CMAKE_BINARY_DIR} ${case_file})
  set_tests_properties(case_${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endforeach()

# What the tests of syscap trace.
if(NOT CULPRIT_SANITIZE AND NOT CULPRIT_FUZZ)
  add_subdirectory(${CMAKE_SOURCE_DIR}/tests/trace)
endif()

# A system script gets the build folder as its argument; NAME_common.py is what several share. They measure and make load,
# so each has the machine for itself. The limit is for what hangs: a killed script leaves its lab behind.
file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/system/*.py)
foreach(script ${scripts})
  get_filename_component(name ${script} NAME_WE)
  if(NOT name MATCHES "_common$")
    add_test(NAME system_${name} COMMAND ${Python3_EXECUTABLE} ${script} ${CMAKE_BINARY_DIR})
    set_tests_properties(system_${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900 RUN_SERIAL ON
                         ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
  endif()
endforeach()
