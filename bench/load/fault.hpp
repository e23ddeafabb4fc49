// fault: the classes of what can go wrong with a request or a connection. Errors are counted by
// class; what is in one of them is never a latency sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pillion::load {

enum class fault : std::uint8_t {
    none,
    refused,      // nobody listens
    unreachable,  // a connection could not be made for another reason
    tls,          // a handshake failed, or was no resumption where that is the scenario
    reset,        // the connection broke while an answer was due
    closed,       // the server ended the connection before the answer, or in the middle of it
    timeout,      // no answer in time
    unsent,       // open loop: no connection was free for as long as the timeout
    http_other,   // another status than 200 that is no error
    http_4xx,
    http_5xx,
    malformed,    // not HTTP, not JSON, not JSON-RPC, or bytes that nobody asked for
    too_large,    // an answer above --max-answer
    wrong_id,     // the answer to another question
    rpc_error,    // a JSON-RPC error; its codes are counted as well
    wrong_shape,  // a result, but not one of this method
    tool_error,   // isError
    unexpected,   // without the text of --expect
    incomplete,   // without what the scenario is about: no progress, no task, no question
    count,
};

inline constexpr std::size_t faults = static_cast<std::size_t>(fault::count);

// The name in reports: "http_4xx".
std::string_view name_of(fault what) noexcept;

// What is known of one answer.
struct verdict {
    fault what = fault::none;
    std::int64_t rpc_code = 0;  // of an rpc_error
};

}  // namespace pillion::load
