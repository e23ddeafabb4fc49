// folder_setting: a directory whose files are resources, as the configuration says it. Plain data.
#pragma once

#include <string>
#include <vector>

#include <pillion/content.hpp>

namespace pillion::app {

struct folder_setting {
    std::string name;
    std::string path;
    std::string uri;  // empty: pillion://NAME/
    std::string title;
    std::string description;
    std::vector<std::string> include;
    std::vector<std::string> exclude;
    std::vector<std::string> scopes;
    std::vector<icon> icons;
    bool hidden = false;
};

}  // namespace pillion::app
