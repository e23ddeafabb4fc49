// Framing cases of Host (RFC 9112 §3.2), body length and codings (§6, §7), connection options and
// expectations. Included by framing_cases.hpp.
#pragma once

#include <vector>

#include "framing_cases.hpp"

namespace pillion::http::testing {

inline framing_case host(const char* name, std::string_view value, int status) {
    return {name, "GET / HTTP/1.1\r\nHost:" + std::string(value) + "\r\n\r\n", status,
            status == 0 ? 1 : 0};
}

inline std::vector<framing_case> host_cases() {
    return {
        host("host_name", " example.com", 0),
        host("host_name_and_port", " example.com:8080", 0),
        host("host_empty_port", " example.com:", 0),
        host("host_ipv4", "127.0.0.1:1", 0),
        host("host_ipv6", " [::1]:8080", 0),
        host("host_ipv6_without_port", " [2001:db8::1.2.3.4]", 0),
        host("host_upper_case_name", " EXAMPLE.com", 0),
        host("host_empty", "", 400),
        host("host_port_only", " :80", 400),
        host("host_with_blank", " a b", 400),
        host("host_list", " a, b", 400),
        host("host_with_path", " a/b", 400),
        host("host_with_user", " u@a", 400),
        host("host_with_scheme", " http://a", 400),
        host("host_port_not_a_number", " a:8o", 400),
        host("host_port_too_large", " a:65536", 400),
        host("host_port_with_sign", " a:+80", 400),
        host("host_ipv6_open", " [::1", 400),
        host("host_ipv6_bad", " [::g]", 400),
        host("host_ipv6_then_text", " [::1]a", 400),
        host("host_two_ports", " a:1:2", 400),
        host("host_high_byte", " caf\xC3\xA9", 400),
        {"host_missing", "GET / HTTP/1.1\r\n\r\n", 400, 0},
        {"host_missing_other_fields", "GET / HTTP/1.1\r\nX: y\r\n\r\n", 400, 0},
        {"host_missing_absolute_form", "GET http://a/ HTTP/1.1\r\n\r\n", 400, 0},
        {"host_invalid_absolute_form", "GET http://a/ HTTP/1.1\r\nHost: b c\r\n\r\n", 400, 0},
        {"host_twice", with_fields("Host: a\r\n"), 400, 0},
        {"host_twice_different", with_fields("hOsT: b\r\n"), 400, 0},
        {"host_twice_http_1_0", "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", 400, 0},
        {"host_invalid_http_1_0", "GET / HTTP/1.0\r\nHost: a b\r\n\r\n", 400, 0},
    };
}

inline framing_case length(const char* name, std::string_view value) {
    return {name, post("Content-Length: " + std::string(value) + "\r\n", "hello"), 400, 0};
}

inline std::vector<framing_case> length_cases() {
    return {
        {"length_zero", post("Content-Length: 0\r\n", ""), 0, 1},
        {"length_five", post("Content-Length: 5\r\n", "hello"), 0, 1},
        {"length_leading_zeros", post("Content-Length: 0005\r\n", "hello"), 0, 1},
        {"length_with_blanks", post("Content-Length: \t5 \r\n", "hello"), 0, 1},
        {"length_name_mixed_case", post("cOnTeNt-LeNgTh: 5\r\n", "hello"), 0, 1},
        {"length_body_of_line_ends", post("Content-Length: 4\r\n", "\r\n\r\n"), 0, 1},
        {"length_body_is_a_request", post("Content-Length: 31\r\n", get("/evil")), 0, 1},
        {"length_absent_means_no_body", post("", "") + get("/"), 0, 2},
        {"length_then_pipelined", post("Content-Length: 5\r\n", "hello") + get("/"), 0, 2},
        {"length_then_empty_line", post("Content-Length: 5\r\n", "hello") + "\r\n" + get("/"), 0,
         2},
        {"length_body_short", post("Content-Length: 6\r\n", "hello"), 0, 0},
        {"length_on_get", with_fields("Content-Length: 0\r\n") + get("/"), 0, 2},
        {"length_http_1_0", "POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi", 0, 1},
        {"length_too_short_leaves_garbage", post("Content-Length: 4\r\n", "hell()"), 400, 1},
        length("length_empty", ""),
        length("length_negative", "-5"),
        length("length_plus", "+5"),
        length("length_hex", "0x5"),
        length("length_decimal", "5.0"),
        length("length_letters", "five"),
        length("length_trailing_letter", "5a"),
        length("length_inner_blank", "5 5"),
        length("length_quoted", "\"5\""),
        length("length_list_equal", "5, 5"),
        length("length_list_different", "5, 6"),
        length("length_trailing_comma", "5,"),
        length("length_exponent", "1e1"),
        length("length_fullwidth_digit", "\xEF\xBC\x95"),
        length("length_2_to_64", "18446744073709551616"),
        length("length_wraps_to_five", "18446744073709551621"),
        length("length_hundred_digits", times(100, "9")),
        length("length_twice_equal", "5\r\nContent-Length: 5"),
        length("length_twice_different", "5\r\nContent-Length: 6"),
        length("length_twice_other_case", "5\r\ncontent-length: 0"),
        length("length_twice_one_empty", "5\r\nContent-Length:"),
    };
}

inline framing_case coding(const char* name, std::string_view fields, int status) {
    return {name, post(fields, "5\r\nhello\r\n0\r\n\r\n"), status, status == 0 ? 1 : 0};
}

inline std::vector<framing_case> transfer_coding_cases() {
    return {
        coding("coding_chunked", "Transfer-Encoding: chunked\r\n", 0),
        coding("coding_mixed_case", "transfer-ENCODING: Chunked\r\n", 0),
        coding("coding_with_blanks", "Transfer-Encoding:  \tchunked\t \r\n", 0),
        coding("coding_then_length", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400),
        coding("length_then_coding", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400),
        coding("coding_and_zero_length", "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
               400),
        coding("coding_and_bad_length", "Content-Length: x\r\nTransfer-Encoding: chunked\r\n", 400),
        coding("coding_twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400),
        coding("coding_twice_in_list", "Transfer-Encoding: chunked, chunked\r\n", 400),
        coding("coding_gzip_chunked", "Transfer-Encoding: gzip, chunked\r\n", 501),
        coding("coding_gzip_then_chunked_field",
               "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", 501),
        coding("coding_gzip_chunked_and_length",
               "Content-Length: 5\r\nTransfer-Encoding: gzip, chunked\r\n", 400),
        coding("coding_chunked_gzip", "Transfer-Encoding: chunked, gzip\r\n", 400),
        coding("coding_chunked_then_identity_field",
               "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", 400),
        coding("coding_gzip_only", "Transfer-Encoding: gzip\r\n", 400),
        coding("coding_identity", "Transfer-Encoding: identity\r\n", 400),
        coding("coding_empty", "Transfer-Encoding:\r\n", 400),
        coding("coding_empty_then_chunked", "Transfer-Encoding:\r\nTransfer-Encoding: chunked\r\n",
               400),
        coding("coding_leading_comma", "Transfer-Encoding: , chunked\r\n", 400),
        coding("coding_trailing_comma", "Transfer-Encoding: chunked,\r\n", 400),
        coding("coding_with_parameter", "Transfer-Encoding: chunked;q=1\r\n", 400),
        coding("coding_prefix", "Transfer-Encoding: xchunked\r\n", 400),
        coding("coding_suffix", "Transfer-Encoding: chunkedx\r\n", 400),
        coding("coding_quoted", "Transfer-Encoding: \"chunked\"\r\n", 400),
        coding("coding_two_words", "Transfer-Encoding: chunked foo\r\n", 400),
        coding("coding_vertical_tab",
               "Transfer-Encoding: \x0b"
               "chunked\r\n",
               400),
        coding("coding_nbsp",
               "Transfer-Encoding: \xA0"
               "chunked\r\n",
               400),
        coding("coding_blank_before_colon", "Transfer-Encoding : chunked\r\n", 400),
        coding("coding_folded", "Transfer-Encoding:\r\n chunked\r\n", 400),
        coding("coding_hidden_by_bare_lf", "X: y\nTransfer-Encoding: chunked\r\n", 400),
        {"coding_underscore_is_another_field",
         post("Transfer_Encoding: chunked\r\nContent-Length: 5\r\n", "hello"), 0, 1},
        {"coding_http_1_0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
         0},
        {"coding_gzip_http_1_0", "POST / HTTP/1.0\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 400,
         0},
    };
}

inline std::vector<framing_case> chunk_cases() {
    return {
        {"chunk_last_only", chunked("0\r\n\r\n"), 0, 1},
        {"chunk_several", chunked("3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"), 0, 1},
        {"chunk_hex_upper", chunked("A\r\n0123456789\r\n0\r\n\r\n"), 0, 1},
        {"chunk_hex_lower", chunked("a\r\n0123456789\r\n0\r\n\r\n"), 0, 1},
        {"chunk_leading_zeros", chunked("0000000000000005\r\nhello\r\n000\r\n\r\n"), 0, 1},
        {"chunk_data_of_line_ends", chunked("5\r\n\r\n0\r\n\r\n0\r\n\r\n"), 0, 1},
        {"chunk_extension", chunked("5;name=value\r\nhello\r\n0;last\r\n\r\n"), 0, 1},
        {"chunk_extension_quoted", chunked("5 ; n=\"a;b\" ;m\r\nhello\r\n0\r\n\r\n"), 0, 1},
        {"chunk_extension_at_limit", chunked("1;" + times(255, "x") + "\r\nh\r\n0\r\n\r\n"), 0, 1},
        {"chunk_extension_over_limit", chunked("1;" + times(256, "x") + "\r\nh\r\n0\r\n\r\n"), 400,
         0},
        {"chunk_extensions_without_end", chunked(times(20, "1;" + times(250, "x") + "\r\nh\r\n")),
         400, 0},
        {"chunk_trailer", chunked("5\r\nhello\r\n0\r\nX: y\r\nZ:\r\n\r\n"), 0, 1},
        {"chunk_trailer_forbidden_is_dropped",
         chunked("0\r\nContent-Length: 9\r\nHost: evil\r\n\r\n") + get("/"), 0, 2},
        {"chunk_then_pipelined", chunked("5\r\nhello\r\n0\r\n\r\n") + get("/"), 0, 2},
        {"chunk_unfinished", chunked("5\r\nhello\r\n"), 0, 0},
        {"chunk_size_empty", chunked("\r\nhello\r\n0\r\n\r\n"), 400, 0},
        {"chunk_size_extension_only", chunked(";x\r\n\r\n"), 400, 0},
        {"chunk_size_negative", chunked("-1\r\n\r\n"), 400, 0},
        {"chunk_size_plus", chunked("+5\r\nhello\r\n0\r\n\r\n"), 400, 0},
        {"chunk_size_prefix", chunked("0x5\r\nhello\r\n0\r\n\r\n"), 400, 0},
        {"chunk_size_not_hex", chunked("g\r\n\r\n"), 400, 0},
        {"chunk_size_underscore", chunked("1_0\r\n0123456789012345\r\n0\r\n\r\n"), 400, 0},
        {"chunk_size_blank_first", chunked(" 5\r\nhello\r\n0\r\n\r\n"), 400, 0},
        {"chunk_size_blank_last", chunked("5 \r\nhello\r\n0\r\n\r\n"), 400, 0},
        {"chunk_size_blank_inside", chunked("1 0\r\nhello\r\n0\r\n\r\n"), 400, 0},
        {"chunk_size_comma", chunked("5,5\r\nhello\r\n0\r\n\r\n"), 400, 0},
        {"chunk_size_17_digits", chunked("00000000000000005\r\nhello\r\n0\r\n\r\n"), 400, 0},
        {"chunk_size_wraps", chunked("10000000000000005\r\nhello\r\n0\r\n\r\n"), 400, 0},
        {"chunk_size_2_to_64_less_1", chunked("ffffffffffffffff\r\nhello\r\n"), 413, 0},
        {"chunk_size_over_body_limit", chunked("100001\r\n"), 413, 0},
        {"chunk_sizes_over_body_limit", chunked("1\r\nx\r\n100000\r\n"), 413, 0},
        {"chunk_size_bare_lf", chunked("5\nhello\r\n0\r\n\r\n"), 400, 0},
        {"chunk_size_bare_cr", chunked("5\rhello\r\n0\r\n\r\n"), 400, 0},
        {"chunk_size_with_nul", chunked(bytes("5\0\r\nhello\r\n0\r\n\r\n")), 400, 0},
        {"chunk_extension_bare_lf", chunked("5;x\nhello\r\n0\r\n\r\n"), 400, 0},
        {"chunk_extension_bare_cr", chunked("5;x\rhello\r\n0\r\n\r\n"), 400, 0},
        {"chunk_extension_control", chunked("5;x\x01\r\nhello\r\n0\r\n\r\n"), 400, 0},
        {"chunk_data_without_crlf", chunked("5\r\nhello0\r\n\r\n"), 400, 0},
        {"chunk_data_lf_only", chunked("5\r\nhello\n0\r\n\r\n"), 400, 0},
        {"chunk_data_cr_only", chunked("5\r\nhello\r0\r\n\r\n"), 400, 0},
        {"chunk_data_longer_than_size", chunked("4\r\nhello\r\n0\r\n\r\n"), 400, 0},
        {"chunk_data_shorter_than_size", chunked("7\r\nhello\r\n0\r\n\r\n"), 400, 0},
        {"chunk_last_bare_lf", chunked("0\n\n"), 400, 0},
        {"chunk_end_bare_lf", chunked("0\r\n\n"), 400, 0},
        {"chunk_end_bare_cr", chunked("0\r\n\rX"), 400, 0},
        {"chunk_end_missing", chunked("0\r\n") + get("/"), 400, 0},
        {"chunk_trailer_folded", chunked("0\r\nX: y\r\n z\r\n\r\n"), 400, 0},
        {"chunk_trailer_without_colon", chunked("0\r\nX\r\n\r\n"), 400, 0},
        {"chunk_trailer_blank_before_colon", chunked("0\r\nX : y\r\n\r\n"), 400, 0},
        {"chunk_trailer_name_empty", chunked("0\r\n: y\r\n\r\n"), 400, 0},
        {"chunk_trailer_bare_lf", chunked("0\r\nX: y\n\r\n"), 400, 0},
        {"chunk_trailer_control", chunked("0\r\nX: \x02\r\n\r\n"), 400, 0},
        {"chunk_trailers_too_large", chunked("0\r\nX: " + times(4096, "y") + "\r\n\r\n"), 431, 0},
    };
}

inline std::vector<framing_case> connection_cases() {
    return {
        {"connection_close", with_fields("Connection: close\r\n"), 0, 1},
        {"connection_list", with_fields("Connection: x, Keep-Alive\r\n") + get("/"), 0, 2},
        {"expect_continue", post("Expect: 100-continue\r\nContent-Length: 2\r\n", "hi"), 0, 1},
        {"expect_continue_mixed_case", with_fields("Expect: 100-Continue\r\n"), 0, 1},
        {"expect_unknown", with_fields("Expect: 200-ok\r\n"), 417, 0},
        {"expect_empty", with_fields("Expect:\r\n"), 417, 0},
        {"expect_twice", with_fields("Expect: 100-continue\r\nExpect: 100-continue\r\n"), 417, 0},
        {"upgrade_h2c_ignored",
         with_fields("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"), 0, 1},
        {"smuggled_prefix_te_cl",
         post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + get("/evil")),
         400, 0},
        {"smuggled_zero_cl",
         "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n"
         "GET /x" +
             std::string(" HTTP/1.1\r\n"),
         400, 1},
    };
}

}  // namespace pillion::http::testing
