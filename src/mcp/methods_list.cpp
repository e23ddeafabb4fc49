// The four lists and their pages (methods of mcp/engine.hpp).
#include <algorithm>

#include "mcp/access_check.hpp"
#include "mcp/content_writer.hpp"
#include "mcp/cursor.hpp"
#include "mcp/engine.hpp"
#include "mcp/render.hpp"
#include "mcp/result_errors.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

namespace {

fault bad_cursor() {
    fault f;
    f.code = rpc::invalid_params;
    f.message = "Invalid cursor";
    f.data_json = R"({"field":"cursor","reason":"format"})";
    return f;
}

// Reads params.cursor. Returns false when it is there but not one of this list's.
bool read_cursor(request& r, list_kind kind, list_kind also, position& at, bool& given) {
    const json::view cursor = r.params["cursor"];
    given = cursor.exists();
    if (!given) {
        return true;
    }
    if (!cursor.is_string()) {
        return false;
    }
    const auto decoded = decode_cursor(cursor.str(), r.memory);
    if (!decoded || (decoded->kind != kind && decoded->kind != also)) {
        return false;
    }
    at = *decoded;
    return true;
}

// Where a list in registration order goes on behind the entry that a cursor names, or behind the
// place that entry had when it is gone.
template <class List, class NameOf>
std::size_t index_after(const List& list, const position& at, NameOf&& name_of) {
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (name_of(list[i]) == at.after) {
            return i + 1;
        }
    }
    std::size_t i = 0;
    while (i < list.size() && list[i].definition->serial <= at.number) {
        ++i;
    }
    return i;
}

// What stands around the entries of a page, usually.
constexpr std::size_t list_frame_bytes = 512;

// Where a page ends that begins at `from`, and what is the last entry on it.
struct page_end {
    std::size_t next;       // the first entry that it does not hold; the list's size: none is left
    std::size_t last = 0;   // REQUIRES of its use: count > 0
    std::size_t count = 0;  // entries
};

// Writes the entries from `from` on that the caller may use, at most `room` of them. Lists are the
// same for everybody unless something on them is `guarded`: then they stand in one piece.
template <class List>
page_end write_entries(request& r, json::writer& w, const List& list, std::size_t from,
                       std::size_t room, bool guarded) {
    if (!guarded || !r.payer.limited) {
        const std::size_t to = std::min(list.size(), from + room);
        w.fragment(entries_of(list, from, to, r.rev));
        return {to, to - 1, to - from};
    }
    page_end end{from};
    for (; end.next < list.size(); ++end.next) {
        if (!may(r, list[end.next].definition->scopes)) {
            continue;
        }
        if (end.count == room) {
            break;
        }
        w.fragment(end.count == 0 ? "" : ",");
        w.fragment(entries_of(list, end.next, end.next + 1, r.rev));
        end.last = end.next;
        ++end.count;
    }
    return end;
}

// What a registered list is called, and who may see it.
struct list_name {
    list_kind kind;
    shared_pages::list shared;
    std::string_view member;  // of the result: `"tools":`
    bool guarded;             // something on it is
};

// All of a page's answer behind the id: the same for every request of a revision that may use what
// is on it, so that answers can share it.
template <class List>
void write_page(request& r, json::writer& w, const list_name& is, const List& list,
                std::size_t from) {
    open_result(r, w);
    write_caching(r, w, r.registered().cache_ttl_ms(), false);
    write_result_meta(r, w);
    w.key_raw(is.member);
    w.begin_array();
    const page_end end = write_entries(r, w, list, from, r.registered().page_size(), is.guarded);
    w.end_array();
    if (end.next < list.size()) {
        w.key_raw(R"("nextCursor":)");
        w.string(list[end.last].cursor);
    }
    w.fragment("}}");
}

