// The input of a fuzz target as a script: an opcode byte, then its operands. Behind its end there
// are zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pillion::fuzz {

class script {
 public:
    script(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}
    bool done() const { return at_ == end_; }
    std::uint8_t next() { return done() ? std::uint8_t{0} : *at_++; }
    // At most as many as there are.
    std::string_view bytes(std::size_t count) {
        const auto left = static_cast<std::size_t>(end_ - at_);
        count = count < left ? count : left;
        const std::string_view view(reinterpret_cast<const char*>(at_), count);
        at_ += count;
        return view;
    }

 private:
    const std::uint8_t* at_;
    const std::uint8_t* end_;
};

}  // namespace pillion::fuzz
