#include "sidecar/openapi_servers.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace pillion::sidecar {

namespace {

constexpr std::size_t url_bytes_max = 2048;
constexpr std::size_t variables_max = 256;

}  // namespace

std::string first_server(json::view servers) {
    const json::view first = servers[std::size_t{0}];
    const std::string_view url = first["url"].str();
    const json::view variables = first["variables"];
    if (url.size() > url_bytes_max || variables.size() > variables_max) {
        return {};
    }
    std::string out;
    for (std::size_t i = 0; i < url.size(); ++i) {
        if (url[i] != '{') {
            out += url[i];
            continue;
        }
        const std::size_t end = url.find('}', i);
        if (end == url.npos) {
            return {};
        }
        const json::view value = variables[url.substr(i + 1, end - i - 1)]["default"];
        if (!value.is_string() ||
            value.str().size() > url_bytes_max - std::min(out.size(), url_bytes_max)) {
            return {};
        }
        out += value.str();
        i = end;
    }
    const bool plain = std::all_of(out.begin(), out.end(), [](char c) {
        return static_cast<unsigned char>(c) > 0x20 && c != 0x7F;
    });
    while (!out.empty() && out.back() == '/') {
        out.pop_back();
    }
    return plain ? out : std::string();
}

}  // namespace pillion::sidecar
