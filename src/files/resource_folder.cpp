#include "files/resource_folder.hpp"

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "base/glob.hpp"
#include "files/media.hpp"
#include "files/path.hpp"

namespace pillion::files {

namespace {

// Files looked up at a time for a page of resources; a page is 50 by default.
constexpr std::size_t resource_batch = 64;
// Values in one answer to completion/complete.
constexpr std::size_t completions_max = 100;

bool like_any(const std::vector<std::string>& patterns, std::string_view path) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [path](const std::string& one) { return base::glob_matches(one, path); });
}

// A scheme (RFC 3986 §3.1), then what needs no escape, then a slash.
bool is_uri_prefix(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == text.npos || colon == 0 || !base::is_alpha(text.front()) || !text.ends_with('/')) {
        return false;
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        constexpr std::string_view in_scheme = "+-.";
        constexpr std::string_view behind = "-._~!$&'()*+,;=:@/";
        if (!base::is_alnum(text[i]) && i != colon &&
            (i < colon ? in_scheme : behind).find(text[i]) == text.npos) {
            return false;
        }
    }
    return true;
}

std::string prefix_of(const resource_folder_spec& what) {
    return what.uri_prefix.empty() ? "pillion://" + what.name + "/" : what.uri_prefix;
}

const char* why_not_opened(errc kind) {
    switch (kind) {
        case errc::not_found:
            return "there is no such directory";
        case errc::denied:
            return "no permission to read the directory";
        case errc::invalid:
            return "this is not a directory";
        default:
            return nullptr;
    }
}

}  // namespace

bool path_choice::takes(std::string_view path) const {
    return (include.empty() || like_any(include, path)) && !like_any(exclude, path);
}

std::string resource_folder::uri_of(std::string_view path) const {
    return uri_prefix_ + encode_path(path);
}

// A path that is not served has none.
std::optional<std::string> resource_folder::path_of(std::string_view uri) const {
    std::optional<std::string> path =
        owns(uri) ? decode_path(uri.substr(uri_prefix_.size())) : std::nullopt;
    return path && !path->empty() && which_.takes(*path) ? path : std::nullopt;
}

bool resource_folder::owns(std::string_view uri) const noexcept {
    return uri.starts_with(uri_prefix_);
}

// Adds the files of a batch; false when the page was full before.
bool resource_folder::add_all(const page& batch, resource_page& to) const {
    for (const entry& one : batch.entries) {
        if (!which_.takes(one.path)) {
            continue;
        }
        const std::string uri = uri_of(one.path);
        const std::string modified = iso8601(one.modified_s);
        resource_entry listed(uri, one.path);
        listed.mime_type = mime_by_name(one.path);
        listed.size = static_cast<std::int64_t>(one.size);
        listed.last_modified = modified;
        if (!to.add(listed)) {
            return false;
        }
    }
    return true;
}

task<result<bool>> resource_folder::list(context& ctx, std::string_view after,
                                         resource_page& page) {
    std::string from;
    if (!after.empty()) {
        std::optional<std::string> path = path_of(after);
        if (!path) {
            co_return error(errc::invalid, "not the name of a file resource");
        }
        from = std::move(*path);
    }
    while (!ctx.stopped()) {
        auto work = [this, &from] { return tree_.walk({}, from, resource_batch, false); };
        const result<files::page> batch = co_await ctx.blocking(work);
        if (!batch) {
            co_return batch.error();
        }
        if (!add_all(*batch, page)) {
            co_return true;
        }
        if (!batch->more) {
            co_return false;
        }
        from = batch->next;
    }
    co_return error(errc::cancelled, "the request was stopped");
}

task<resource_result> resource_folder::read(context& ctx, std::string_view uri) {
    const std::optional<std::string> path = path_of(uri);
    if (!path) {
        co_return ctx.not_found();
    }
    auto work = [this, &path] { return tree_.read(*path, 0, read_bytes_max); };
    const result<slice> got = co_await ctx.blocking(work);
    if (!got) {
        const bool absent =
            got.error().kind == errc::invalid || got.error().kind == errc::unsupported;
        if (absent) {
            co_return ctx.not_found();
        }
        co_return ctx.unreadable(got.error());
    }
    if (got->bytes.size() < got->size_total) {
        const error too_large(errc::too_large, too_large_);
        co_return ctx.unreadable(too_large);
    }
    resource_result answer = ctx.contents();
    const bool text = is_text(got->bytes);
    const std::string_view mime = mime_type(*path, text);
    if (text) {
        answer.text(uri, mime, got->bytes);
    } else {
        answer.blob(uri, mime, got->bytes);
    }
    co_return answer;
}