template <class List, class NameOf>
void registered_list(engine& e, request& r, const list_name& is, const List& list,
                     NameOf&& name_of) {
    position at{is.kind, 0, {}};
    bool given = false;
    if (!read_cursor(r, is.kind, is.kind, at, given)) {
        return e.reply_error(r, bad_cursor());
    }
    const bool shares = !given && !(is.guarded && r.payer.limited);
    shared_pages& pages = r.served_from.pages;
    base::byte_buffer out = r.new_message();
    if (base::chunk* const rest = shares ? pages.take(is.shared, r.rev) : nullptr) {
        begin_reply(r, out);
        return e.reply(r, std::move(out), rest);
    }
    const std::size_t from = given ? index_after(list, at, name_of) : 0;
    // Grown at once to what it will be.
    const std::size_t most = std::min(list.size(), from + r.registered().page_size());
    out.reserve(entries_of(list, from, most, r.rev).size() + list_frame_bytes);
    json::writer w = begin_reply(r, out);
    const std::size_t begun = out.size();
    write_page(r, w, is, list, from);
    if (shares) {
        pages.keep(is.shared, r.rev, out.view().substr(begun), r.memory.pool());
    }
    e.reply(r, std::move(out));
}

// Renders the entries that a provider adds.
class page_writer final : public resource_page {
 public:
    page_writer(request& r, json::writer& w, std::size_t room) noexcept
        : request_(r), writer_(w), room_(room) {}

    bool add(const resource_entry& entry) override {
        if (room_ == 0) {
            return false;
        }
        --room_;
        json::writer& w = writer_;
        w.begin_object();
        w.key_raw(R"("uri":)");
        w.string_lossy(entry.uri);
        w.key_raw(R"("name":)");
        w.string_lossy(entry.name);
        if (!entry.title.empty() && has_titles(request_.rev)) {
            w.key_raw(R"("title":)");
            w.string_lossy(entry.title);
        }
        text(R"("description":)", entry.description);
        text(R"("mimeType":)", entry.mime_type);
        if (entry.size >= 0) {
            w.key_raw(R"("size":)");
            w.integer(entry.size);
        }
        annotations(entry);
        extras(entry);
        w.end_object();
        last_ = request_.memory.dup(entry.uri);
        return true;
    }

    std::size_t room() const noexcept { return room_; }
    void set_room(std::size_t entries) noexcept { room_ = entries; }
    std::string_view last() const noexcept { return last_; }
    void forget_last() noexcept { last_ = {}; }

 private:
    void annotations(const resource_entry& entry) {
        content_annotations all = entry.annotations;
        if (!entry.last_modified.empty()) {
            all.last_modified = entry.last_modified;
        }
        if (all.for_user || all.for_assistant || all.priority >= 0 ||
            (!all.last_modified.empty() && has_last_modified(request_.rev))) {
            write_annotations(writer_, all, request_.rev);
        }
    }
    void extras(const resource_entry& entry) {
        if (!entry.icons.empty() && has_icons(request_.rev)) {
            writer_.key_raw(R"("icons":)");
            writer_.raw(render_icons(entry.icons));
        }
        if (entry.meta.empty() || !has_definition_meta(request_.rev)) {
            return;
        }
        // Rendered anew, so that no malformed or multi-line text reaches the wire.
        const json::view meta = request_.parse(entry.meta);
        if (meta.is_object()) {
            writer_.key_raw(R"("_meta":)");
            writer_.value(meta);
        }
    }
    void text(std::string_view key, std::string_view value) {
        if (!value.empty()) {
            writer_.key_raw(key);
            writer_.string_lossy(value);
        }
    }

    request& request_;
    json::writer& writer_;
    std::size_t room_;
    std::string_view last_;
};

}  // namespace

void engine::method_tools_list(request& r) {
    const registry& reg = r.registered();
    registered_list(
        *this, r,
        {list_kind::tools, shared_pages::list::tools, R"("tools":)", reg.guards(guarded::tools)},
        reg.tools(), [](const tool& t) -> std::string_view { return t.definition->name; });
}

