#include "crypto/base64url.hpp"

#include "base/base64.hpp"

namespace pillion::crypto {

namespace {

constexpr auto url_form = base::base64::form::url;

}  // namespace

std::string to_base64url(std::string_view bytes) {
    std::string out(base::base64::encoded_size(bytes.size(), url_form), '\0');
    base::base64::encode(bytes, out.data(), url_form);
    return out;
}

std::optional<std::string> from_base64url(std::string_view text) {
    std::string out(base::base64::decoded_size_max(text.size()), '\0');
    const auto size = base::base64::decode(text, out.data(), url_form);
    if (!size) {
        return std::nullopt;
    }
    out.resize(*size);
    return out;
}

}  // namespace pillion::crypto
