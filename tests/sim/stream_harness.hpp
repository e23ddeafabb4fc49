// What stream tests share: a reader that records everything and can be told what to do.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/chunk.hpp"
#include "io/stream.hpp"

namespace pillion::sim {

struct recording_reader final : io::stream_reader {
    std::string bytes;
    int eofs = 0;
    int drained = 0;
    int closed = 0;
    int error = 0;
    std::function<void(std::string_view)> when_data;
    std::function<void()> when_eof;
    std::function<void()> when_drained;
    std::function<void()> when_closed;

    void on_data(char* data, std::size_t n) noexcept override {
        bytes.append(data, n);
        // Lent bytes may be changed, and the padding read.
        volatile char last = data[n + 63];
        static_cast<void>(last);
        data[0] = '#';
        if (when_data) {
            when_data({bytes.data() + bytes.size() - n, n});
        }
    }
    void on_eof() noexcept override {
        ++eofs;
        if (when_eof) {
            when_eof();
        }
    }
    void on_drained() noexcept override {
        ++drained;
        if (when_drained) {
            when_drained();
        }
    }
    void on_closed(int os_errno) noexcept override {
        ++closed;
        error = os_errno;
        if (when_closed) {
            when_closed();
        }
    }
};

// A chunk with these bytes.
inline base::chunk* chunk_of(base::chunk_pool& pool, std::string_view text) {
    base::chunk* c = pool.take(text.size());
    text.copy(c->data(), text.size());
    c->end = static_cast<std::uint32_t>(text.size());
    return c;
}

}  // namespace pillion::sim
