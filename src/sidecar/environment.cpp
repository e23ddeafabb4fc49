#include "sidecar/environment.hpp"

#include <cstdlib>

namespace pillion::sidecar {

std::vector<std::string> environment_of(
    const std::vector<std::string>& passed,
    const std::vector<std::pair<std::string, std::string>>& own) {
    std::vector<std::string> all;
    for (const std::string& name : passed) {
        const char* const value = std::getenv(name.c_str());
        if (value != nullptr) {
            all.push_back(name + "=" + value);
        }
    }
    for (const auto& [name, value] : own) {
        const std::string begin = name + "=";
        std::erase_if(all, [&begin](const std::string& one) { return one.starts_with(begin); });
        all.push_back(begin + value);
    }
    return all;
}

}  // namespace pillion::sidecar
