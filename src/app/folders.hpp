// folders: the directories that the configuration offers as resources.
//
// Ownership: whoever keeps them, and lets them go before the server. Thread: the registering one.
#pragma once

#include <memory>
#include <vector>

#include <pillion/server.hpp>

#include "files/resource_folder.hpp"
#include "files/watch.hpp"

namespace pillion::app {

struct served_folder {
    std::shared_ptr<files::resource_folder> it;
    std::unique_ptr<files::watch> watching;  // ends first
};

// Registers all of them. Those that cannot be opened are among the faults of the server's state.
void add_folders(server& to, std::vector<served_folder>& kept);

}  // namespace pillion::app
