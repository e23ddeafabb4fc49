// values_of: the values of one mapping of the configuration by the keys of its table.
//
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/config_value.hpp"

namespace pillion::app {

template <class Key>
class values_of {
 public:
    // `all` must outlive it.
    explicit values_of(const std::vector<config_value>& all) : all_(all) {}

    const config_value& operator[](Key key) const { return all_[static_cast<std::size_t>(key)]; }
    std::string text(Key key) const { return std::string((*this)[key].text()); }
    std::string text(Key key, const char* otherwise) const {
        return (*this)[key].given ? text(key) : otherwise;
    }
    template <class Number>
    void number(Key key, Number& to) const {
        if ((*this)[key].given) {
            to = static_cast<Number>((*this)[key].number);
        }
    }
    std::optional<bool> hint(Key key) const {
        return (*this)[key].given ? std::optional((*this)[key].number != 0) : std::nullopt;
    }
    std::vector<std::pair<std::string, std::string>> map(Key key) const {
        const config_value& value = (*this)[key];
        std::vector<std::pair<std::string, std::string>> to;
        for (std::size_t i = 0; i < value.texts.size(); ++i) {
            to.emplace_back(value.names[i], value.texts[i]);
        }
        return to;
    }

 private:
    const std::vector<config_value>& all_;
};

// Two readings of the same text, and of the same files and variables, have the same.
std::uint64_t fingerprint_of(const std::vector<config_value>& values, std::uint64_t seed);
// That of `text` behind what has the fingerprint `seed`.
std::uint64_t fingerprint_of(std::string_view text, std::uint64_t seed);

}  // namespace pillion::app
