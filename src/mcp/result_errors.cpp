#include "mcp/result_errors.hpp"

#include "base/log.hpp"
#include "mcp/engine.hpp"
#include "mcp/replies.hpp"
#include "mcp/result_size.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

base::byte_buffer handler_error(request& r, const detail::result_state& result) {
    if (r.outcome == outcome()) {
        r.outcome = result.code == rpc::rate_limited  ? outcome("rate_limited")
                    : result.code == rpc::unavailable ? outcome("unavailable")
                                                      : outcome("error");
    }
    fault f;
    f.code = result.code;
    f.http_status = result.http_status;
    f.retry_after_s = result.retry_after_s;
    f.message = result.message;
    f.data_json = result.data_json;
    return error_reply(r, f);
}

base::byte_buffer internal_fault(request& r, outcome how) {
    r.outcome = how;
    fault f;
    f.code = rpc::internal_error;
    f.message = "Internal error";
    return error_reply(r, f);
}

base::byte_buffer too_large_reply(request& r) {
    log::warn("mcp.result_too_large",
              {log::kv("method", r.method), log::kv("target", r.target),
               log::kv("request_id", r.request_id), log::kv("memory", r.memory.bytes())});
    r.outcome = "too_large";
    fault f;
    // Not -32005: that one blames the client's own payload.
    f.code = rpc::internal_error;
    f.message = "The result is larger than this server may send";
    f.data_json = R"({"reason":"too_large"})";
    return error_reply(r, f);
}

bool room_for_reply(base::byte_buffer& out, std::size_t most, std::size_t plain) noexcept {
    if (most > counted_bytes) {
        return out.try_reserve(most);
    }
    // Grows where much is escaped.
    out.reserve(plain);
    return true;
}

}  // namespace pillion::mcp
