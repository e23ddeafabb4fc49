#include "tls_dial.hpp"

#include "file_text.hpp"

namespace pillion::load {

namespace {

// Where distributions keep the bundle of authorities: Debian and its kin, Fedora, Alpine.
constexpr const char* bundles[] = {"/etc/ssl/certs/ca-certificates.crt",
                                   "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"};

bool read(const std::string& path, std::string& to, std::string& fault) {
    fault = "cannot read " + path;  // also what is empty
    to = read_text(path, fault).value_or("");
    return !to.empty();
}

bool read_authorities(const tls_words& words, std::string& to, std::string& fault) {
    if (words.insecure) {
        return true;
    }
    if (!words.authorities.empty()) {
        const bool good = read(words.authorities, to, fault);
        fault = "--cacert: " + fault;
        return good;
    }
    for (const char* const path : bundles) {
        if (read(path, to, fault)) {
            return true;
        }
    }
    fault = "no certificate authorities are installed here: name one with --cacert";
    return false;
}

}  // namespace

std::shared_ptr<tls_dial> tls_dial::make(io::reactor& loop, const tls_words& words,
                                         std::string& fault) {
    std::shared_ptr<tls_dial> made(new tls_dial(loop));
    tls::client_options options;
    options.server_name = words.server_name;
    options.verify = !words.insecure;
    options.resume = words.resume;
    if (!read_authorities(words, options.authorities, fault)) {
        return nullptr;
    }
    tls::certificate_text identity;
    if (!words.certificate.empty()) {
        if (!read(words.certificate, identity.chain, fault) ||
            !read(words.key, identity.key, fault)) {
            fault = "--cert and --key: " + fault;
            return nullptr;
        }
        options.identity = &identity;
    }
    fault.clear();
    made->context_ = tls::client_context::make(options, fault);
    return made->context_ != nullptr ? made : nullptr;
}

}  // namespace pillion::load
