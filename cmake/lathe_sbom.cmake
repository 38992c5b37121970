# The bill of materials: an SPDX 2.3 document of what this build was made with, written at configure time and installed as
# share/lathe/lathe.spdx.json. Libraries that are linked depend on the machine, so the document does too.
# SPDX-License-Identifier: BSD-3-Clause

# Licences of the libraries a build may use, as they state them.
set(LT_LICENSE_openblas BSD-3-Clause)
set(LT_LICENSE_onednn Apache-2.0)
set(LT_LICENSE_fftw GPL-2.0-or-later)
set(LT_LICENSE_fftwf GPL-2.0-or-later)
set(LT_LICENSE_zlib Zlib)
set(LT_LICENSE_yaml MIT)
set(LT_LICENSE_hdf5 BSD-3-Clause)
set(LT_LICENSE_png libpng-2.0)
set(LT_LICENSE_libsvm BSD-3-Clause)
set(LT_LICENSE_openmpi BSD-3-Clause)
set(LT_LICENSE_mpich mpich2)

# One package of the document. RELATION: how lathe stands to it.
function(lt_sbom_package name version license relation)
    set(package "    { \"SPDXID\": \"SPDXRef-${name}\", \"name\": \"${name}\", \"versionInfo\": \"${version}\", \"downloadLocation\": \"NOASSERTION\", \"filesAnalyzed\": false, \"licenseConcluded\": \"NOASSERTION\", \"licenseDeclared\": \"${license}\", \"copyrightText\": \"NOASSERTION\" }")
    set_property(GLOBAL APPEND PROPERTY LT_SBOM_PACKAGES "${package}")
    if(relation)
        set_property(GLOBAL APPEND PROPERTY LT_SBOM_RELATIONS
            "    { \"spdxElementId\": \"SPDXRef-lathe\", \"relationshipType\": \"${relation}\", \"relatedSpdxElement\": \"SPDXRef-${name}\" }")
    endif()
endfunction()

function(lt_sbom out)
    set_property(GLOBAL PROPERTY LT_SBOM_PACKAGES "")
    set_property(GLOBAL PROPERTY LT_SBOM_RELATIONS "    { \"spdxElementId\": \"SPDXRef-DOCUMENT\", \"relationshipType\": \"DESCRIBES\", \"relatedSpdxElement\": \"SPDXRef-lathe\" }")
    lt_sbom_package(lathe ${PROJECT_VERSION} BSD-3-Clause "")
    get_property(features GLOBAL PROPERTY LT_FEATURES)
    foreach(feature ${features})
        string(REPLACE "|" ";" part "${feature}")
        list(GET part 0 name)
        list(GET part 1 have)
        if(NOT have)
            continue()
        endif()
        string(TOUPPER ${name} upper)
        set(version NOASSERTION)
        if(${upper}_VERSION)
            set(version ${${upper}_VERSION})
        endif()
        set(relation DEPENDS_ON)
        if(name MATCHES "^(openblas|openmpi|mpich)$") # opened at run time, where they are found
            set(relation HAS_OPTIONAL_COMPONENT)
        endif()
        lt_sbom_package(${name} "${version}" ${LT_LICENSE_${name}} ${relation})
    endforeach()
    lt_sbom_package(${CMAKE_C_COMPILER_ID} "${CMAKE_C_COMPILER_VERSION}" NOASSERTION "")
    set_property(GLOBAL APPEND PROPERTY LT_SBOM_RELATIONS
        "    { \"spdxElementId\": \"SPDXRef-${CMAKE_C_COMPILER_ID}\", \"relationshipType\": \"BUILD_TOOL_OF\", \"relatedSpdxElement\": \"SPDXRef-lathe\" }")
    get_property(packages GLOBAL PROPERTY LT_SBOM_PACKAGES)
    get_property(relations GLOBAL PROPERTY LT_SBOM_RELATIONS)
    list(JOIN packages ",\n" packages)
    list(JOIN relations ",\n" relations)
    string(SHA256 digest "${packages}${relations}")
    string(TIMESTAMP now "%Y-%m-%dT%H:%M:%SZ" UTC) # SOURCE_DATE_EPOCH where it is set
    file(CONFIGURE OUTPUT ${out} CONTENT [[{
  "spdxVersion": "SPDX-2.3",
  "dataLicense": "CC0-1.0",
  "SPDXID": "SPDXRef-DOCUMENT",
  "name": "lathe-@PROJECT_VERSION@",
  "documentNamespace": "https://spdx.org/spdxdocs/lathe-@PROJECT_VERSION@-@digest@",
  "creationInfo": { "created": "@now@", "creators": [ "Tool: CMake-@CMAKE_VERSION@" ] },
  "packages": [
@packages@
  ],
  "relationships": [
@relations@
  ]
}
]] @ONLY)
endfunction()

lt_sbom(${PROJECT_BINARY_DIR}/lathe.spdx.json)
install(FILES ${PROJECT_BINARY_DIR}/lathe.spdx.json DESTINATION ${CMAKE_INSTALL_DATADIR}/lathe)
