#include "auth/discovery.hpp"

#include "json/document.hpp"

namespace pillion::auth {

std::array<std::string, 2> discovery_urls(std::string_view issuer) {
    if (issuer.ends_with('/')) {
        issuer.remove_suffix(1);
    }
    // OpenID Connect appends, RFC 8414 §3.1 inserts between host and path.
    const std::size_t host = issuer.find("://");
    const std::size_t path =
        host == issuer.npos ? issuer.npos : issuer.find('/', host + std::string_view("://").size());
    const std::string_view base = issuer.substr(0, path);
    const std::string_view rest = path == issuer.npos ? std::string_view() : issuer.substr(path);
    return {std::string(issuer) + "/.well-known/openid-configuration",
            std::string(base) + "/.well-known/oauth-authorization-server" + std::string(rest)};
}

std::optional<std::string> read_discovery(std::string_view text, std::string_view issuer) {
    if (text.size() > discovery_bytes_max) {
        return std::nullopt;
    }
    json::parse_limits shallow;
    shallow.depth_max = 16;
    const auto parsed = json::document::parse(text, nullptr, shallow);
    if (!parsed || !parsed->root().is_object()) {
        return std::nullopt;
    }
    const json::view keys = parsed->root()["jwks_uri"];
    if (parsed->root()["issuer"].str() != issuer || keys.str().empty()) {
        return std::nullopt;
    }
    return std::string(keys.str());
}

}  // namespace pillion::auth
