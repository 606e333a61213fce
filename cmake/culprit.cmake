# Two functions: a layer (a folder of src/ with its unit tests), and a table (one descriptor per file of a folder).

# culprit_layer(NAME DEPS...): library culprit_NAME from src/NAME, test binary test_NAME from its *_test.cc.
function(culprit_layer name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|main)\\.cc$")
  add_library(culprit_${name} STATIC ${sources})
  target_include_directories(culprit_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_compile_definitions(culprit_${name} PUBLIC CULPRIT_VERSION="${PROJECT_VERSION}")
  foreach(dep ${ARGN})
    target_link_libraries(culprit_${name} PUBLIC culprit_${dep})
  endforeach()
  if(tests)
    add_executable(test_${name} ${tests})
    target_link_libraries(test_${name} PRIVATE culprit_${name} GTest::gmock GTest::gtest_main)
    target_compile_definitions(test_${name} PRIVATE CULPRIT_SOURCE_DIR="${CMAKE_SOURCE_DIR}" CULPRIT_BUILD_DIR="${CMAKE_BINARY_DIR}")
    add_test(NAME unit_${name} COMMAND test_${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  endif()
endfunction()

# culprit_table(LAYER FOLDER PREFIX TYPE HEADER): every file X.cc in src/LAYER/FOLDER defines `const TYPE PREFIXX`;
# the table LAYER_FOLDER() of all of them, in the order of their names, is generated. Adding a member is adding a file.
function(culprit_table layer folder prefix type header)
  file(GLOB members CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${layer}/${folder}/*.cc)
  list(FILTER members EXCLUDE REGEX "_test\\.cc$")
  list(SORT members)
  set(decls "")
  set(rows "")
  foreach(member ${members})
    get_filename_component(stem ${member} NAME_WE)
    string(APPEND decls "extern const ${type} ${prefix}${stem};\n")
    string(APPEND rows "      &${prefix}${stem},\n")
  endforeach()
  set(out ${CMAKE_BINARY_DIR}/generated/${layer}_${folder}.cc)
  file(CONFIGURE OUTPUT ${out} CONTENT
"// Made by cmake/culprit.cmake from src/${layer}/${folder}.
#include \"${header}\"
namespace culprit {
${decls}
std::span<const ${type}* const> ${layer}_${folder}() {
  static const ${type}* const table[] = {
${rows}  };
  return table;
}
}  // namespace culprit
")
  target_sources(culprit_${layer} PRIVATE ${out})
endfunction()
