// key_reader: the values of keys by their ids, the files they name, and faults in the words of
// whoever gave the value. What makes settings from values is written with it.
//
// Thread: the one that makes the settings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "app/config_fault.hpp"
#include "app/config_keys.hpp"
#include "app/config_value.hpp"
#include "app/settings.hpp"

namespace pillion::app {

class key_reader {
 public:
    // `folder` is where relative names of files begin that the configuration file gives.
    key_reader(const config_table& keys, const config_values& values, std::string folder,
               config_faults& faults)
        : keys_(keys), values_(values), folder_(std::move(folder)), faults_(faults) {}

    static constexpr std::size_t index_of(key_id id) { return static_cast<std::size_t>(id); }
    const config_value& of(key_id id) const { return values_[index_of(id)]; }
    bool given(key_id id) const { return of(id).given; }
    std::string_view text(key_id id) const { return of(id).text(); }
    std::int64_t number(key_id id, std::int64_t fallback) const {
        return given(id) ? of(id).number : fallback;
    }
    bool flag(key_id id) const { return number(id, 0) != 0; }
    std::size_t size(key_id id, std::size_t fallback) const {
        return static_cast<std::size_t>(number(id, static_cast<std::int64_t>(fallback)));
    }

    // About the `index`th text of a key, in the words of who gave it.
    void fault(key_id id, std::size_t index, const std::string& text);
    // About a place of the file.
    void fault_at(file_place at, std::string text) {
        if (faults_.size() < config_faults_max) {
            faults_.push_back({at, std::move(text)});
        }
    }
    std::size_t fault_count() const noexcept { return faults_.size(); }
    // A name of a file in the configuration file, as it can be opened.
    std::string path_in_folder(const std::string& path) const {
        return path.starts_with('/') || folder_.empty() ? path : folder_ + "/" + path;
    }
    const std::vector<named_values>& named() const noexcept { return values_.named; }
    const std::string& folder() const noexcept { return folder_; }
    // The `index`th file that a key names. False with a fault; else the file is one to be watched.
    bool read_file(key_id id, std::size_t index, settings& to, std::string& text);
    // A secret: the value, or the text of the file it names, which is one to be watched. False with
    // a fault, which shows the name of the file and nothing of the secret.
    bool read_secret(key_id id, settings& to, std::string& secret);
    // A name of a file that a value gave, as it can be opened.
    std::string path_of(const config_value& value, std::string path) const;
    // … and as faults may call it.
    static std::string shown_file(const config_value& value, const std::string& path);

 protected:
    const config_table& keys_;
    const config_values& values_;
    std::string folder_;
    config_faults& faults_;
};

}  // namespace pillion::app
