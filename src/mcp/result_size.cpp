#include "mcp/result_size.hpp"

#include "base/base64.hpp"
#include "base/utf8.hpp"

namespace pillion::mcp {

namespace {

using node = detail::content_node;

bool is_binary(const node& n) noexcept {
    return n.what == node::kind::image || n.what == node::kind::audio ||
           n.what == node::kind::resource_blob;
}

// As json/escape writes it; bytes of broken UTF-8 become U+FFFD, at most one each.
std::size_t cost_of(unsigned char c, std::size_t of_high) noexcept {
    if (c >= 0x80) {
        return of_high;
    }
    if (c < 0x20) {
        return c == '\n' || c == '\t' || c == '\r' || c == '\b' || c == '\f' ? 2 : 6;
    }
    return c == '"' || c == '\\' ? 2 : 1;
}

bool continues(char c) noexcept { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80; }

}  // namespace

std::size_t whole_characters(std::string_view text, std::size_t bytes_max) noexcept {
    if (text.size() <= bytes_max) {
        return text.size();
    }
    std::size_t end = bytes_max;
    for (int back = 0; back < 3 && end > 0 && continues(text[end]); ++back) {
        --end;
    }
    return end;
}

fitted fit_text(std::string_view text, std::size_t json_bytes_max) noexcept {
    const std::size_t of_high = base::utf8::validate(text) ? 1 : base::utf8::replacement.size();
    fitted out;
    while (out.bytes < text.size()) {
        const std::size_t cost = cost_of(static_cast<unsigned char>(text[out.bytes]), of_high);
        if (out.json_bytes + cost > json_bytes_max) {
            break;
        }
        out.json_bytes += cost;
        ++out.bytes;
    }
    for (const std::size_t whole = whole_characters(text, out.bytes); out.bytes > whole;) {
        out.json_bytes -= cost_of(static_cast<unsigned char>(text[--out.bytes]), of_high);
    }
    return out;
}

std::size_t json_size(std::string_view text) noexcept {
    return fit_text(text, SIZE_MAX).json_bytes;
}

std::size_t extras_size(const node& n) noexcept {
    if (n.extras == nullptr) {
        return 0;
    }
    constexpr std::size_t names = std::string_view(R"(,"_meta":,"_meta":,"icons":)").size();
    return names + n.extras->meta.size() + n.extras->resource_meta.size() + n.extras->icons.size();
}

std::size_t json_size(const node& n) noexcept {
    const std::size_t body =
        is_binary(n) ? base::base64::encoded_size(n.body.size()) : json_size(n.body);
    return content_frame_bytes + body + json_size(n.uri) + json_size(n.name) +
           json_size(n.mime_type) + json_size(n.description) + json_size(n.title) +
           json_size(n.annotations.last_modified) + extras_size(n);
}

std::size_t raw_size(const detail::result_state& result) noexcept {
    std::size_t sum = result.structured.size() + result.description.size();
    for (const node* n = result.first; n != nullptr; n = n->next) {
        sum += content_frame_bytes + n->body.size() + n->uri.size() + n->name.size() +
               n->mime_type.size() + n->description.size() + n->title.size() + extras_size(*n);
    }
    for (const detail::meta_node* m = result.meta; m != nullptr; m = m->next) {
        sum += m->key.size() + m->json.size();
    }
    return sum;
}

std::size_t json_size(const detail::result_state& result) noexcept {
    std::size_t sum = answer_frame_bytes + json_size(result.description);
    for (const node* n = result.first; n != nullptr; n = n->next) {
        sum += json_size(*n);
    }
    for (const detail::meta_node* m = result.meta; m != nullptr; m = m->next) {
        sum += json_size(m->key) + m->json.size() + 4;
    }
    return sum;
}

}  // namespace pillion::mcp
