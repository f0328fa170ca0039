# Writes OUTPUT, the C++ source with the files FILES of FOLDER and their compressed forms
# (web/assets.h). @VERSION@ in a page becomes the hash of all files. Called when one has changed.

function(bytes_of path result)
  file(READ ${path} hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  set(${result} "${bytes}" PARENT_SCOPE)
endfunction()

function(type_of path result)
  if(path MATCHES "\\.html$")
    set(type "text/html; charset=utf-8")
  elseif(path MATCHES "\\.css$")
    set(type "text/css; charset=utf-8")
  elseif(path MATCHES "\\.js$")
    set(type "text/javascript; charset=utf-8")
  else()
    message(FATAL_ERROR "web/embed.cmake: no content type for ${path}")
  endif()
  set(${result} "${type}" PARENT_SCOPE)
endfunction()

set(hashes "")
foreach(file IN LISTS FILES)
  file(SHA256 ${FOLDER}/${file} hash)
  string(APPEND hashes "${file} ${hash}\n")
endforeach()
string(SHA256 VERSION "${hashes}")
string(SUBSTRING ${VERSION} 0 16 VERSION)

set(work ${OUTPUT}.files)
file(REMOVE_RECURSE ${work})
set(arrays "")
set(table "")
set(number 0)
foreach(file IN LISTS FILES)
  configure_file(${FOLDER}/${file} ${work}/plain COPYONLY)
  if(file MATCHES "\\.html$")
    configure_file(${FOLDER}/${file} ${work}/plain @ONLY)
  endif()
  file(ARCHIVE_CREATE OUTPUT ${work}/packed PATHS ${work}/plain FORMAT raw COMPRESSION GZip
       COMPRESSION_LEVEL 9)
  bytes_of(${work}/plain plain)
  bytes_of(${work}/packed packed)
  # The time of compression, so that equal files give equal programs.
  string(REGEX REPLACE "^(0x1f,0x8b,0x08,0x..,)0x..,0x..,0x..,0x..," "\\10x00,0x00,0x00,0x00,"
         packed "${packed}")
  type_of(${file} type)
  string(APPEND arrays "constexpr unsigned char kPlain${number}[] = {${plain}};\n"
                       "constexpr unsigned char kPacked${number}[] = {${packed}};\n")
  string(APPEND table
         "    {\"${file}\", \"${type}\", text(kPlain${number}), text(kPacked${number})},\n")
  math(EXPR number "${number} + 1")
endforeach()

file(WRITE ${OUTPUT} "#include \"web/assets.h\"

namespace hocket {
namespace {

${arrays}
template <class Bytes>
std::string_view text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes), sizeof bytes};
}

const WebAsset kAssets[] = {
${table}};

}  // namespace

std::span<const WebAsset> web_assets() {
  return kAssets;
}

std::string_view web_version() {
  return \"${VERSION}\";
}

}  // namespace hocket
")
