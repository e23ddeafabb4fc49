#include "app/key_reader.hpp"

#include <utility>

#include "app/config_reader.hpp"

namespace pillion::app {

namespace {

constexpr std::string_view file_prefix = "file:";

}  // namespace

void key_reader::fault(key_id id, std::size_t index, const std::string& text) {
    const config_value& value = of(id);
    const config_key& key = keys_[index_of(id)];
    const bool in_file = !value.from_flag && value.given;
    const std::string name = in_file                  ? key.path()
                             : value.from_environment ? key.variable
                                                      : key.flag;
    // What the file said at the start stands nowhere in it now.
    const bool placed = in_file && index < value.places.size();
    faults_.push_back({placed ? value.places[index] : file_place(), name + ": " + text});
}

std::string key_reader::path_of(const config_value& value, std::string path) const {
    return !value.from_flag && !path.starts_with('/') && !folder_.empty() ? folder_ + "/" + path
                                                                          : path;
}

std::string key_reader::shown_file(const config_value& value, const std::string& path) {
    return value.hidden ? "the file" : shown_path(path);
}

bool key_reader::read_secret(key_id id, settings& to, std::string& secret) {
    const config_value& value = of(id);
    secret = value.text();
    std::string why;
    if (!value.from_flag && !secret.starts_with(file_prefix)) {
        return true;
    }
    std::string path = path_of(value, secret.substr(value.from_flag ? 0 : file_prefix.size()));
    if (!read_whole_file(path, secret, why)) {
        fault(id, 0, shown_file(value, path) + ": " + why);
        return false;
    }
    if (secret.ends_with('\n')) {
        secret.pop_back();
    }
    to.watched.push_back(std::move(path));
    return true;
}

bool key_reader::read_file(key_id id, std::size_t index, settings& to, std::string& text) {
    const config_value& value = of(id);
    std::string path = path_of(value, value.texts[index]);
    std::string why;
    if (!read_whole_file(path, text, why)) {
        fault(id, index, shown_file(value, path) + ": " + why);
        return false;
    }
    to.watched.push_back(std::move(path));
    return true;
}

}  // namespace pillion::app
