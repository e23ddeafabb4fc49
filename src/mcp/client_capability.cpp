#include "mcp/client_capability.hpp"

namespace pillion::mcp {

const client_capability* lacking(const error& what) noexcept {
    if (what.kind != errc::unsupported) {
        return nullptr;
    }
    for (const client_capability* one : {&capability::sampling, &capability::elicitation,
                                         &capability::elicitation_url, &capability::roots}) {
        if (std::string_view(what.detail) == one->missing) {
            return one;
        }
    }
    return nullptr;
}

}  // namespace pillion::mcp
