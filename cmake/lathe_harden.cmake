# Flags against faults that others make use of. SPDX-License-Identifier: BSD-3-Clause

# lt_harden(TARGET): to all that link TARGET, each flag that this compiler and linker have: copies of known size are checked
# (_FORTIFY_SOURCE, which needs optimisation), stacks are guarded and probed, indirect branches land where they may, and tables of
# functions are read-only once loaded. Not with sanitizers, which see more and do not go together with all of these.
include(CheckCCompilerFlag)
include(CheckLinkerFlag)

# lt_unprobed(TARGET): without probes of the stack. Kernels keep blocks on it, up to 640 KB of fixed size (cpu/fused/run.c), and a probe of each
# page in every call costs a third of the time of small problems; nothing there recurses or sizes a frame by its input.
function(lt_unprobed target)
    set_target_properties(${target} PROPERTIES LT_UNPROBED ON)
endfunction()

function(lt_harden target)
    if(NOT LT_HARDEN OR LT_SANITIZE OR LT_LIBFUZZER)
        return()
    endif()
    set(used "")
    set(unless_fstack_clash_protection $<NOT:$<BOOL:$<TARGET_PROPERTY:LT_UNPROBED>>>)
    foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection)
        string(MAKE_C_IDENTIFIER LT_HAS${flag} has)
        string(MAKE_C_IDENTIFIER unless${flag} unless)
        if(NOT DEFINED ${unless})
            set(${unless} 1)
        endif()
        check_c_compiler_flag(${flag} ${has})
        if(${has})
            target_compile_options(${target} INTERFACE $<$<AND:$<COMPILE_LANGUAGE:C>,${${unless}}>:${flag}>)
            list(APPEND used ${flag})
        endif()
    endforeach()
    if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT LT_COVERAGE)
        # Distributions may define it themselves, at another level.
        target_compile_options(${target} INTERFACE $<$<COMPILE_LANGUAGE:C>:-U_FORTIFY_SOURCE> $<$<COMPILE_LANGUAGE:C>:-D_FORTIFY_SOURCE=3>)
        list(APPEND used _FORTIFY_SOURCE=3)
    endif()
    foreach(flag relro now noexecstack)
        check_linker_flag(C LINKER:-z,${flag} LT_HAS_LINK_${flag})
        if(LT_HAS_LINK_${flag})
            target_link_options(${target} INTERFACE LINKER:-z,${flag})
            list(APPEND used -z,${flag})
        endif()
    endforeach()
    list(JOIN used " " used)
    message(STATUS "hardened: ${used}")
endfunction()
