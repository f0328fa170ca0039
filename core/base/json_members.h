#pragma once

// Reads members of a document from a program that may be of another version: a missing member, or
// one of another type, reads as empty, 0 or false. Pure functions; thread-safe.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace hocket {

std::string text_member(const nlohmann::json& object, const char* name);
std::int64_t integer_member(const nlohmann::json& object, const char* name);
double number_member(const nlohmann::json& object, const char* name);
bool flag_member(const nlohmann::json& object, const char* name);
/// Returns the objects in the array; empty if the member is not an array.
std::vector<nlohmann::json> list_member(const nlohmann::json& object, const char* name);

}  // namespace hocket
