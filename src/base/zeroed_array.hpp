// zeroed_array: a fixed number of things whose initial value is all zero bytes, in memory that the
// system hands out page by page as it is touched: a large table costs nothing until it is used.
//
// Owns its memory. Thread-safety: as that of the things.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace pillion::base {

template <class T>
class zeroed_array {
    static_assert(std::is_trivially_destructible_v<T>, "nobody ends its elements");

 public:
    // Throws std::bad_alloc.
    explicit zeroed_array(std::size_t size) : data_(static_cast<T*>(std::calloc(size, sizeof(T)))) {
        if (!data_) {
            throw std::bad_alloc();
        }
    }

    // REQUIRES: i < size.
    T& operator[](std::size_t i) const noexcept { return data_.get()[i]; }

 private:
    struct give_back {
        void operator()(T* all) const noexcept { std::free(all); }
    };
    std::unique_ptr<T, give_back> data_;
};

}  // namespace pillion::base
