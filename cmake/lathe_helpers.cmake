# Helpers of the build: features, layers, tests. SPDX-License-Identifier: BSD-3-Clause

# lt_feature(NAME "what it is for" PKG module HEADER file.h LIB name… PACKAGE debian-package
#            [SUFFIXES folder…]):
# the switch LT_NAME=AUTO|ON|OFF over one outside library. AUTO takes it where it is found, ON fails
# without it. Looked for with pkg-config first, then as header and library file: hosts without
# pkg-config, and libraries without a .pc file (oneDNN), still count. Sets LT_HAVE_NAME; link with
# the target PkgConfig::NAME (upper case), which exists only when it was found.
function(lt_feature name help)
    cmake_parse_arguments(F "" "PKG;HEADER;PACKAGE" "LIB;SUFFIXES" ${ARGN})
    string(TOUPPER ${name} upper)
    lt_feature_switch(${upper} "${help}")
    set(have FALSE)
    if(NOT LT_${upper} STREQUAL "OFF")
        if(PKG_CONFIG_FOUND)
            pkg_check_modules(${upper} QUIET IMPORTED_TARGET GLOBAL ${F_PKG})
        endif()
        if(NOT TARGET PkgConfig::${upper})
            find_path(LT_${upper}_INCLUDE ${F_HEADER} PATH_SUFFIXES ${F_SUFFIXES})
            find_library(LT_${upper}_LIBRARY NAMES ${F_LIB} PATH_SUFFIXES ${F_SUFFIXES})
            mark_as_advanced(LT_${upper}_INCLUDE LT_${upper}_LIBRARY)
            if(LT_${upper}_INCLUDE AND LT_${upper}_LIBRARY)
                add_library(PkgConfig::${upper} INTERFACE IMPORTED GLOBAL)
                target_include_directories(PkgConfig::${upper} SYSTEM INTERFACE ${LT_${upper}_INCLUDE})
                target_link_libraries(PkgConfig::${upper} INTERFACE ${LT_${upper}_LIBRARY})
            endif()
        endif()
        if(TARGET PkgConfig::${upper})
            set(have TRUE)
            find_library(LT_${upper}_PLAIN NAMES ${F_LIB}) # as a linker finds it without help
            mark_as_advanced(LT_${upper}_PLAIN)
            if(LT_${upper}_PLAIN)
                get_filename_component(plain ${LT_${upper}_PLAIN} NAME_WE)
                string(REGEX REPLACE "^lib" "" plain ${plain})
            else()
                list(GET F_LIB 0 plain)
            endif()
            set_property(GLOBAL APPEND PROPERTY LT_STATIC_LIBS ${plain})
        elseif(LT_${upper} STREQUAL "ON")
            message(FATAL_ERROR "LT_${upper}=ON, but ${F_HEADER} and lib${F_LIB} were not found (Debian package ${F_PACKAGE})")
        endif()
    endif()
    set(LT_HAVE_${upper} ${have} PARENT_SCOPE)
    set_property(GLOBAL APPEND PROPERTY LT_FEATURES "${name}|${have}|${LT_${upper}}|${F_PACKAGE}|${help}")
endfunction()

# lt_runtime_feature(NAME "what it is for" LIB file… PACKAGE debian-package [SUFFIXES folder…]): the same switch over a library that
# is opened at run time. No header is needed and nothing is linked, so AUTO builds the code in whether this machine has the library
# or not, and lathe looks for it where it runs. ON fails where this machine has none; OFF leaves the code out.
function(lt_runtime_feature name help)
    cmake_parse_arguments(F "" "PACKAGE" "LIB;SUFFIXES" ${ARGN})
    string(TOUPPER ${name} upper)
    lt_feature_switch(${upper} "${help}")
    set(have TRUE)
    if(LT_${upper} STREQUAL "OFF")
        set(have FALSE)
    else()
        find_library(LT_${upper}_RUNTIME NAMES ${F_LIB} PATH_SUFFIXES ${F_SUFFIXES})
        mark_as_advanced(LT_${upper}_RUNTIME)
        if(NOT LT_${upper}_RUNTIME AND LT_${upper} STREQUAL "ON")
            list(GET F_LIB 0 file)
            message(FATAL_ERROR "LT_${upper}=ON, but ${file} was not found (Debian package ${F_PACKAGE})")
        elseif(NOT LT_${upper}_RUNTIME)
            message(STATUS "${name}: not on this machine (package ${F_PACKAGE}); programs look for it where they run")
        endif()
    endif()
    set(LT_HAVE_${upper} ${have} PARENT_SCOPE)
    set_property(GLOBAL APPEND PROPERTY LT_FEATURES "${name}|${have}|${LT_${upper}}|${F_PACKAGE}|${help}")
endfunction()

