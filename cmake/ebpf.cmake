# The kernel side of the ebpf backend: clang makes a BPF object of syscap.bpf.c, which is put into the library as it is.
pkg_check_modules(LIBBPF REQUIRED libbpf>=1.1)
find_program(CULPRIT_BPF_CLANG NAMES clang-14 clang DOC "the clang that compiles BPF programs")
if(NOT CULPRIT_BPF_CLANG)
  message(FATAL_ERROR "The ebpf backend needs clang to compile its probes: install clang, or set CULPRIT_BPF_CLANG.")
endif()

set(probes ${CMAKE_SOURCE_DIR}/src/capture/ebpf)
set(probes_object ${CMAKE_BINARY_DIR}/generated/syscap.bpf.elf)  # not .o: that would be linked
file(GLOB probes_headers CONFIGURE_DEPENDS ${probes}/*.bpf.h)
# mcpu=v3: atomic operations that return a value, in every kernel since 5.12.
add_custom_command(
  OUTPUT ${probes_object}
  COMMAND ${CULPRIT_BPF_CLANG} -target bpf -mcpu=v3 -O2 -g -D__TARGET_ARCH_x86 -Wall -Werror
          -fdebug-prefix-map=${CMAKE_SOURCE_DIR}=. -I${CMAKE_SOURCE_DIR}/src -I/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
          -c ${probes}/syscap.bpf.c -o ${probes_object}
  DEPENDS ${probes}/syscap.bpf.c ${probes}/syscap_abi.h ${probes_headers}
  COMMENT "Compiling the probes of the ebpf backend"
  VERBATIM)
set(probes_source ${CMAKE_BINARY_DIR}/generated/syscap_object.cc)
file(CONFIGURE OUTPUT ${probes_source} CONTENT
"// Made by cmake/ebpf.cmake: the bytes of syscap.bpf.elf.
__asm__(
    \".pushsection .rodata\\n\"
    \".balign 8\\n\"
    \".global culprit_syscap_object\\n\"
    \"culprit_syscap_object:\\n\"
    \".incbin \\\"${probes_object}\\\"\\n\"
    \".global culprit_syscap_object_end\\n\"
    \"culprit_syscap_object_end:\\n\"
    \".byte 0\\n\"
    \".popsection\\n\");
")
set_source_files_properties(${probes_source} PROPERTIES OBJECT_DEPENDS ${probes_object})
target_sources(culprit_capture PRIVATE ${probes_source} ${probes_object})
# By name and in this order: culprit-node links them statically.
target_link_libraries(culprit_capture PRIVATE bpf elf z)
