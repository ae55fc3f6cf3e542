# Adaptations to the ROS 2 wheels of PyPI; no effect if ROS 2 is installed in another way. Include this file before
# rosidl_generate_interfaces.

# Only rclpy with Fast DDS, the only middleware with wheels, uses a build by pip. It loads the Python modules, the
# C structures behind them, the C type support of Fast DDS, and that of introspection, by which it describes types to
# others. If setup.py sets this option, the rest (C++, a Python module for each type support) is not generated.
option(SUPEROVOID_PYTHON_ONLY "Generate only what rclpy with Fast DDS loads" OFF)
if(SUPEROVOID_PYTHON_ONLY)
  list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE
    REGEX "^rosidl_[a-z_]*_cpp:")
  macro(rosidl_generator_py_get_typesupports variable)
    set(${variable} "rosidl_typesupport_c")
  endmacro()

  # Headers take most of the compile time, so several sources are compiled as one, in as many parts as there are
  # processor cores.
  function(_compile_together)
    foreach(kind rosidl_typesupport_fastrtps_c rosidl_typesupport_introspection_c rosidl_generator_py rosidl_typesupport_c)
      set(target ${PROJECT_NAME}__${kind})
      get_target_property(sources ${target} SOURCES)
      list(LENGTH sources count)
      cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
      math(EXPR batch "(${count} + ${cores} - 1) / ${cores}")
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
    endforeach()
  endfunction()
  cmake_language(DEFER CALL _compile_together)
endif()

# The wheels export targets that name the Python headers of the machine that built the wheels. CMake refuses an imported
# target with an include folder that does not exist. So after all packages are found, and before anything is generated,
# such folders are removed; this build finds Python and NumPy by itself.
function(_drop_missing_includes)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(includes ${target} INTERFACE_INCLUDE_DIRECTORIES)
    if(NOT includes)
      continue()
    endif()
    set(kept "")
    foreach(include IN LISTS includes)
      # Generator expressions are not paths yet; keep them.
      if(include MATCHES "^\\$<" OR NOT IS_ABSOLUTE "${include}" OR EXISTS "${include}")
        list(APPEND kept "${include}")
      endif()
    endforeach()
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${kept}")
  endforeach()
endfunction()
cmake_language(DEFER CALL _drop_missing_includes)
