# For builds against the ROS 2 wheels of PyPI; changes nothing where ROS 2 is installed otherwise. To be included before
# rosidl_generate_interfaces.

# What pip installs is used from Python, which needs the C side of an interface only. The C++ side takes nearly half of
# the compile time and is left out where setup.py says so.
option(SUPEROVOID_PYTHON_ONLY "Generate no C++ interfaces" OFF)
if(SUPEROVOID_PYTHON_ONLY)
  list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX "^rosidl_[a-z_]*_cpp:")
endif()

# The wheels export targets that name the Python headers of the machine that built the wheels. CMake refuses an imported
# target with an include folder that does not exist, so once everything is found and before anything is generated, such
# folders are taken off; Python and NumPy are found again by this build itself.
function(_drop_missing_includes)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(includes ${target} INTERFACE_INCLUDE_DIRECTORIES)
    if(NOT includes)
      continue()
    endif()
    set(kept "")
    foreach(include IN LISTS includes)
      # A generator expression is no path yet and passes.
      if(include MATCHES "^\\$<" OR NOT IS_ABSOLUTE "${include}" OR EXISTS "${include}")
        list(APPEND kept "${include}")
      endif()
    endforeach()
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${kept}")
  endforeach()
endfunction()
cmake_language(DEFER CALL _drop_missing_includes)
