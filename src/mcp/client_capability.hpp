// client_capability: what a client must declare before it can be asked something, and the error
// that says it did not. The error names its capability by its text, so it may be copied and passed
// on by handlers; whoever turns it into a reply finds the capability again (REVISIONS §7, §9.1).
//
// Thread-safety: constants.
#pragma once

#include <string_view>

#include <pillion/result.hpp>

namespace pillion::mcp {

struct client_capability {
    std::string_view name;  // dots descend, as in context::client_can()
    const char* missing;    // the text of the error

    error refusal() const noexcept { return {errc::unsupported, missing}; }
};

namespace capability {

inline constexpr client_capability sampling{
    "sampling", "The client does not declare the capability \"sampling\""};
// Forms; `{"elicitation":{}}` means them (REVISIONS §6.2).
inline constexpr client_capability elicitation{
    "elicitation", "The client does not declare the capability \"elicitation\""};
inline constexpr client_capability elicitation_url{
    "elicitation.url", "The client does not declare the capability \"elicitation.url\""};
inline constexpr client_capability roots{"roots",
                                         "The client does not declare the capability \"roots\""};

}  // namespace capability

// The capability that `what` is about; null for any other error.
const client_capability* lacking(const error& what) noexcept;

}  // namespace pillion::mcp