void resource_folder::subscribed(std::string_view uri, bool on) {
    const std::optional<std::string> path = path_of(uri);
    if (!path) {
        return;
    }
    const bool listed = uri == uri_of(*path);
    const std::lock_guard lock(mutex_);
    wish& all = wanted_[*path];
    if (on) {
        ++all.uris;
        if (!listed && all.others.size() < other_uris_max) {
            all.others.emplace_back(uri);
        }
        return;
    }
    std::erase(all.others, uri);
    if (all.uris-- <= 1) {
        wanted_.erase(*path);
    }
}

std::vector<std::string> resource_folder::wanted() const {
    std::vector<std::string> paths;
    const std::lock_guard lock(mutex_);
    for (const auto& [path, all] : wanted_) {
        paths.push_back(path);
    }
    return paths;
}

// A template expands to more than one URI of a file: {+path} leaves reserved characters as they are
// (RFC 6570 §3.2.3), and clients escape more or less than that.
std::vector<std::string> resource_folder::told_uris(std::string_view path) const {
    std::vector<std::string> uris;
    {
        const std::lock_guard lock(mutex_);
        const auto found = wanted_.find(std::string(path));
        if (found != wanted_.end()) {
            uris = found->second.others;
        }
    }
    uris.push_back(uri_of(path));
    return uris;
}

// Directories are suggested whatever is in them: they are a step on the way.
task<completion_result> resource_folder::complete(context& ctx, std::string_view typed) const {
    auto work = [this, typed] {
        const auto takes = [this](std::string_view path) { return which_.takes(path); };
        const std::string meant = unescape_value(typed);
        result<completed_paths> found = tree_.complete(meant, completions_max, takes);
        // Who types sees the names as they are.
        const bool none = found && found->paths.empty() && !found->more;
        return none && meant != typed ? tree_.complete(typed, completions_max, takes) : found;
    };
    const result<completed_paths> got = co_await ctx.blocking(work);
    completion_result answer = ctx.completion();
    const completed_paths found = got ? *got : completed_paths();
    for (const std::string& one : found.paths) {
        answer.add(escape_value(one));
    }
    const auto count = static_cast<std::int64_t>(found.paths.size());
    answer.total(found.more ? -1 : count, found.more);
    co_return answer;
}

std::unique_ptr<watch> resource_folder::tell_changes(server& to) const {
    watch_sink sink;
    sink.updated = [this, &to](std::string_view path) {
        if (!which_.takes(path)) {
            return;
        }
        for (const std::string& uri : told_uris(path)) {
            to.resource_updated(uri);
        }
    };
    sink.listed = [&to] { to.resources_changed(); };
    sink.wanted = [this] { return wanted(); };
    return std::make_unique<watch>(tree_, std::move(sink));
}

std::string fault_of(const resource_folder_spec& what) {
    if (!is_uri_prefix(prefix_of(what))) {
        return "uri: must be a scheme, a colon and a path that ends with a slash, unescaped: "
               "docs://handbook/";
    }
    if (what.folder.empty()) {
        return "path: must be a directory";
    }
    for (const auto* const list : {&what.which.include, &what.which.exclude}) {
        for (const std::string& one : *list) {
            if (one.empty() || one.size() > path_choice::pattern_bytes_max || one.front() == '/') {
                return list == &what.which.include
                           ? "include: a pattern is like docs/**/*.md, below the folder"
                           : "exclude: a pattern is like docs/**/*.md, below the folder";
            }
        }
    }
    return {};
}

std::shared_ptr<resource_folder> add_resource_folder(server& to, const resource_folder_spec& what,
                                                     std::string& fault) {
    fault = fault_of(what);
    if (!fault.empty()) {
        return nullptr;
    }
    result<tree> opened = tree::open(what.folder, what.how);
    if (!opened) {
        const char* const why = why_not_opened(opened.error().kind);
        fault = std::string("path: ") + (why != nullptr ? why : opened.error().detail);
        return nullptr;
    }
    const std::string prefix = prefix_of(what);
    const auto made = std::make_shared<resource_folder>(std::move(*opened), prefix, what.which,
                                                        "The file is over 1 MiB");
    to.provide(made, what.scopes);
    resource_builder shown = to.resource_template(prefix + "{+path}");
    shown.name(what.name).title(what.title);
    shown.about(what.description.empty() ? "A file by its path, up to 1 MiB." : what.description);
    for (const std::string& scope : what.scopes) {
        shown.scope(scope);
    }
    for (const icon& one : what.icons) {
        shown.add_icon(one);
    }
    shown.complete("path", [made](context& ctx, std::string_view typed, json::view /*known*/) {
        return made->complete(ctx, typed);
    });
    shown.served_by_provider();
    return made;
}

}  // namespace pillion::files
