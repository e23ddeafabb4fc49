// tls_dial: how https is spoken: whom the client trusts, what it shows of itself, and what its TLS
// streams on one loop share.
//
// Outlives the links of its loop, and goes before the loop. Thread: the loop's.
#pragma once

#include <memory>
#include <string>

#include "io/reactor.hpp"
#include "tls/context.hpp"
#include "tls/loop_share.hpp"

namespace pillion::load {

struct tls_words {
    std::string authorities;  // file; empty: the system's
    bool insecure = false;    // any certificate will do
    std::string certificate;  // file, of the client; empty: none
    std::string key;
    std::string server_name;  // that the certificate must have
    bool resume = false;      // offer the session of the last connection
};

class tls_dial {
 public:
    // Reads the files. Null, with `fault` set, when one is no good.
    static std::shared_ptr<tls_dial> make(io::reactor& loop, const tls_words& words,
                                          std::string& fault);

    tls::loop_share& share() noexcept { return share_; }
    const std::shared_ptr<tls::client_context>& context() const noexcept { return context_; }

 private:
    explicit tls_dial(io::reactor& loop) : share_(loop) {}

    tls::loop_share share_;
    std::shared_ptr<tls::client_context> context_;
};

}  // namespace pillion::load
