// kept_results: how a result that was cut is kept whole and read again, under
// <service>://results/<id>, in parts that fit into an answer each (?part=2 …).
//
// Only who got the result may read it: its principal, or its session; in 2026-07-28, where there is
// neither, whoever knows the id. Thread: the request's shard.
#pragma once

#include <cstdint>
#include <string_view>

#include "mcp/request.hpp"
#include "mcp/result_state.hpp"

namespace pillion::mcp {

// Where the whole of a result is. In the request's memory.
struct kept_link {
    std::string_view uri;  // empty: nowhere
    std::string_view mime_type;
    std::size_t bytes = 0;
    std::size_t parts = 0;
};

// Keeps the contents of `result` and, where there is such, its structured content as JSON. Nothing
// is kept that is incomplete, that is larger than the store, or that this server's clients could
// not read because it offers no resources.
kept_link keep_result(request& r, const detail::result_state& result, std::string_view structured);

// Whether a URI is of this kind; and what is behind it, or not_found().
bool is_kept_result(const request& r, std::string_view uri) noexcept;
resource_result read_kept_result(request& r);

}  // namespace pillion::mcp
