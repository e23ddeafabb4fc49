// Fuzz target: documents that others publish or answer: key sets, the metadata that says where they
// are, and what an authorization server says of a token.
//
// The first byte chooses one of them, key sets mostly. Whatever is understood holds what it must.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "auth/discovery.hpp"
#include "auth/introspection.hpp"
#include "auth/jwk_set.hpp"
#include "base/assert.hpp"

namespace pillion::auth {
namespace {

constexpr std::int64_t now = 1'800'000'000;
constexpr std::string_view issuer = "https://i.example";

void read_keys(std::string_view text, bool with_secrets) {
    std::string fault;
    const auto set = jwk_set::parse(text, with_secrets, fault);
    PILLION_ASSERT((set == nullptr) == !fault.empty());
    if (set == nullptr) {
        return;
    }
    PILLION_ASSERT(set->size() > 0 && set->size() <= jwk_set::keys_max);
    // Nobody has signed this.
    const std::string signature(64, 's');
    for (const algorithm by : {algorithm::rs256, algorithm::es256, algorithm::hs256}) {
        PILLION_ASSERT(!set->verify(nullptr, by, "text", signature));
    }
}

void read_answer(std::string_view text) {
    introspection_rules rules;
    rules.endpoint = "https://i.example/introspect";
    rules.audiences = {"us"};
    const introspection_answer said = read_introspection(text, rules, now);
    if (!said.understood || said.why != token_fault::none) {
        PILLION_ASSERT(said.principal.empty());
        return;
    }
    PILLION_ASSERT(said.principal.starts_with("introspected"));
    PILLION_ASSERT(said.good_until_s <= now + rules.remembered_s && said.ends_s > now);
}

}  // namespace
}  // namespace pillion::auth

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace pillion::auth;
    if (size == 0) {
        return 0;
    }
    const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
    switch (data[0]) {
        case 'a':
            read_answer(text);
            break;
        case 'd': {
            const auto where = read_discovery(text, issuer);
            PILLION_ASSERT(!where || text.find("jwks_uri") != text.npos ||
                           text.find("\\u") != text.npos);
            break;
        }
        default:
            read_keys(text, data[0] == 's');
    }
    return 0;
}
