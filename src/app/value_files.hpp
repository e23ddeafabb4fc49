// value_files: reads the files that values of a mapping name: authorities, descriptions, secrets
// ("file:PATH"). What was read is watched for changes.
//
// Thread: the one that makes the settings.
#pragma once

#include <cstddef>
#include <string>

#include "app/config_value.hpp"
#include "app/key_reader.hpp"
#include "app/yaml_tree.hpp"

namespace pillion::app {

class value_files {
 public:
    // Both must outlive it.
    value_files(key_reader& from, settings& to) noexcept : from_(from), to_(to) {}

    // The file `name`, which the value's text `index` gave; `key` is said of it. False with a
    // fault.
    bool read(const config_value& value, std::size_t index, const std::string& name,
              const std::string& key, std::string& text,
              std::size_t bytes_max = yaml_tree::bytes_max);
    // Replaces "file:PATH" by what is there, without the ends of its last line.
    bool read_secret(const config_value& value, std::size_t index, const std::string& key,
                     std::string& secret);

 private:
    key_reader& from_;
    settings& to_;
};

}  // namespace pillion::app
