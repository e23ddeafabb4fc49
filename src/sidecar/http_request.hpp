// http_request: the request of a tool, from its specification and the arguments of a call.
//
// Thread-safety: immutable once parsed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <pillion/json.hpp>

#include "client/agent.hpp"
#include "sidecar/http_spec.hpp"
#include "sidecar/text_template.hpp"
#include "sidecar/url_target.hpp"

namespace pillion::sidecar {

// Whether the operator may set that field: not those that frame a message or are ours to say.
bool is_settable_field(std::string_view name);

// Says it in a request, in place of what was said of that name before.
void set_field(client::question& to, std::string_view name, std::string value);
bool has_field(const client::question& in, std::string_view name) noexcept;

class http_request {
 public:
    // `base` stands before the path. False with a fault in words.
    static bool parse(const http_spec& what, std::string_view base, http_request& to,
                      std::string& fault);

    // Fills in method, target, fields and body. False with a fault in words that names an argument.
    bool render(json::view arguments, client::question& to, std::string& fault) const;

    // A request that may be repeated without harm (RFC 9110 §9.2.2).
    bool idempotent() const noexcept;
    // … and one that changes nothing (§9.2.1).
    bool harmless() const noexcept;

 private:
    bool render_headers(json::view arguments, client::question& to, std::string& fault) const;
    bool render_body(json::view arguments, client::question& to, std::string& fault) const;
    bool has_place(std::string_view name) const noexcept;

    http_spec spec_;
    url_target target_;
    std::vector<std::pair<std::string, text_template>> headers_;
    text_template body_;
    std::vector<std::string> placed_;  // arguments that stand somewhere
};

}  // namespace pillion::sidecar
