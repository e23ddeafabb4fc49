#include "sidecar/openapi_body.hpp"

#include <algorithm>
#include <set>

#include "base/ascii.hpp"
#include "sidecar/openapi_shape.hpp"
#include "sidecar/report_text.hpp"

namespace pillion::sidecar {

namespace {

constexpr std::size_t media_types_max = 32;
constexpr std::size_t fields_max = 256;

// Without parameters.
std::string_view essence(std::string_view media_type) {
    return base::trim_ows(media_type.substr(0, media_type.find(';')));
}

bool is_media_type(std::string_view text) {
    const std::size_t slash = text.find('/');
    return slash != text.npos && text.size() <= 128 && base::is_token(text.substr(0, slash)) &&
           base::is_token(text.substr(slash + 1));
}

// The less the better; what cannot be sent is `unknown_rank`.
constexpr int unknown_rank = 5;

int rank_of(std::string_view media_type) {
    if (base::equals_ignore_case(media_type, "application/json")) {
        return 0;
    }
    if (media_type == "*/*" || base::equals_ignore_case(media_type, "application/*")) {
        return 1;
    }
    if (is_json_media_type(media_type)) {
        return 2;
    }
    if (base::equals_ignore_case(media_type, "application/x-www-form-urlencoded")) {
        return 3;
    }
    const bool text = base::equals_ignore_case(media_type.substr(0, 5), "text/");
    return text && is_media_type(media_type) && media_type != "text/*" ? 4 : unknown_rank;
}

struct choice {
    std::string_view media_type;
    json::view content;
    int rank = unknown_rank;
};

choice choose(json::view content) {
    choice best;
    std::size_t left = media_types_max;
    for (const json::member m : content.members()) {
        if (left-- == 0) {
            break;
        }
        const int rank = rank_of(essence(m.key));
        if (rank < best.rank) {
            best = {essence(m.key), m.value, rank};
        }
    }
    return best;
}

bool no_media_type(json::view content, std::string& fault) {
    std::string names;
    std::size_t left = 3;
    for (const json::member m : content.members()) {
        if (left-- == 0) {
            names += ", ...";
            break;
        }
        names += (names.empty() ? "" : ", ") + one_line(m.key, 64);
    }
    fault = names.empty() ? "its body has no media type"
                          : "its body can only be " + names + ", which is not sent";
    return false;
}

// Why a field cannot be sent; null when it can.
const char* judge_field(openapi_document& from, import_budget& budget, const form_field& one,
                        json::view encoding) {
    if (!shape_of(from, one.schema, budget).plain()) {
        return "is a list or an object";
    }
    const json::view own = encoding[one.name];
    return own["contentType"].exists() || own["style"].exists() ? "has an encoding of its own"
                                                                : nullptr;
}

bool read_form(openapi_document& from, import_budget& budget, json::view media, openapi_body& to,
               std::string& fault) {
    std::string detail;
    const json::view schema = from.follow(media["schema"], detail);
    const json::view properties = schema["properties"];
    if (!properties.is_object() || schema["allOf"].exists() || schema["anyOf"].exists() ||
        schema["oneOf"].exists()) {
        fault = "its form is not a plain object" + (detail.empty() ? "" : ": " + detail);
        return false;
    }
    if (properties.size() > fields_max || schema["required"].size() > fields_max ||
        media["encoding"].size() > fields_max) {
        fault = "its form has more than 256 fields";
        return false;
    }
    std::set<std::string_view> required;
    for (const json::view name : schema["required"].elements()) {
        required.insert(name.str());
    }
    for (const json::member m : properties.members()) {
        const form_field one{m.key, m.value, required.count(m.key) > 0};
        // The last of two counts; what is read-only no request has.
        if (properties[m.key].raw() != m.value.raw() ||
            from.follow(m.value, detail)["readOnly"].boolean()) {
            continue;
        }
        const char* const why = judge_field(from, budget, one, media["encoding"]);
        if (why == nullptr) {
            to.fields.push_back(one);
            continue;
        }
        const std::string text = "field " + one_line(m.key, 64) + " of its form " + why;
        if (one.required) {
            fault = "required " + text;
            return false;
        }
        to.notes.push_back("left out: " + text);
    }
    return true;
}

}  // namespace

bool is_json_media_type(std::string_view media_type) {
    media_type = essence(media_type);
    constexpr std::string_view suffix = "+json";
    return base::equals_ignore_case(media_type, "application/json") ||
           (is_media_type(media_type) && media_type.size() > suffix.size() &&
            base::equals_ignore_case(media_type.substr(media_type.size() - suffix.size()), suffix));
}

bool read_body(openapi_document& from, import_budget& budget, std::string_view method,
               json::view operation, openapi_body& to, std::string& fault) {
    if (!operation["requestBody"].exists()) {
        return true;
    }
    std::string detail;
    const json::view body = from.follow(operation["requestBody"], detail);
    if (!body.exists()) {
        fault = "its body: " + detail;
        return false;
    }
    // RFC 9110 §9.3.1: there a body means nothing.
    if (method == "GET" || method == "HEAD") {
        to.notes.push_back("left out: a body, which " + std::string(method) + " has not");
        return true;
    }
    const choice best = choose(body["content"]);
    if (best.rank == unknown_rank) {
        return no_media_type(body["content"], fault);
    }
    const json::view media = from.follow(best.content, detail);
    if (!media.exists()) {
        fault = "its body: " + detail;
        return false;
    }
    to.required = body["required"].boolean();
    to.description = body["description"].str();
    to.schema = media["schema"];
    if (best.rank <= 2) {
        to.kind = http_spec::body_kind::one;
        to.content_type = best.rank == 2 ? std::string(best.media_type) : std::string();
        return true;
    }
    if (best.rank == 3) {
        to.kind = http_spec::body_kind::form;
        return read_form(from, budget, media, to, fault);
    }
    to.kind = http_spec::body_kind::text;
    to.content_type = best.media_type;
    return true;
}

}  // namespace pillion::sidecar
