#include "mcp/error_map.hpp"

#include "rpc/errors.hpp"

namespace pillion::mcp {

std::uint16_t http_status_of(int code, std::uint16_t given, bool corporate) noexcept {
    if (!corporate || given != 200) {
        return given;
    }
    switch (code) {
        case rpc::parse_error:
        case rpc::invalid_request:
        case rpc::invalid_params:
        case rpc::missing_capability:
        case rpc::header_mismatch:
        case rpc::unsupported_version:
            return 400;
        case rpc::method_not_found:
        case rpc::resource_not_found:
            return 404;
        case rpc::internal_error:
        case rpc::server_error:
            return 500;
        case rpc::rate_limited:
            return 429;
        case rpc::timed_out:
            return 504;
        case rpc::too_large:
            return 413;
        case rpc::unavailable:
            return 503;
        case rpc::conflict:
            return 409;
        default:
            return 200;  // a code of the handler's own
    }
}

int wire_code(int code, bool modern_client, bool strict) noexcept {
    return code == rpc::rate_limited && modern_client && strict ? rpc::internal_error : code;
}

}  // namespace pillion::mcp
