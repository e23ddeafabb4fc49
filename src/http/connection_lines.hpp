// reply_lines: the header lines of a reply that are not the response writer's own: X-Request-Id
// and what the layer above adds. Views only. Thread-safety: an ordinary value.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/assert.hpp"
#include "http/exchange.hpp"
#include "http/response_writer.hpp"

namespace pillion::http {

class reply_lines {
 public:
    // REQUIRES: at most exchange::extra_headers_max of them; the views outlive this.
    reply_lines(std::string_view request_id, const extra_header* extra,
                std::size_t extra_count) noexcept
        : count_(extra_count + 1) {
        PILLION_ASSERT(extra_count <= exchange::extra_headers_max);
        lines_[0] = {request_id_name, request_id};
        for (std::size_t i = 0; i < extra_count; ++i) {
            lines_[i + 1] = {extra[i].name, extra[i].value};
        }
    }

    std::span<const header_line> view() const noexcept { return {lines_, count_}; }

 private:
    header_line lines_[exchange::extra_headers_max + 1];
    std::size_t count_;
};

}  // namespace pillion::http
