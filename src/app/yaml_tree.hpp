// yaml_tree: a YAML 1.2 text (JSON is one) as a tree in which every key and value knows its place.
//
// The text may be hostile: size, depth and number of values are bounded, counted after aliases are
// followed. Keys are text and stand once in their mapping; tags and further documents are refused.
// The only file that sees yaml-cpp. For start-up and reload. Thread-safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/config_fault.hpp"

namespace pillion::app {

struct yaml_node {
    enum class kind : std::uint8_t { null, scalar, list, map };
    struct member {
        std::string name;
        file_place at;
        std::size_t value = 0;
    };

    kind what = kind::null;
    bool plain = true;  // a scalar without quotes
    file_place at;
    std::string text;                // scalar
    std::vector<std::size_t> items;  // list
    std::vector<member> members;     // map
};

class yaml_tree {
 public:
    static constexpr std::size_t bytes_max = 1024 * 1024;
    static constexpr std::size_t depth_max = 32;
    static constexpr std::size_t nodes_max = 20'000;

    // Reads one document; an empty one is null. True when the tree is whole, although a key may
    // stand twice, which is a fault. False with at least one. Faults never repeat a value. Catches
    // all that yaml-cpp throws.
    bool read(std::string_view text, config_faults& faults);

    const yaml_node& root() const noexcept { return nodes_[root_]; }
    const yaml_node& at(std::size_t index) const noexcept { return nodes_[index]; }

 private:
    friend class yaml_tree_builder;
    std::vector<yaml_node> nodes_{1};
    std::size_t root_ = 0;
};

}  // namespace pillion::app
