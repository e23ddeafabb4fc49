#include "app/value_files.hpp"

#include <string_view>
#include <utility>

#include "app/config_reader.hpp"

namespace pillion::app {

bool value_files::read(const config_value& value, std::size_t index, const std::string& name,
                       const std::string& key, std::string& text, std::size_t bytes_max) {
    std::string path = from_.path_in_folder(name);
    std::string why;
    if (!read_whole_file(path, text, why, bytes_max)) {
        // The name may hold what a variable held.
        from_.fault_at(value.places[index], key + ": the file: " + why);
        return false;
    }
    to_.watched.push_back(std::move(path));
    return true;
}

bool value_files::read_secret(const config_value& value, std::size_t index, const std::string& key,
                              std::string& secret) {
    constexpr std::string_view prefix = "file:";
    if (!secret.starts_with(prefix)) {
        return true;
    }
    const std::string name = secret.substr(prefix.size());
    const bool good = read(value, index, name, key, secret);
    while (secret.ends_with('\n') || secret.ends_with('\r')) {
        secret.pop_back();
    }
    return good;
}

}  // namespace pillion::app
