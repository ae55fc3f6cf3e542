# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

# find_package(superovoid) defines the target superovoid::superovoid. All paths are relative to this file.

get_filename_component(_superovoid_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT EXISTS "${_superovoid_prefix}/lib/libsuperovoid.so")
  set(superovoid_FOUND FALSE)
  set(superovoid_NOT_FOUND_MESSAGE "${_superovoid_prefix}/lib/libsuperovoid.so is missing")
elseif(NOT TARGET superovoid::superovoid)
  add_library(superovoid::superovoid SHARED IMPORTED)
  set_target_properties(superovoid::superovoid PROPERTIES
    IMPORTED_LOCATION "${_superovoid_prefix}/lib/libsuperovoid.so"
    IMPORTED_SONAME "libsuperovoid.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_superovoid_prefix}/include")
endif()

unset(_superovoid_prefix)
