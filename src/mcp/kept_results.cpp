#include "mcp/kept_results.hpp"

#include <algorithm>
#include <string>

#include "base/number.hpp"
#include "mcp/engine.hpp"
#include "mcp/result_size.hpp"

namespace pillion::mcp {

namespace {

using node = detail::content_node;

constexpr std::string_view results_path = "://results/";
constexpr std::string_view part_query = "?part=";
// … with the place of the part and the URI that it is read by.
constexpr std::size_t part_frame_bytes = answer_frame_bytes + 1024;
constexpr std::size_t part_bytes_min = 1024;

// The server's name as the scheme of a URI (RFC 3986 §3.1; STANDARD row 84).
std::string scheme_of(const registry& of) {
    std::string out;
    for (const char c : of.info().name) {
        const char low = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        const bool letter = low >= 'a' && low <= 'z';
        const bool rest = (low >= '0' && low <= '9') || low == '+' || low == '.' || low == '-';
        if (out.empty() && !letter) {
            out = "x-";
        }
        out += letter || rest ? low : '-';
    }
    return out;
}

kept_piece piece_of(const node& n) {
    kept_piece out;
    out.bytes = n.body;
    out.binary = n.what == node::kind::image || n.what == node::kind::audio ||
                 n.what == node::kind::resource_blob;
    out.mime_type = n.mime_type;
    if (n.what == node::kind::link) {
        // It was small enough to be sent; here it stands in its place.
        out.bytes = n.uri;
        out.mime_type = "text/uri-list";
    } else if (out.mime_type.empty()) {
        out.mime_type = out.binary ? "application/octet-stream" : "text/plain";
    }
    return out;
}

// How much of `rest`, a piece from some place on, goes into `room` bytes of JSON.
fitted fit_piece(const kept_piece& of, std::string_view rest, std::size_t room) noexcept {
    const std::size_t frame = content_frame_bytes + json_size(of.mime_type);
    if (room <= frame) {
        return {};
    }
    fitted out;
    if (of.binary) {
        // Parts that end between two groups of base64 can be joined as text, too.
        out.bytes = std::min(rest.size(), (room - frame) / 4 * 3);
        out.json_bytes = (out.bytes + 2) / 3 * 4;
    } else {
        out = fit_text(rest, room - frame);
    }
    out.json_bytes += frame;
    return out;
}

// Where the pieces from `at` on no longer go into `room` bytes of JSON.
kept_result::place end_of_part(const kept_result& of, kept_result::place at, std::size_t room) {
    while (at.piece < of.pieces.size()) {
        const kept_piece& piece = of.pieces[at.piece];
        const std::string_view rest = std::string_view(piece.bytes).substr(at.offset);
        const fitted fit = fit_piece(piece, rest, room);
        if (fit.json_bytes == 0 || (fit.bytes == 0 && !rest.empty())) {
            break;
        }
        room -= fit.json_bytes;
        if (fit.bytes < rest.size()) {
            at.offset += fit.bytes;
            break;
        }
        ++at.piece;
        at.offset = 0;
    }
    return at;
}

void divide(kept_result& all, std::size_t room) {
    kept_result::place at;
    while (at.piece < all.pieces.size()) {
        all.parts.push_back(at);
        const kept_result::place end = end_of_part(all, at, room);
        if (end.piece == at.piece && end.offset == at.offset) {
            return all.parts.clear();  // something that no answer has room for
        }
        at = end;
    }
}

// "…/id?part=2": the id and which part, from 1 on; 0 when it is none.
std::string_view split(std::string_view uri, std::size_t& part) noexcept {
    uri.remove_prefix(uri.find(results_path) + results_path.size());
    const std::size_t query = uri.find('?');
    part = 1;
    if (query != uri.npos) {
        const std::string_view text = uri.substr(query);
        const auto number = text.starts_with(part_query)
                                ? base::parse_integral(text.substr(part_query.size()))
                                : std::nullopt;
        part = number && *number > 0 ? static_cast<std::size_t>(*number) : 0;
    }
    return uri.substr(0, query);
}

void say_place(detail::request_state& r, resource_result& out, const kept_result& of,
               std::string_view id, std::size_t part) {
    out.meta("pillion/part", std::to_string(part));
    out.meta("pillion/parts", std::to_string(of.parts.size()));
    if (part < of.parts.size()) {
        out.meta("pillion/next", '"' + scheme_of(r.registered()) + std::string(results_path) +
                                     std::string(id) + std::string(part_query) +
                                     std::to_string(part + 1) + '"');
    }
}

}  // namespace

kept_link keep_result(request& r, const detail::result_state& result, std::string_view structured) {
    const service_options& o = r.engine.options();
    result_store& store = r.engine.shared().results();
    if (result.cut || !r.registered().has_resources() || !store.takes(raw_size(result))) {
        return {};
    }
    kept_result all;
    all.owner = r.principal;
    all.session = r.session == nullptr ? std::string() : r.session->id();
    const std::int64_t now_ms = r.engine.loop().unix_ms();
    all.expires_ms = now_ms + o.kept_result_ms;
    for (const node* n = result.first; n != nullptr; n = n->next) {
        all.pieces.push_back(piece_of(*n));
    }
    if (!structured.empty()) {
        kept_piece json;
        json.mime_type = "application/json";
        json.bytes = structured;
        all.pieces.push_back(std::move(json));
    }
    divide(all, std::max(o.result_bytes_max, part_frame_bytes + part_bytes_min) - part_frame_bytes);
    kept_link out;
    out.bytes = all.bytes();
    if (all.parts.empty() || !store.takes(out.bytes)) {
        return {};
    }
    out.mime_type = r.memory.dup(all.pieces.front().mime_type);
    out.parts = all.parts.size();
    const std::string id = store.keep(std::move(all), now_ms);
    out.uri = r.memory.dup(scheme_of(r.registered()) + std::string(results_path) + id);
    return out;
}

bool is_kept_result(const request& r, std::string_view uri) noexcept {
    const std::size_t at = uri.find(results_path);
    return at != uri.npos && uri.substr(0, at) == scheme_of(r.registered());
}

resource_result read_kept_result(request& r) {
    std::size_t part = 0;
    const std::string_view id = split(r.target, part);
    const kept_ref kept = r.engine.shared().results().find(id, r.engine.loop().unix_ms());
    if (kept == nullptr || part == 0 || part > kept->parts.size() || kept->owner != r.principal) {
        return r.ctx.not_found();
    }
    const std::string_view session = r.session == nullptr ? std::string_view() : r.session->id();
    if (kept->owner.empty() && kept->session != session) {
        return r.ctx.not_found();
    }
    resource_result out = r.ctx.contents();
    const kept_result::place end =
        part < kept->parts.size() ? kept->parts[part] : kept_result::place{kept->pieces.size(), 0};
    for (kept_result::place at = kept->parts[part - 1];
         at.piece < end.piece || (at.piece == end.piece && at.offset < end.offset);
         ++at.piece, at.offset = 0) {
        const kept_piece& piece = kept->pieces[at.piece];
        const std::size_t stop = at.piece == end.piece ? end.offset : piece.bytes.size();
        const std::string_view bytes =
            std::string_view(piece.bytes).substr(at.offset, stop - at.offset);
        if (piece.binary) {
            out.blob(r.target, piece.mime_type, bytes);
        } else {
            out.text(r.target, piece.mime_type, bytes);
        }
    }
    out.cache(0);
    say_place(r, out, *kept, id, part);
    return out;
}

}  // namespace pillion::mcp
