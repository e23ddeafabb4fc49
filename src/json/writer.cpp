#include "json/writer.hpp"

#include <algorithm>

#include "json/node.hpp"

namespace pillion::json {

void writer::string_escaped(std::string_view text) noexcept {
    check_utf8(text);
    begin_value();
    out_.append('"');
    for (; !text.empty(); text.remove_prefix(std::min(text.size(), escape_block))) {
        const std::string_view block = text.substr(0, escape_block);
        char* const at = out_.reserve(escaped_size_max(block.size()));
        const char* const end = write_escaped(block.data(), block.data() + block.size(), at);
        out_.commit(static_cast<std::size_t>(end - at));
    }
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
    if (v) {
        any(v.raw());
    } else {
        null();
    }
}

void writer::any(const node* n) noexcept {
    switch (n->type) {
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
    const node* const end = next(n);
    if (n->type == kind::array) {
        begin_array();
        for (const node* at = n + 1; at != end; at = next(at)) {
            any(at);
        }
        end_array();
        return;
    }
    begin_object();
    for (const node* at = n + 1; at != end; at = next(at + 1)) {
        key(at->view_text());
        any(at + 1);
    }
    end_object();
}

}  // namespace pillion::json
