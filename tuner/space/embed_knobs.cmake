# Sets `result` to a C++ source with the texts of formats/knobs/*.json (tuner/space/knob_texts.h),
# which is written again when one of them has changed.

function(hocket_embed_knobs result)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/knob_texts.cc)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/formats/knobs/*.json)
  list(SORT files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  set(table "")
  foreach(file IN LISTS files)
    file(READ ${file} text)
    get_filename_component(name ${file} NAME)
    string(APPEND table "    {\"${name}\", R\"knobs(${text})knobs\"},\n")
  endforeach()
  string(CONCAT source
         "#include \"tuner/space/knob_texts.h\"\n\nnamespace hocket {\nnamespace {\n\n"
         "constexpr KnobText kKnobTexts[] = {\n${table}};\n\n}  // namespace\n\n"
         "std::span<const KnobText> knob_texts() {\n  return kKnobTexts;\n}\n\n"
         "}  // namespace hocket\n")
  set(old "")
  if(EXISTS ${output})
    file(READ ${output} old)
  endif()
  if(NOT source STREQUAL old)
    file(WRITE ${output} "${source}")
  endif()
  set(${result} ${output} PARENT_SCOPE)
endfunction()
