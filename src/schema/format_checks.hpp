// format_checks: the formats one by one. Each says whether a text, valid UTF-8, has the format.
//
// Thread-safety: no state; any thread.
#pragma once

#include <string_view>

namespace pillion::schema_check::formats {

// RFC 3339 §5.6, and appendix A for durations.
bool is_date(std::string_view text) noexcept;
bool is_time(std::string_view text) noexcept;
bool is_date_time(std::string_view text) noexcept;
bool is_duration(std::string_view text) noexcept;

// RFC 1123 §2.1, RFC 5890 §2.3 (A-labels are decoded and looked at), RFC 5321 §4.1.2, RFC 6531.
bool is_hostname(std::string_view text) noexcept;
bool is_idn_hostname(std::string_view text) noexcept;
bool is_email(std::string_view text) noexcept;
bool is_idn_email(std::string_view text) noexcept;

// RFC 2673 §3.2, RFC 4291 §2.2.
bool is_ipv4(std::string_view text) noexcept;
bool is_ipv6(std::string_view text) noexcept;

// RFC 3986, RFC 3987, RFC 6570.
bool is_uri(std::string_view text) noexcept;
bool is_uri_reference(std::string_view text) noexcept;
bool is_iri(std::string_view text) noexcept;
bool is_iri_reference(std::string_view text) noexcept;
bool is_uri_template(std::string_view text) noexcept;

// RFC 4122, RFC 6901, draft-bhutton-relative-json-pointer-00, ECMA-262.
bool is_uuid(std::string_view text) noexcept;
bool is_json_pointer(std::string_view text) noexcept;
bool is_relative_json_pointer(std::string_view text) noexcept;
bool is_regex(std::string_view text) noexcept;

}  // namespace pillion::schema_check::formats
