#include "client/lookup.hpp"

#include <netdb.h>
#include <sys/un.h>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>

namespace pillion::client {

namespace {

// Debian and its kin, Fedora, Alpine.
constexpr const char* bundles[] = {"/etc/ssl/certs/ca-certificates.crt",
                                   "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"};

}  // namespace

address_list addresses_of(const url& where, bool numeric) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | (numeric ? AI_NUMERICHOST : 0);
    addrinfo* list = nullptr;
    address_list found;
    if (::getaddrinfo(where.host.c_str(), std::to_string(where.port).c_str(), &hints, &list) != 0) {
        return found;
    }
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(list, &::freeaddrinfo);
    for (const addrinfo* at = list; at != nullptr && found.count < address_list::room;
         at = at->ai_next) {
        if (at->ai_addrlen <= sizeof(sockaddr_storage)) {
            address& one = found.all[found.count++];
            std::memcpy(&one.to, at->ai_addr, at->ai_addrlen);
            one.bytes = at->ai_addrlen;
        }
    }
    return found;
}

address_list address_of_socket(const std::string& path) {
    address_list found;
    sockaddr_un local{};
    if (path.empty() || path.size() >= sizeof local.sun_path) {
        return found;
    }
    local.sun_family = AF_UNIX;
    std::memcpy(local.sun_path, path.data(), path.size());
    std::memcpy(&found.all[0].to, &local, sizeof local);
    found.all[0].bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
    found.count = 1;
    return found;
}

bool read_system_authorities(std::string& to) {
    for (const char* const path : bundles) {
        std::ifstream in(path, std::ios::binary);
        to.assign(std::istreambuf_iterator<char>(in), {});
        if (!in.bad() && !to.empty()) {
            return true;
        }
    }
    return false;
}

std::shared_ptr<const std::string> system_authorities() {
    static const std::shared_ptr<const std::string> all = [] {
        auto text = std::make_shared<std::string>();
        read_system_authorities(*text);
        return text;
    }();
    return all;
}

std::shared_ptr<tls::client_context> context_for(const std::string& host,
                                                 const std::string& authorities) {
    tls::client_options options;
    options.server_name = host;
    options.authorities = authorities;
    options.resume = true;
    std::string fault;
    return tls::client_context::make(options, fault);
}

std::shared_ptr<tls::client_context> context_for_anybody(const std::string& host) {
    tls::client_options options;
    options.server_name = host;
    options.verify = false;
    std::string fault;
    return tls::client_context::make(options, fault);
}

}  // namespace pillion::client
