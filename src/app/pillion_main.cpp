// pillion: the server that ships. Serves a directory of files as tools and resources.
//
//     pillion [serve] [--root DIR] [--hidden] [--no-ignore] [--port N] …
//     pillion stdio [--root DIR] [--hidden] [--no-ignore]
#include <string>
#include <vector>

#include <pillion/server.hpp>

#include "app/builtins.hpp"
#include "app/file_server.hpp"
#include "app/folders.hpp"
#include "app/meta_resources.hpp"

int main(int argc, char** argv) {
    using namespace pillion;

    std::string root;
    bool hidden = false;
    bool no_ignore = false;

    server s("pillion", version);
    s.title("Pillion")
        .about("Serves a directory of files, read-only.")
        .instructions(
            "Lists, searches and reads the files of one directory. Start with list_files or "
            "search_files, then read_file with a path they returned. Paths are relative to the "
            "directory. While an answer says "
            "\"truncated\", ask for the rest with next_cursor or next_offset. Nothing here "
            "changes anything.");
    s.option("root", "Directory to serve (default: the current one, unless that is / or home)",
             &root);
    s.flag("hidden", "Serve files and directories whose names begin with a dot, too", &hidden);
    s.flag("no-ignore", "List files that .gitignore files leave out, too", &no_ignore);
    // Clients follow a bounded number of pages; a source tree has thousands of files.
    s.page_size(1000);
    app::add_builtins(s);
    app::add_meta_resources(s);
    // Both end before the server does, the watch first.
    std::shared_ptr<app::file_server> served;
    std::unique_ptr<files::watch> watching;
    std::vector<app::served_folder> watched_folders;
    s.on_start([&](server& starting) {
        files::options how;
        how.hidden = hidden;
        how.ignore = !no_ignore;
        result<std::shared_ptr<app::file_server>> added = app::add_file_server(starting, root, how);
        if (added) {
            served = std::move(*added);
            watching = served->tell_changes(starting);
        }
        // Whatever has become of that: all that is wrong is said at once.
        app::add_folders(starting, watched_folders);
        return added ? ok() : result<void>(added.error());
    });
    return s.main(argc, argv);
}
