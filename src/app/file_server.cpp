#include "app/file_server.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "files/media.hpp"
#include "files/path.hpp"

namespace pillion::app {

namespace {

constexpr std::string_view uri_prefix = "pillion://files/";
// Entries in one answer of list_files.
constexpr std::size_t list_entries = 200;
// Bytes in one answer of read_file unless asked for otherwise.
constexpr std::int64_t read_bytes_default = 64 * 1024;
constexpr std::int64_t offset_max = std::numeric_limits<std::int64_t>::max();
// Bytes of the longest UTF-8 sequence.
constexpr std::size_t character_bytes_max = 4;

void write_entry(json::builder& out, const files::entry& one) {
    const bool file = one.kind == files::entry_kind::file;
    out.begin_object().member("path", one.path).member("type", file ? "file" : "directory");
    if (file) {
        out.member("size", one.size);
    }
    const std::string modified = files::iso8601(one.modified_s);
    if (!modified.empty()) {
        out.member("modified", modified);
    }
    out.end_object();
}

tool_result listing(context& ctx, std::string_view path, const files::page& got) {
    json::builder out;
    out.begin_object().member("path", path).key("entries").begin_array();
    for (const files::entry& one : got.entries) {
        write_entry(out, one);
    }
    out.end_array().member("truncated", got.more);
    if (got.more) {
        out.member("next_cursor", files::encode_path(got.next));
    }
    out.end_object();
    tool_result answer = ctx.result();
    // The same JSON goes out as text.
    answer.structured(out.text());
    return answer;
}

// What read_file found: the part that is given out and where it lies.
struct portion {
    std::string_view bytes;
    std::uint64_t offset;
    std::uint64_t size_total;
    bool text;

