// tool_names: names of tools and arguments made of the names that others chose.
//
// Thread-safety: plain functions and an ordinary object.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

namespace pillion::sidecar {

// MCP 2026-07-28, server/tools: 1 to 128 of [A-Za-z0-9_.-]. Many models take no more than 64.
inline constexpr std::size_t tool_name_max = 128;
inline constexpr std::size_t tool_name_advised = 64;

// Whether `text` is such a name.
bool is_tool_name(std::string_view text) noexcept;

// `text` with "_" for each run of other characters, none at either end; what is too long ends in a
// number made of all of it. Empty when nothing is left.
std::string fit_name(std::string_view text, std::size_t bytes_max = tool_name_max);

// "get_users_id" of "GET" and "/users/{id}".
std::string name_of_route(std::string_view method, std::string_view path);

// Names that are taken, of one kind.
class name_set {
 public:
    // False when it is taken.
    bool take(const std::string& name) { return taken_.insert(name).second; }
    // The first of `name`, "name_SUFFIX", "name_SUFFIX_2" and so on that is free, and takes it.
    std::string take_like(const std::string& name, std::string_view suffix);

 private:
    std::set<std::string> taken_;
};

}  // namespace pillion::sidecar
