// file_server: a directory offered as resources ("pillion://files/…") and as the tools list_files,
// read_file and search_files. Everything it reads goes through files::tree on a helper thread.
//
// Ownership: the server keeps it. Thread-safety: all threads of the server share it; what may
// change has a lock.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <pillion/server.hpp>

#include "files/tree.hpp"
#include "files/watch.hpp"

namespace pillion::app {

class file_server final : public resource_provider {
 public:
    explicit file_server(files::tree served) noexcept : tree_(std::move(served)) {}

    bool owns(std::string_view uri) const noexcept override;
    task<result<bool>> list(context& ctx, std::string_view after, resource_page& page) override;
    task<resource_result> read(context& ctx, std::string_view uri) override;
    void subscribed(std::string_view uri, bool on) override;

    // The tools.
    task<tool_result> list_files(context& ctx, json::view arguments) const;
    task<tool_result> read_file(context& ctx, json::view arguments) const;
    task<tool_result> search_files(context& ctx, json::view arguments) const;

    // Completion of the template's variable.
    task<completion_result> complete(context& ctx, std::string_view typed) const;

    // Tells clients of `to` what changes, until the returned watch is destroyed, which must be
    // before the server and this are.
    std::unique_ptr<files::watch> tell_changes(server& to) const;

 private:
    std::vector<std::string> wanted() const;

    files::tree tree_;
    mutable std::mutex mutex_;
    std::unordered_set<std::string> wanted_;  // paths of files that clients want to hear of
};

// The schemas of search_files (file_search.cpp).
schema search_input();
schema search_output();

// Registers a file server for the directory `root`; an empty name means the current directory,
// which is refused when it is "/" or the home directory. Errors name the option that is at fault.
result<std::shared_ptr<file_server>> add_file_server(server& to, const std::string& root,
                                                     files::options how);

}  // namespace pillion::app
