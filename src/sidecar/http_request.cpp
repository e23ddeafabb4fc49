#include "sidecar/http_request.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "sidecar/rpc_peer.hpp"

namespace pillion::sidecar {

namespace {

using body_kind = http_spec::body_kind;

// RFC 9110 §5.6.2.
bool is_token(std::string_view text) {
    constexpr std::string_view more = "!#$%&'*+-.^_`|~";
    return !text.empty() && std::all_of(text.begin(), text.end(), [&more](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               more.find(c) != more.npos;
    });
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
    return out;
}

// Fields that frame the message, or that are ours to say.
bool is_ours(std::string_view name) {
    constexpr std::string_view ours[] = {
        "host",    "content-length", "transfer-encoding", "connection", "upgrade", "te",
        "trailer", "expect",         "keep-alive",        "user-agent"};
    return std::find(std::begin(ours), std::end(ours), lower(name)) != std::end(ours);
}

void note_places(const text_template& from, std::vector<std::string>& to) {
    for (const template_part& part : from.parts()) {
        if (part.argument) {
            to.push_back(part.text);
        }
    }
}

bool add_as_it_is(std::string_view value, std::string& to) {
    to += value;
    return true;
}

}  // namespace

bool is_settable_field(std::string_view name) { return is_token(name) && !is_ours(name); }

void set_field(client::question& to, std::string_view name, std::string value) {
    if (base::equals_ignore_case(name, "accept")) {
        to.accept = std::move(value);
    } else if (base::equals_ignore_case(name, "authorization")) {
        to.authorization = std::move(value);
    } else if (base::equals_ignore_case(name, "content-type")) {
        to.content_type = std::move(value);
    } else {
        std::erase_if(to.headers, [name](const auto& one) {
            return base::equals_ignore_case(one.first, name);
        });
        to.headers.emplace_back(name, std::move(value));
    }
}

bool has_field(const client::question& in, std::string_view name) noexcept {
    return std::any_of(in.headers.begin(), in.headers.end(), [name](const auto& one) {
        return base::equals_ignore_case(one.first, name);
    });
}

bool http_request::parse(const http_spec& what, std::string_view base, http_request& to,
                         std::string& fault) {
    if (!url_target::parse(base, what.path, what.query, to.target_, fault)) {
        return false;
    }
    std::vector<std::string> texts = {what.path};
    for (const name_and_text& one : what.query) {
        texts.push_back(one.second);
    }
    for (const name_and_text& one : what.headers) {
        text_template value;
        std::string ignored;
        if (!is_settable_field(one.first)) {
            fault = "headers: " + one.first + " cannot be set";
            return false;
        }
        if (!text_template::parse(one.second, value, fault) ||
            !add_field_text(one.second, ignored)) {
            fault = "headers." + one.first + ": " + (fault.empty() ? "is no field value" : fault);
            return false;
        }
        to.headers_.emplace_back(one.first, std::move(value));
        texts.push_back(one.second);
    }
    const bool named = what.sends == body_kind::one || what.sends == body_kind::text;
    if (named && what.body.empty()) {
        fault = "body: is missing";
        return false;
    }
    if (what.sends == body_kind::text) {
        if (!text_template::parse(what.body, to.body_, fault)) {
            fault = "body: " + fault;
            return false;
        }
        texts.push_back(what.body);
    }
    for (const std::string& text : texts) {
        text_template one;
        std::string ignored;
        if (text_template::parse(text, one, ignored)) {
            note_places(one, to.placed_);
        }
    }
    std::string ignored;
    if (!add_field_text(what.content_type, ignored)) {
        fault = "content_type: is no field value";
        return false;
    }
    to.spec_ = what;
    return true;
}

bool http_request::idempotent() const noexcept {
    return spec_.method != "POST" && spec_.method != "PATCH";
}

bool http_request::harmless() const noexcept {
    return spec_.method == "GET" || spec_.method == "HEAD" || spec_.method == "OPTIONS";
}

bool http_request::has_place(std::string_view name) const noexcept {
    return std::find(placed_.begin(), placed_.end(), name) != placed_.end();
}

bool http_request::render(json::view arguments, client::question& to, std::string& fault) const {
    to.method = spec_.method;
    return target_.render(arguments, to.to.target, fault) && render_headers(arguments, to, fault) &&
           render_body(arguments, to, fault);
}

bool http_request::render_headers(json::view arguments, client::question& to,
                                  std::string& fault) const {
    for (const auto& [name, value] : headers_) {
        const std::string_view alone = value.only_argument();
        const json::view given = alone.empty() ? json::view() : arguments[alone];
        if (!alone.empty() && (!given.exists() || given.is_null())) {
            continue;
        }
        std::string text;
        if (!sidecar::render(value, arguments, &add_field_text, text, fault)) {
            return false;
        }
        set_field(to, name, std::move(text));
    }
    return true;
}

bool http_request::render_body(json::view arguments, client::question& to,
                               std::string& fault) const {
    const std::string& type = spec_.content_type.empty() ? to.content_type : spec_.content_type;
    switch (spec_.sends) {
        case body_kind::none:
            return true;
        case body_kind::one: {
            const json::view value = arguments[spec_.body];
            if (value.exists()) {
                to.body = json_text(value);
                to.content_type = type.empty() ? "application/json" : type;
            }
            return true;
        }
        case body_kind::text:
            to.content_type = type.empty() ? "text/plain; charset=utf-8" : type;
            return sidecar::render(body_, arguments, &add_as_it_is, to.body, fault);
        case body_kind::rest: {
            json::builder b;
            b.begin_object();
            if (arguments.is_object()) {
                for (const json::member one : arguments.members()) {
                    if (!has_place(one.key)) {
                        b.key(one.key).value(one.value);
                    }
                }
            }
            b.end_object();
            to.body = b.text();
            to.content_type = type.empty() ? "application/json" : type;
            return true;
        }
        case body_kind::form:
            break;
    }
    to.content_type = "application/x-www-form-urlencoded";
    for (const json::member one :
         arguments.is_object() ? arguments.members() : json::member_range(nullptr, nullptr)) {
        bool good = false;
        const std::string_view text = plain_text(one.value, good);
        if (has_place(one.key) || one.value.is_null()) {
            continue;
        }
        if (!good) {
            fault =
                "The argument " + std::string(one.key) + " must be a text, a number or a boolean";
            return false;
        }
        to.body += to.body.empty() ? "" : "&";
        append_encoded(one.key, to.body);
        to.body += '=';
        append_encoded(text, to.body);
    }
    return true;
}

}  // namespace pillion::sidecar