void engine::method_prompts_list(request& r) {
    const registry& reg = r.registered();
    registered_list(*this, r,
                    {list_kind::prompts, shared_pages::list::prompts, R"("prompts":)",
                     reg.guards(guarded::prompts)},
                    reg.prompts(),
                    [](const prompt& p) -> std::string_view { return p.definition->name; });
}

void engine::method_templates_list(request& r) {
    const registry& reg = r.registered();
    registered_list(*this, r,
                    {list_kind::templates, shared_pages::list::templates, R"("resourceTemplates":)",
                     reg.guards(guarded::resources)},
                    reg.templates(),
                    [](const resource& t) -> std::string_view { return t.definition->uri; });
}

namespace {

// The registered resources of a page. True when there are more, which come after `next`.
bool registered_resources(request& r, json::writer& w, const position& at, bool given,
                          position& next, page_writer& page) {
    const registry& reg = r.registered();
    const auto& list = reg.resources();
    std::size_t from = 0;
    if (given) {
        from = index_after(list, at,
                           [](const resource& x) { return std::string_view(x.definition->uri); });
    }
    const page_end end =
        write_entries(r, w, list, from, reg.page_size(), reg.guards(guarded::resources));
    if (end.count > 0) {
        next.number = list[end.last].definition->serial;
        next.after = list[end.last].definition->uri;
    }
    page.set_room(reg.page_size() - end.count);
    return end.next < list.size();
}

// Registered resources first, then what the providers have, one behind the other.
task<> list_resources(engine& e, request& r, position at, bool given) {
    const registry& reg = r.registered();
    base::byte_buffer out = r.new_message();
    json::writer w = begin_result(r, out);
    w.key_raw(R"("resources":)");
    w.begin_array();
    page_writer page(r, w, reg.page_size());
    position next(at);
    bool more = false;
    if (at.kind == list_kind::resources) {
        more = registered_resources(r, w, at, given, next, page);
        if (!more) {
            at.kind = list_kind::provided;
            at.number = 0;
            at.after = {};
        }
    }
    const auto& providers = reg.providers();
    while (!more && at.kind == list_kind::provided && at.number < providers.size()) {
        if (!may(r, reg.provider_scopes(at.number))) {
            ++at.number;
            at.after = {};
            continue;
        }
        if (page.room() == 0) {
            // Full at a seam: the next page asks this provider from where it stands.
            more = true;
            next = at;
            break;
        }
        page.forget_last();
        resource_provider& provider = *providers[at.number];
        result<bool> rest = co_await provider.list(r.ctx, at.after, page);
        if (!rest) {
            fault f;
            f.code = rpc::internal_error;
            f.message = "The list could not be read";
            e.reply_error(r, f);
            e.finish(r);
            co_return;
        }
        if (*rest) {
            more = true;
            next.kind = list_kind::provided;
            next.number = at.number;
            next.after = page.last().empty() ? at.after : page.last();
            break;
        }
        ++at.number;
        at.after = {};
    }
    w.end_array();
    if (r.memory.exceeded()) {
        // Entries would stand there without what they were to say.
        e.reply(r, too_large_reply(r));
        e.finish(r);
        co_return;
    }
    if (more) {
        w.key_raw(R"("nextCursor":)");
        w.string(encode_cursor(next, r.memory));
    }
    write_caching(r, w, reg.cache_ttl_ms(), false);
    end_result(r, w);
    e.reply(r, std::move(out));
    e.finish(r);
}

}  // namespace

void engine::method_resources_list(request& r) {
    position at{list_kind::resources, 0, {}};
    bool given = false;
    if (!read_cursor(r, list_kind::resources, list_kind::provided, at, given) ||
        (at.kind == list_kind::provided && at.number >= r.registered().providers().size())) {
        return refuse(r, bad_cursor());
    }
    fault why;
    if (!begin_call(r, why)) {
        return refuse(r, why);
    }
    run(r, list_resources(*this, r, at, given));
}

}  // namespace pillion::mcp
