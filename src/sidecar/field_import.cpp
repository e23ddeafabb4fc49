#include "sidecar/field_import.hpp"

#include "sidecar/icon_check.hpp"

namespace pillion::sidecar {

content_annotations import_annotations(json::view from) {
    content_annotations to;
    const json::view audience = from["audience"];
    if (audience.is_array()) {
        for (const json::view one : audience.elements()) {
            to.for_user = to.for_user || one.str() == "user";
            to.for_assistant = to.for_assistant || one.str() == "assistant";
        }
    }
    to.priority = from["priority"].num(-1);
    to.last_modified = from["lastModified"].str();
    return to;
}

namespace {

icon icon_of(json::view from) {
    icon to(std::string(from["src"].str()), std::string(from["mimeType"].str()));
    const json::view sizes = from["sizes"];
    if (sizes.is_array()) {
        for (const json::view one : sizes.elements()) {
            if (is_icon_size(one.str())) {
                to.sizes.emplace_back(one.str());
            }
        }
    }
    to.theme = is_icon_theme(from["theme"].str()) ? from["theme"].str() : "";
    return to;
}

}  // namespace

std::vector<icon> import_icons(json::view from) {
    std::vector<icon> all;
    if (from.is_array()) {
        for (const json::view one : from.elements()) {
            if (is_icon_source(one["src"].str())) {
                all.push_back(icon_of(one));
            }
        }
    }
    return all;
}

bool is_outward_meta(std::string_view key) { return !key.starts_with("io.modelcontextprotocol/"); }

std::string import_meta(json::view from) {
    if (!from.is_object()) {
        return {};
    }
    json::builder b;
    b.begin_object();
    bool any = false;
    for (const json::member one : from.members()) {
        if (is_outward_meta(one.key)) {
            b.member(one.key, one.value);
            any = true;
        }
    }
    b.end_object();
    return any ? std::string(b.text()) : std::string();
}

}  // namespace pillion::sidecar