# The cache variable LT_NAME of a feature.
function(lt_feature_switch upper help)
    set(LT_${upper} AUTO CACHE STRING "${help}: AUTO, ON or OFF")
    set_property(CACHE LT_${upper} PROPERTY STRINGS AUTO ON OFF)
    if(NOT LT_${upper} MATCHES "^(AUTO|ON|OFF)$")
        message(FATAL_ERROR "LT_${upper} is '${LT_${upper}}': expected AUTO, ON or OFF")
    endif()
endfunction()

# Prints what the build found and writes features.c, which tells the library (and `lathe doctor`).
function(lt_features_finish)
    get_property(features GLOBAL PROPERTY LT_FEATURES)
    set(LT_FEATURE_ROWS "")
    message(STATUS "lathe ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}, ${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}; features:")
    foreach(feature ${features})
        string(REPLACE "|" ";" part "${feature}")
        list(GET part 0 name)
        list(GET part 1 have)
        list(GET part 2 switch)
        list(GET part 3 package)
        list(GET part 4 help)
        string(TOLOWER ${have} have_c)
        string(TOUPPER ${name} upper)
        if(have)
            set(text "yes")
        elseif(switch STREQUAL "OFF")
            set(text "switched off")
        else()
            set(text "not found (package ${package})")
        endif()
        message(STATUS "  ${name}: ${text}; ${help}")
        string(APPEND LT_FEATURE_ROWS
            "    { sizeof(lt_feature), \"${name}\", \"${help}\", \"${package}\", \"LT_${upper}=${switch}\", ${have_c} },\n")
    endforeach()
    configure_file(${PROJECT_SOURCE_DIR}/cmake/features.c.in ${PROJECT_BINARY_DIR}/features.c @ONLY)
endfunction()

# lt_layer(NAME SOURCES … SEES lower-layer… [LIBS target…]): one folder of src/ as an object
# library for liblathe and a static one for tests, which link this layer and those below only.
function(lt_layer name)
    cmake_parse_arguments(L "" "" "SOURCES;SEES;LIBS" ${ARGN})
    add_library(lt_${name}_obj OBJECT ${L_SOURCES})
    target_link_libraries(lt_${name}_obj PUBLIC lt_flags ${L_LIBS})
    add_library(lt_${name} STATIC $<TARGET_OBJECTS:lt_${name}_obj>)
    target_link_libraries(lt_${name} PUBLIC lt_flags ${L_LIBS})
    foreach(lower ${L_SEES})
        target_link_libraries(lt_${name} PUBLIC lt_${lower})
    endforeach()
    foreach(library ${L_LIBS}) # system libraries a static liblathe needs too; found ones are noted by lt_feature
        if(NOT library MATCHES "::")
            set_property(GLOBAL APPEND PROPERTY LT_STATIC_LIBS ${library})
        endif()
    endforeach()
    set_property(GLOBAL APPEND PROPERTY LT_LAYERS ${name})
endfunction()

# lt_isa_sources(OUT BODY header.h [OPTIONS flag…] [DEFINITIONS D=v…] [PLAIN] [AVX2 flag…] [AVX512 flag…]):
# loops compiled once per instruction set. For each set a source in the build folder defines LT_ISA (plain, avx2, avx512),
# LT_ISA_NAME(x) (x_plain, …) and LT_ISA_BYTES (of a vector) and includes BODY, named from src/. Appends the sources to OUT.
# AVX2 and AVX512 are left out on other processors; lt_isa_best (kernels/cpu/isa.c) chooses at run time.
function(lt_isa_sources out)
    cmake_parse_arguments(I "PLAIN" "BODY" "OPTIONS;DEFINITIONS;AVX2;AVX512" ${ARGN})
    set(sources ${${out}})
    string(MAKE_C_IDENTIFIER ${I_BODY} id)
    foreach(set "plain|16|PLAIN" "avx2|32|AVX2" "avx512|64|AVX512")
        string(REPLACE "|" ";" set ${set})
        list(GET set 0 isa)
        list(GET set 1 bytes)
        list(GET set 2 argument)
        if(NOT I_${argument} OR (NOT isa STREQUAL "plain" AND NOT LT_VEC_X86))
            continue()
        endif()
        set(flags ${I_OPTIONS})
        if(NOT isa STREQUAL "plain")
            list(APPEND flags ${I_${argument}})
        endif()
        set(file ${CMAKE_CURRENT_BINARY_DIR}/isa/${id}_${isa}.c)
        file(CONFIGURE OUTPUT ${file} CONTENT [[/* @I_BODY@ for @isa@; written by lt_isa_sources (cmake/lathe_helpers.cmake). */
#define LT_ISA @isa@
#define LT_ISA_NAME(x) x##_@isa@
#define LT_ISA_BYTES @bytes@
#include "@I_BODY@"
]] @ONLY)
        set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${flags}" COMPILE_DEFINITIONS "${I_DEFINITIONS}")
        list(APPEND sources ${file})
    endforeach()
    set(${out} ${sources} PARENT_SCOPE)
endfunction()

