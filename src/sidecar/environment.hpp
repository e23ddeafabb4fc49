// environment: the variables of a child: those of ours that it may see, and its own over them.
//
// Thread-safety: getenv(3) as usual: nobody changes our environment.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace pillion::sidecar {

// "NAME=value" of each.
std::vector<std::string> environment_of(
    const std::vector<std::string>& passed,
    const std::vector<std::pair<std::string, std::string>>& own);

}  // namespace pillion::sidecar
