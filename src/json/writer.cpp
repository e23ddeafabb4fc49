#include "json/writer.hpp"

#include "json/node.hpp"

namespace pillion::json {

void writer::string_escaped(std::string_view text) noexcept {
    check_utf8(text);
    begin_value();
    out_.append('"');
    append_escaped(out_, text);
    out_.append('"');
}

void writer::string_lossy(std::string_view text) noexcept {
    begin_value();
    out_.append('"');
    base::utf8::split(
        text, [this](std::string_view run) { append_escaped(out_, run); },
        [this] { out_.append(base::utf8::replacement); });
    out_.append('"');
}

void writer::value(view v) noexcept {
    const node* const n = v.raw();
    switch (v.type()) {
        case kind::missing:
        case kind::null:
            return null();
        case kind::boolean:
            return boolean(n->flag);
        case kind::number:
            return put(n->view_text());
        case kind::string:
            return string(n->view_text());
        case kind::array:
        case kind::object:
            return container(n);
    }
}

// Recursion is bounded by the depth limit of the parser.
void writer::container(const node* n) noexcept {
    if (n->type == kind::array) {
        begin_array();
        for (const view element : view(n).elements()) {
            value(element);
        }
        end_array();
        return;
    }
    begin_object();
    for (const member m : view(n).members()) {
        key(m.key);
        value(m.value);
    }
    end_object();
}

}  // namespace pillion::json