# lt_embed(LAYER file…): puts files of the current folder into the layer as they stand, between the
# symbols lt_text_NAME and lt_text_NAME_end (the file's name, '_' for every other sign).
function(lt_embed layer)
    foreach(file ${ARGN})
        get_filename_component(name ${file} NAME)
        string(MAKE_C_IDENTIFIER ${name} id)
        set(source ${CMAKE_CURRENT_SOURCE_DIR}/${file})
        set(assembly ${CMAKE_CURRENT_BINARY_DIR}/${id}.S)
        file(CONFIGURE OUTPUT ${assembly} CONTENT [[.section .rodata
.global lt_text_@id@, lt_text_@id@_end
.hidden lt_text_@id@, lt_text_@id@_end
lt_text_@id@: .incbin "@source@"
lt_text_@id@_end: .byte 0
.section .note.GNU-stack,"",%progbits
]] @ONLY)
        set_source_files_properties(${assembly} PROPERTIES OBJECT_DEPENDS ${source})
        target_sources(lt_${layer}_obj PRIVATE ${assembly})
    endforeach()
endfunction()

# lt_test(NAME LAYER layer SOURCES … [PLAIN] [LABELS …] [LIBS …] [ARGS …] [TIMEOUT s]): a test program, its heap guarded unless PLAIN;
# exit 77 means skipped, with the reason printed.
function(lt_test name)
    cmake_parse_arguments(T "PLAIN" "LAYER;TIMEOUT" "SOURCES;LABELS;LIBS;ARGS" ${ARGN})
    add_executable(test_${name} ${T_SOURCES})
    target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(test_${name} PRIVATE lt_${T_LAYER} ${T_LIBS} m)
    if(LT_GUARD_BLOCKS AND NOT T_PLAIN) # tests/guarded_blocks.c in front of base/alloc.c
        target_sources(test_${name} PRIVATE $<TARGET_OBJECTS:lt_guarded_blocks>)
        foreach(function malloc calloc realloc free strdup malloc_aligned free_aligned)
            target_link_options(test_${name} PRIVATE LINKER:--wrap=lt_${function})
        endforeach()
    endif()
    add_test(NAME ${name} COMMAND test_${name} ${T_ARGS})
    lt_test_properties(${name} LABELS ${T_LABELS} TIMEOUT ${T_TIMEOUT})
endfunction()

# lt_script_test(NAME COMMAND … [LABELS …] [TIMEOUT s]): a test that is a command; exit 77 = skipped.
function(lt_script_test name)
    cmake_parse_arguments(T "" "TIMEOUT" "COMMAND;LABELS" ${ARGN})
    add_test(NAME ${name} COMMAND ${T_COMMAND})
    lt_test_properties(${name} LABELS ${T_LABELS} TIMEOUT ${T_TIMEOUT})
endfunction()

# Tests that take longest (a quarter of a minute of processor time or more): begun first, so that none of them is left running alone.
set(LT_LONG_TESTS plain_build python_pygranso python_aten cli_cuda_faults cli_workers cli_work cuda_compile fused_step conv_f32 fused_kernels fused_ends
    ops_conv gram_compile gram_kernels_on_host python_pygranso_users ranks_gram_openmpi ranks_gram_mpich watchdog)

# Tests that measure, or build with two processes: what runs beside them is one test at most on two cores.
set(LT_WIDE_TESTS plain_build python_interrupt python_dataset_speed ranks_openmpi ranks_mpich feature_cost trial graph_trial)

function(lt_test_properties name)
    cmake_parse_arguments(T "" "TIMEOUT" "LABELS" ${ARGN})
    if(NOT T_LABELS)
        set(T_LABELS cpu)
    endif()
    if(NOT T_TIMEOUT)
        set(T_TIMEOUT 600)
    endif()
    if(LT_SANITIZE) # which takes several times as long
        math(EXPR T_TIMEOUT "4 * ${T_TIMEOUT}")
    endif()
    if(LT_SANITIZE MATCHES "address")
        set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "LSAN_OPTIONS=print_suppressions=0:suppressions='${PROJECT_SOURCE_DIR}/tests/lsan-suppressions.txt'")
    endif()
    if(LT_SANITIZE MATCHES "thread") # programs that use lathe fork, and so do tests
        set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "TSAN_OPTIONS=die_after_fork=0:suppressions='${PROJECT_SOURCE_DIR}/tests/tsan-suppressions.txt'")
        if(name MATCHES "${LT_TSAN_LEAVES_OUT}")
            set_tests_properties(${name} PROPERTIES DISABLED ON)
        endif()
    endif()
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 LABELS "${T_LABELS}" TIMEOUT ${T_TIMEOUT})
    if(name IN_LIST LT_LONG_TESTS)
        set_tests_properties(${name} PROPERTIES COST 100)
    endif()
    if(name IN_LIST LT_WIDE_TESTS)
        set_tests_properties(${name} PROPERTIES PROCESSORS 2)
    endif()
endfunction()
