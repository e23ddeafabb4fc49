// resource_provider: a family of resources that is too large or too alive to be registered one by
// one (a directory, a database). It lists them page by page and reads them.
//
// Thread-safety: one provider serves all threads of the server at once; its functions must be safe
// to run concurrently.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <pillion/content.hpp>
#include <pillion/context.hpp>
#include <pillion/result.hpp>
#include <pillion/task.hpp>

namespace pillion {

// One entry of resources/list. Views need to live only until add() returns.
struct resource_entry {
    std::string_view uri;
    std::string_view name;
    std::string_view title{};
    std::string_view description{};
    std::string_view mime_type{};
    std::int64_t size = -1;             // bytes; negative: not known
    std::string_view last_modified{};   // ISO 8601; empty: not known
    content_annotations annotations{};  // last_modified above counts over the one in here
    std::span<const icon> icons{};
    std::string_view meta{};  // `_meta`, the JSON text of an object; empty: none

    resource_entry(std::string_view resource_uri, std::string_view resource_name) noexcept
        : uri(resource_uri), name(resource_name) {}
};

// Collects one page.
class resource_page {
 public:
    // Adds an entry; returns false when the page is full (the entry was not added).
    virtual bool add(const resource_entry& entry) = 0;

 protected:
    ~resource_page() = default;
};

class resource_provider {
 public:
    virtual ~resource_provider() = default;

    // Whether `uri` belongs to this provider (by its scheme or prefix; it need not exist).
    virtual bool owns(std::string_view uri) const noexcept = 0;

    // Adds the entries that come after the resource named `after` (empty: from the start) in a
    // stable order until the page is full or the end is reached. `after` may have vanished: the
    // listing goes on where it would have been. Returns whether there are more entries.
    virtual task<result<bool>> list(context& ctx, std::string_view after, resource_page& page) = 0;

    // Reads a resource.
    virtual task<resource_result> read(context& ctx, std::string_view uri) = 0;

    // Somebody wants to hear of changes of `uri` now (`on`), or nobody does any more: the first
    // subscriber of all sessions and listening clients has come, or the last one has gone. For
    // providers that have to look for changes; the others need not care. `uri` is one the provider
    // owns and need not exist. Called on the thread of whoever came or went, one call at a time: it
    // must return soon and must not call the server.
    virtual void subscribed(std::string_view uri, bool on);
};

}  // namespace pillion
