# Helpers of the build: features, layers, tests.

# lt_feature(NAME "what it is for" pkg-config-name): the switch LT_NAME=AUTO|ON|OFF. AUTO takes
# the library where it is found, ON fails without it. Sets LT_HAVE_NAME; the target is PkgConfig::NAME.
function(lt_feature name help module)
    string(TOUPPER ${name} upper)
    set(LT_${upper} AUTO CACHE STRING "${help}: AUTO, ON or OFF")
    set_property(CACHE LT_${upper} PROPERTY STRINGS AUTO ON OFF)
    set(have FALSE)
    if(NOT LT_${upper} STREQUAL "OFF")
        if(LT_${upper} STREQUAL "ON")
            set(required REQUIRED)
        endif()
        pkg_check_modules(${upper} ${required} QUIET IMPORTED_TARGET GLOBAL ${module})
        if(${upper}_FOUND)
            set(have TRUE)
        endif()
    endif()
    set(LT_HAVE_${upper} ${have} PARENT_SCOPE)
    set_property(GLOBAL APPEND PROPERTY LT_FEATURES "${name}|${have}|${help}")
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
    set_property(GLOBAL APPEND PROPERTY LT_LAYERS ${name})
endfunction()

# lt_test(NAME LAYER layer SOURCES … [LABELS …] [LIBS …] [ARGS …] [TIMEOUT s]): a test program;
# exit 77 means skipped, with the reason printed.
function(lt_test name)
    cmake_parse_arguments(T "" "LAYER;TIMEOUT" "SOURCES;LABELS;LIBS;ARGS" ${ARGN})
    add_executable(test_${name} ${T_SOURCES})
    target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(test_${name} PRIVATE lt_${T_LAYER} ${T_LIBS} m)
    if(NOT T_LABELS)
        set(T_LABELS cpu)
    endif()
    if(NOT T_TIMEOUT)
        set(T_TIMEOUT 300)
    endif()
    add_test(NAME ${name} COMMAND test_${name} ${T_ARGS})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 LABELS "${T_LABELS}" TIMEOUT ${T_TIMEOUT})
endfunction()
