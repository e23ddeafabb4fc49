// resource_folder: the files of a directory as resources, below a URI of its own. They are listed,
// read, completed and watched; everything goes through a files::tree, on a helper thread.
//
// Ownership: the server keeps it. Thread-safety: all threads of the server share it; what may
// change has a lock.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <pillion/server.hpp>

#include "files/tree.hpp"
#include "files/watch.hpp"

namespace pillion::files {

// Which files, by their paths below the directory (base/glob): one of `include` or, where that is
// empty, all; but none of `exclude`.
struct path_choice {
    static constexpr std::size_t pattern_bytes_max = 512;

    std::vector<std::string> include;
    std::vector<std::string> exclude;

    bool takes(std::string_view path) const;
};

// What the configuration says of one.
struct resource_folder_spec {
    std::string name;  // of the template
    std::string title;
    std::string description;
    std::string folder;
    std::string uri_prefix;  // ends with a slash; empty: "pillion://NAME/"
    path_choice which;
    options how;
    std::vector<std::string> scopes;
    std::vector<icon> icons;  // of the template
};

class resource_folder : public resource_provider {
 public:
    // URIs of one file that changes are told by, beside the one that is listed: "%40" for "@".
    static constexpr std::size_t other_uris_max = 16;

    // `too_large` is said of files over 1 MiB; it must live for ever.
    resource_folder(tree served, std::string uri_prefix, path_choice which,
                    const char* too_large) noexcept
        : tree_(std::move(served)),
          uri_prefix_(std::move(uri_prefix)),
          which_(std::move(which)),
          too_large_(too_large) {}

    bool owns(std::string_view uri) const noexcept override;
    task<result<bool>> list(context& ctx, std::string_view after, resource_page& page) override;
    task<resource_result> read(context& ctx, std::string_view uri) override;
    void subscribed(std::string_view uri, bool on) override;

    // Completion of the variable `path` of the template.
    task<completion_result> complete(context& ctx, std::string_view typed) const;

    // Tells clients of `to` what changes, until the returned watch is destroyed, which must be
    // before the server and this are. A thread of its own.
    std::unique_ptr<watch> tell_changes(server& to) const;

    std::string uri_of(std::string_view path) const;

 protected:
    const tree& served() const noexcept { return tree_; }

 private:
    std::optional<std::string> path_of(std::string_view uri) const;
    bool add_all(const page& batch, resource_page& to) const;
    std::vector<std::string> wanted() const;
    std::vector<std::string> told_uris(std::string_view path) const;

    struct wish {
        std::size_t uris = 0;             // that somebody subscribed to
        std::vector<std::string> others;  // of those, all but the one of uri_of(); bounded
    };

    tree tree_;
    const std::string uri_prefix_;
    const path_choice which_;
    const char* const too_large_;
    mutable std::mutex mutex_;
    std::unordered_map<std::string, wish> wanted_;  // by the paths of files
};

// Why a directory cannot be served, as far as that is known without looking at it; empty when it
// can. Names the key at fault.
std::string fault_of(const resource_folder_spec& what);

// Registers a template, and what lists and reads. Null with a fault that names the key where the
// directory cannot be opened. REQUIRES: before main().
std::shared_ptr<resource_folder> add_resource_folder(server& to, const resource_folder_spec& what,
                                                     std::string& fault);

}  // namespace pillion::files
