#include "auth/jwk_set.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "crypto/base64url.hpp"
#include "crypto/key_ring.hpp"
#include "json/document.hpp"

namespace pillion::auth {

namespace {

// Members are small; a text beyond this is no key that we would take.
constexpr std::size_t member_bytes_max = 2048;

// The bytes of a member (RFC 7515 §2: base64url without padding).
std::optional<std::string> bytes_of(json::view member) {
    const std::string_view text = member.str();
    if (text.empty() || text.size() > member_bytes_max) {
        return std::nullopt;
    }
    return crypto::from_base64url(text);
}

// RFC 7517 §4.2 and §4.3: what the key is meant for, where it says so.
bool may_verify(json::view key) {
    if (key["use"].exists() && key["use"].str() != "sig") {
        return false;
    }
    const json::view operations = key["key_ops"];
    if (!operations.exists()) {
        return true;
    }
    const auto all = operations.elements();
    return std::any_of(all.begin(), all.end(),
                       [](json::view one) { return one.str() == "verify"; });
}

}  // namespace

void jwk_set::add(const json::view& one, bool with_secrets) {
    if (!one.is_object() || !may_verify(one)) {
        return;
    }
    const std::string_view type = one["kty"].str();
    const std::string_view wanted = one["alg"].str();
    entry made;
    const auto is_for = [&](std::string_view name) { return wanted.empty() || wanted == name; };
    if (type == "RSA" && is_for("RS256")) {
        const auto modulus = bytes_of(one["n"]);
        const auto exponent = bytes_of(one["e"]);
        made.by = algorithm::rs256;
        made.key = modulus && exponent ? crypto::public_key::rsa(*modulus, *exponent) : nullptr;
    } else if (type == "EC" && one["crv"].str() == "P-256" && is_for("ES256")) {
        const auto x = bytes_of(one["x"]);
        const auto y = bytes_of(one["y"]);
        made.by = algorithm::es256;
        made.key = x && y ? crypto::public_key::p256(*x, *y) : nullptr;
    } else if (type == "oct" && with_secrets && is_for("HS256")) {
        auto secret = bytes_of(one["k"]);
        made.by = algorithm::hs256;
        made.key = secret ? crypto::public_key::hmac(*secret) : nullptr;
        if (secret) {
            crypto::wipe(secret->data(), secret->size());
        }
    }
    if (made.key != nullptr) {
        made.id = one["kid"].str();
        keys_.push_back(std::move(made));
    }
}

std::unique_ptr<jwk_set> jwk_set::parse(std::string_view text, bool with_secrets,
                                        std::string& fault) {
    if (text.size() > text_bytes_max) {
        fault = "the key set is larger than 256 KiB";
        return nullptr;
    }
    const auto parsed = json::document::parse(text);
    if (!parsed || !parsed->root()["keys"].is_array()) {
        fault = "it is no JSON Web Key Set: an object with a list \"keys\"";
        return nullptr;
    }
    const json::view keys = parsed->root()["keys"];
    if (keys.size() > keys_max) {
        fault = "the key set has more than 64 keys";
        return nullptr;
    }
    std::unique_ptr<jwk_set> made(new jwk_set);
    for (const json::view one : keys.elements()) {
        made->add(one, with_secrets);
    }
    if (made->keys_.empty()) {
        fault = "the key set has no key for RS256 or ES256";
        return nullptr;
    }
    return made;
}

bool jwk_set::knows(std::string_view id) const noexcept {
    return std::any_of(keys_.begin(), keys_.end(), [id](const entry& e) { return e.id == id; });
}

bool jwk_set::verify(const std::string_view* id, algorithm by, std::string_view text,
                     std::string_view signature) {
    if (id == nullptr) {
        const auto is_candidate = [by](const entry& e) { return e.by == by; };
        if (std::count_if(keys_.begin(), keys_.end(), is_candidate) != 1) {
            return false;
        }
        return std::find_if(keys_.begin(), keys_.end(), is_candidate)->key->verify(text, signature);
    }
    // A set may have two keys of one id and different kinds (RFC 7517 §4.5).
    return std::any_of(keys_.begin(), keys_.end(), [&](entry& e) {
        return e.by == by && e.id == *id && e.key->verify(text, signature);
    });
}

}  // namespace pillion::auth
