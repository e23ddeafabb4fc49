// access_check: whether the caller of a request was granted the scopes that its method and its
// target need (STANDARD rows 49 and 51). Callers that are not limited may use everything.
//
// Thread: the request's shard.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mcp/definitions.hpp"
#include "mcp/registration_faults.hpp"
#include "mcp/replies.hpp"
#include "mcp/request.hpp"

namespace pillion::mcp {

// What is shown in a list, and whether the method may be used at all.
bool may(const request& r, const detail::scope_list& needed) noexcept;

// The same; otherwise `why` is a 403, and the request says all that would have been needed for it,
// its method's scopes among them.
bool check_access(request& r, const detail::scope_list& needed, fault& why);
// … for its method alone.
bool check_method_access(request& r, fault& why);
// … for a resource by any URI, as somebody who subscribes names it. Unknown ones need nothing.
bool check_resource_access(request& r, std::string_view uri, fault& why);
// … for the prompt or resource whose arguments params.ref asks to complete.
bool check_reference_access(request& r, fault& why);

// Puts what the operator says into the definitions that were registered after the `since`th, over
// what these say, and into those of methods. A fault for each that names what is not there and is
// not expected either, the rest is done. REQUIRES: nobody calls what is new yet.
void apply_operator_scopes(detail::definitions& to, registration_faults& faults,
                           std::uint32_t since = 0, const detail::expected_names& expected = {});

}  // namespace pillion::mcp