    std::uint64_t end() const noexcept { return offset + bytes.size(); }
    bool truncated() const noexcept { return end() < size_total; }
};

// Cuts what was read to `length` bytes, text to whole characters.
portion cut(const files::slice& got, std::uint64_t offset, std::size_t length) {
    std::string_view bytes = got.bytes;
    std::size_t lead = 0;
    while (offset > 0 && lead < std::min(bytes.size(), character_bytes_max - 1) &&
           (static_cast<unsigned char>(bytes[lead]) & 0xC0) == 0x80) {
        ++lead;
    }
    const std::string_view whole = bytes.substr(lead);
    const bool at_end = offset + bytes.size() >= got.size_total;
    portion out{bytes.substr(0, length), offset, got.size_total, false};
    if (at_end ? files::is_text(whole) : files::is_text_start(whole)) {
        std::size_t size = files::text_prefix(whole.substr(0, length));
        if (size == 0 && !whole.empty()) {
            // A character longer than `length`: at least one is given, so that reading goes on.
            size = 1;
            while (size < whole.size() && files::text_prefix(whole.substr(0, size)) == 0) {
                ++size;
            }
        }
        out.bytes = whole.substr(0, size);
        out.offset = offset + lead;
        out.text = true;
    }
    return out;
}

std::string remark(const portion& part, std::uint64_t asked) {
    const std::string total = std::to_string(part.size_total) + " bytes";
    if (part.bytes.empty() && part.size_total > 0) {
        return "[offset " + std::to_string(asked) + " is behind the end; the file has " + total +
               "]";
    }
    if (!part.truncated()) {
        return {};
    }
    return "[truncated: bytes " + std::to_string(part.offset) + " to " +
           std::to_string(part.end() - 1) + " of " + total + "; go on with offset " +
           std::to_string(part.end()) + "]";
}

std::string file_facts(std::string_view path, std::string_view mime, const portion& part) {
    json::builder out;
    out.begin_object().member("path", path).member("mime_type", mime);
    out.member("size", part.size_total).member("offset", part.offset);
    out.member("length", part.bytes.size()).member("truncated", part.truncated());
    if (part.truncated()) {
        out.member("next_offset", part.end());
    }
    if (part.text) {
        out.member("text", part.bytes);
    }
    out.end_object();
    return std::string(out.text());
}

tool_result portion_result(context& ctx, std::string_view path, const std::string& uri,
                           const portion& part, std::uint64_t asked) {
    const std::string_view mime = files::mime_type(path, part.text);
    tool_result answer = ctx.result();
    if (part.text) {
        answer.text(part.bytes);
    } else {
        answer.resource_blob(uri, mime, part.bytes);
    }
    const std::string note = remark(part, asked);
    if (!note.empty()) {
        answer.text(note);
    }
    answer.structured(file_facts(path, mime, part));
    return answer;
}

schema list_input() {
    return object()
        .optional("path", string().about("Directory relative to the root, such as \"docs/api\"; "
                                         "left out for the root itself"))
        .optional("recursive",
                  boolean().default_json("false").about("Also list everything below, depth first"))
        .optional("cursor", string().about("next_cursor of the previous answer, to go on there"));
}

schema list_output() {
    const schema one =
        object()
            .required("path", string().about("Relative to the root; pass it to read_file"))
            .required("type", string().one_of({"file", "directory"}))
            .optional("size", integer().min(0).about("Bytes of a file"))
            .optional("modified", string().format("date-time").about("Last change, UTC"));
    return object()
        .required("path", string().about("The directory listed; empty for the root"))
        .required("entries", array(one))
        .required("truncated", boolean().about("There are more entries: go on with next_cursor"))
        .optional("next_cursor", string());
}

schema read_input() {
    return object()
        .required("path", string().min(1).about("File relative to the root"))
        .optional("offset", integer().min(0).default_json("0").about("First byte to read"))
        .optional("length", integer()
                                .min(1)
                                .max(static_cast<double>(files::read_bytes_max))
                                .default_json(std::to_string(read_bytes_default))
                                .about("Most bytes to read"));
}

schema read_output() {
    return object()
        .required("path", string())
        .required("mime_type", string())
        .required("size", integer().min(0).about("Bytes of the whole file"))
        .required("offset", integer().min(0).about("First byte of this part"))
        .required("length", integer().min(0).about("Bytes of this part"))
        .required("truncated", boolean().about("The file goes on: read again at next_offset"))
        .optional("next_offset", integer().min(1))
        .optional("text", string().about("The part, when it is text"));
}

}  // namespace

task<tool_result> file_server::list_files(context& ctx, json::view arguments) const {
    const std::string_view path = arguments["path"].str();
    const bool recursive = arguments["recursive"].boolean();
    std::optional<std::string> after = files::decode_path(arguments["cursor"].str());
    if (!after) {
        co_return ctx.error("cursor is not one that list_files gave out");
    }
    files::page all;
    all.more = true;
    while (all.more && all.entries.size() < list_entries && !ctx.stopped()) {
        const std::size_t room = list_entries - all.entries.size();
        auto work = [this, path, recursive, room, &after] {
            return recursive ? served().walk(path, *after, room, true)
                             : served().list(path, *after, room);
        };
        result<files::page> part = co_await ctx.blocking(work);
        if (!part) {
            co_return ctx.error(part.error());
        }
        all.entries.insert(all.entries.end(), part->entries.begin(), part->entries.end());
        all.more = part->more;
        all.next = part->next;
        after = part->next;
    }
    co_return listing(ctx, path, all);
}

task<tool_result> file_server::read_file(context& ctx, json::view arguments) const {
    const std::string_view path = arguments["path"].str();
    // The schema lets integers through only: one that has no int64_t is behind the end of any file.
    const json::view offset = arguments["offset"];
    const auto first =
        offset.is_number() ? offset.integral().value_or(offset_max) : std::int64_t{0};
    const std::int64_t length = arguments["length"].integral().value_or(read_bytes_default);
    const auto from = static_cast<std::uint64_t>(std::max<std::int64_t>(first, 0));
    const auto size = static_cast<std::size_t>(
        std::clamp<std::int64_t>(length, 1, static_cast<std::int64_t>(files::read_bytes_max)));
    // A little more, so that a character at the end can be told from bytes that are no text.
    auto work = [this, path, from, size] {
        return served().read(path, from, size + 2 * character_bytes_max);
    };
    const result<files::slice> got = co_await ctx.blocking(work);
    if (!got) {
        co_return ctx.error(got.error());
    }
    co_return portion_result(ctx, path, uri_of(path), cut(*got, from, size), from);
}

file_server::file_server(files::tree served) noexcept
    : resource_folder(std::move(served), std::string(uri_prefix), {},
                      "The file is over 1 MiB: read it in parts with the tool read_file") {}

result<std::shared_ptr<file_server>> add_file_server(server& to, const std::string& root,
                                                     files::options how) {
    result<files::tree> opened = files::tree::open(root.empty() ? "." : root, how);
    if (!opened) {
        switch (opened.error().kind) {
            case errc::not_found:
                return error(errc::invalid, "--root: there is no such directory");
            case errc::denied:
                return error(errc::denied, "--root: no permission to read the directory");
            case errc::invalid:
                return error(errc::invalid, "--root: this is not a directory");
            default:
                return opened.error();
        }
    }
    if (root.empty()) {
        const result<void> modest = opened->check_default_root();
        if (!modest) {
            return modest.error();
        }
    }
    const auto served = std::make_shared<file_server>(std::move(*opened));
    to.provide(served);
    to.resource_template(std::string(uri_prefix) + "{+path}")
        .name("file")
        .title("File")
        .about("A file of the served directory by its path, up to 1 MiB.")
        .complete("path", [served](context& ctx, std::string_view typed,
                                   json::view /*known*/) { return served->complete(ctx, typed); })
        .served_by_provider();
    to.tool("list_files")
        .title("List files")
        .about(
            "Lists a directory of the served tree: names, types, sizes and dates. What .gitignore "
            "files leave out is not listed. At most 200 entries an answer; \"truncated\" tells "
            "that there are more. Read-only.")
        .input(list_input())
        .output(list_output())
        .read_only()
        .run([served](context& ctx, json::view arguments) {
            return served->list_files(ctx, arguments);
        });
    to.tool("read_file")
        .title("Read a file")
        .about(
            "Reads a file of the served tree, or a range of bytes of it (64 KiB unless \"length\" "
            "says otherwise, 1 MiB at most). Text is cut between characters, other contents "
            "come as an embedded binary resource. \"truncated\" tells that the file goes on at "
            "\"next_offset\". Read-only.")
        .input(read_input())
        .output(read_output())
        .read_only()
        .run([served](context& ctx, json::view arguments) {
            return served->read_file(ctx, arguments);
        });
    to.tool("search_files")
        .title("Search in files")
        .about(
            "Finds lines that contain a text or match a regular expression (RE2) in the text files "
            "of the served tree. Binary files, files over 64 MiB and what .gitignore files leave "
            "out are not searched. \"truncated\" tells that there may be more matches. Read-only.")
        .input(search_input())
        .output(search_output())
        .read_only()
        .run([served](context& ctx, json::view arguments) {
            return served->search_files(ctx, arguments);
        });
    return served;
}

}  // namespace pillion::app
