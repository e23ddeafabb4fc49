// file_server: a directory offered as resources ("pillion://files/…", files/resource_folder) and as
// the tools list_files, read_file and search_files. Everything it reads goes through files::tree on
// a helper thread.
//
// Ownership: the server keeps it. Thread-safety: all threads of the server share it.
#pragma once

#include <memory>
#include <string>

#include <pillion/server.hpp>

#include "files/resource_folder.hpp"

namespace pillion::app {

class file_server final : public files::resource_folder {
 public:
    explicit file_server(files::tree served) noexcept;

    // The tools.
    task<tool_result> list_files(context& ctx, json::view arguments) const;
    task<tool_result> read_file(context& ctx, json::view arguments) const;
    task<tool_result> search_files(context& ctx, json::view arguments) const;
};

// The schemas of search_files (file_search.cpp).
schema search_input();
schema search_output();

// Registers a file server for the directory `root`; an empty name means the current directory,
// which is refused when it is "/" or the home directory. Errors name the option that is at fault.
result<std::shared_ptr<file_server>> add_file_server(server& to, const std::string& root,
                                                     files::options how);

}  // namespace pillion::app
