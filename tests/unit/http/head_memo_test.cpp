// head_memo: what it finds is what the parser would say.
#include "http/head_memo.hpp"

#include <algorithm>
#include <cctype>
#include <memory>
#include <new>
#include <string>

#include <gtest/gtest.h>

#include "http/request_parser.hpp"
#include "padded.hpp"

namespace pillion::http {
namespace {

using testing::padded;

const std::string usual_head =
    "POST /mcp HTTP/1.1\r\nHost: localhost:8080\r\nContent-Type: application/json\r\n"
    "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
    "Mcp-Method: tools/call\r\nMcp-Name: Echo\r\nX_y-9: \t z\r\nX-Request-Id: a-1\r\n"
    "traceparent: t\r\nContent-Length: 301\r\n\r\n";

std::string said(const request_head& head) {
    std::string all = std::string(head.method_text()) + ' ' + std::string(head.target()) + ' ' +
                      std::string(head.path()) + ' ' + std::string(head.query()) + ' ' +
                      std::string(head.host()) + ' ' + std::to_string(head.bytes) + ' ' +
                      std::to_string(head.content_length) + (head.keep_alive ? 'k' : 'c') +
                      (head.chunked ? 'c' : '-') + (head.has_content_length ? 'l' : '-') +
                      (head.expect_continue ? 'e' : '-') + std::to_string(head.minor_version) +
                      std::to_string(static_cast<int>(head.m));
    for (const header h : head.headers()) {
        all += '\n' + std::string(h.name) + '=' + std::string(h.value);
    }
    return all;
}

// What the parser says; empty unless the head is complete.
std::string parsed(std::string_view text) {
    padded bytes(text);
    request_head head;
    return parse_request_head(bytes.data(), bytes.size(), 0, head).state == parse_state::complete
               ? said(head)
               : std::string{};
}

void teach(head_memo& memo, std::string_view text) {
    padded bytes(text);
    request_head head;
    ASSERT_EQ(parse_request_head(bytes.data(), bytes.size(), 0, head).state, parse_state::complete);
    memo.add(head);
}

// What the memo says; empty when it does not know the head.
std::string recalled(head_memo& memo, std::string_view text) {
    padded bytes(text);
    const request_head* const head = memo.find(bytes.data(), bytes.size());
    EXPECT_EQ(std::string_view(bytes.data(), bytes.size()), text) << "the input was changed";
    return head == nullptr ? std::string{} : said(*head);
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
    return text.replace(text.find(what), what.size(), with);
}

TEST(head_memo, knows_a_head_again_with_whatever_follows_it) {
    head_memo memo;
    EXPECT_EQ(recalled(memo, usual_head), "");
    teach(memo, usual_head);
    EXPECT_EQ(recalled(memo, usual_head), parsed(usual_head));
    EXPECT_EQ(recalled(memo, usual_head + "{\"jsonrpc\":\"2.0\"}"), parsed(usual_head));
}

TEST(head_memo, the_length_is_read_anew) {
    head_memo memo;
    teach(memo, usual_head);
    for (const char* length : {"999", "000", "301"}) {
        const std::string other = replaced(usual_head, "301", length);
        EXPECT_EQ(recalled(memo, other), parsed(other)) << length;
        EXPECT_NE(recalled(memo, other), "") << length;
    }
    // Another number of digits is another head.
    EXPECT_EQ(recalled(memo, replaced(usual_head, "301", "3010")), "");
}

TEST(head_memo, values_that_differ_by_their_nature) {
    head_memo memo;
    teach(memo, usual_head);
    for (const char* id : {"b-2", "b:2", "b\t2", "\xff\xff\xff"}) {
        const std::string other =
            replaced(replaced(usual_head, "a-1", id), "traceparent: t", "traceparent: u");
        EXPECT_EQ(recalled(memo, other), parsed(other)) << id;
        EXPECT_NE(recalled(memo, other), "") << id;
    }
    // Of another length, shorter without its blanks, or none.
    for (const char* id : {"b-22", "b-", " -2", "b-\t", "\r\nb", "b\r2", "\x01-2"}) {
        EXPECT_EQ(recalled(memo, replaced(usual_head, "a-1", id)), "") << id;
    }
}

TEST(head_memo, fields_that_come_twice_must_be_the_same) {
    head_memo memo;
    const std::string twice = replaced(usual_head, "X_y-9: \t z", "X-Request-Id: a-2");
    teach(memo, twice);
    EXPECT_EQ(recalled(memo, twice), parsed(twice));
    EXPECT_EQ(recalled(memo, replaced(twice, "a-2", "a-3")), "");
    EXPECT_EQ(recalled(memo, replaced(twice, "a-1", "a-3")), "");
}

// A handler's verdict is about the text, so it stays with it.
TEST(head_memo, keeps_the_verdict_of_the_handler) {
    head_memo memo;
    padded bytes(usual_head);
    request_head head;
    ASSERT_EQ(parse_request_head(bytes.data(), bytes.size(), 0, head).state, parse_state::complete);
    request_head* const kept = memo.add(head);
    ASSERT_NE(kept, nullptr);
    EXPECT_EQ(said(*kept), parsed(usual_head));
    EXPECT_EQ(kept->verdict, 0U);
    kept->verdict = 7;
    padded again(replaced(usual_head, "301", "302"));
    const request_head* const found = memo.find(again.data(), again.size());
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->verdict, 7U);
    teach(memo, replaced(usual_head, "Echo", "Ocho"));
    padded other(replaced(usual_head, "Echo", "Ocho"));
    EXPECT_EQ(memo.find(other.data(), other.size())->verdict, 0U);
}

TEST(head_memo, names_in_any_case) {
    head_memo memo;
    teach(memo, usual_head);
    for (const char* name : {"HOST", "host", "hOsT"}) {
        const std::string other = replaced(usual_head, "Host", name);
        EXPECT_EQ(recalled(memo, other), parsed(usual_head)) << name;
    }
}

// All that one changed byte can do: the memo either does not know the head or says the same.
TEST(head_memo, never_says_what_the_parser_would_not) {
    head_memo memo;
    teach(memo, usual_head);
    int known = 0;
    for (std::size_t at = 0; at < usual_head.size(); ++at) {
        for (int byte = 0; byte < 256; ++byte) {
            std::string other = usual_head;
            other[at] = static_cast<char>(byte);
            const std::string memory = recalled(memo, other);
            if (!memory.empty()) {
                ++known;
                ASSERT_EQ(memory, parsed(other)) << "byte " << byte << " at " << at;
            }
        }
    }
    // Each byte as it was; each letter of a name in its other case; nine other digits, three times;
    // another visible byte, or one from 0x80 on, in an identifier, or a blank inside.
    const std::string names =
        "HostContentTypeAcceptMCPProtocolVersionMcpMethodMcpNameXyXRequestIdTraceparent"
        "ContentLength";
    EXPECT_EQ(known, static_cast<int>(usual_head.size() + names.size() + 27 + 4 * (93 + 128) + 2));
}

// Whether the bytes of a memo hold a text.
bool holds(const void* memo, std::string_view text) {
    const std::string_view all(static_cast<const char*>(memo), sizeof(head_memo));
    return all.find(text) != all.npos;
}

// Credentials of clients that have gone are not to be found in memory.
TEST(head_memo, what_was_replaced_or_cleared_is_wiped) {
    const auto head_of = [](const std::string& fields) {
        return "GET /mcp HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
    };
    const std::string long_head =
        head_of("X-Padding: " + std::string(200, 'p') + "\r\nAuthorization: Bearer s3cr3t\r\n");
    alignas(head_memo) unsigned char room[sizeof(head_memo)];
    auto* const memo = new (room) head_memo;
    teach(*memo, long_head);
    EXPECT_TRUE(holds(room, "s3cr3t"));
    for (int i = 0; i < 8; ++i) {
        EXPECT_TRUE(holds(room, "s3cr3t")) << i;
        teach(*memo, head_of("X-Other: " + std::to_string(i) + "\r\n"));
    }
    EXPECT_FALSE(holds(room, "s3cr3t"));
    teach(*memo, long_head);
    EXPECT_TRUE(holds(room, "s3cr3t"));
    memo->clear();
    EXPECT_FALSE(holds(room, "s3cr3t"));
    teach(*memo, long_head);
    memo->~head_memo();
    EXPECT_FALSE(holds(room, "s3cr3t"));
}

TEST(head_memo, a_part_of_a_head_is_no_head) {
    head_memo memo;
    teach(memo, usual_head);
    for (std::size_t bytes = 0; bytes < usual_head.size(); ++bytes) {
        // The rest lies behind it, where it does not count.
        std::string all = usual_head + std::string(limits::padding, '\n');
        EXPECT_EQ(memo.find(all.data(), bytes), nullptr) << bytes;
    }
}

TEST(head_memo, several_heads_and_the_oldest_goes_first) {
    head_memo memo;
    const auto named = [](int i) {
        return replaced(usual_head, "Echo", "Ech" + std::to_string(i));
    };
    for (int i = 0; i < 8; ++i) {
        teach(memo, named(i));
    }
    for (int i = 0; i < 8; ++i) {
        EXPECT_EQ(recalled(memo, named(i)), parsed(named(i)));
    }
    teach(memo, named(9));
    EXPECT_EQ(recalled(memo, named(0)), "");
    EXPECT_NE(recalled(memo, named(1)), "");
    EXPECT_NE(recalled(memo, named(9)), "");
}

// Heads that never came again drove out the one of a client that sends its own with every request.
TEST(head_memo, the_last_one_found_outlasts_strangers) {
    const auto named = [](int i) { return replaced(usual_head, "Echo", std::to_string(i)); };
    for (int before = 0; before < 8; ++before) {
        head_memo memo;
        for (int i = 0; i < before; ++i) {
            teach(memo, named(100 + i));
        }
        teach(memo, usual_head);
        for (int i = 200; i < 240; ++i) {
            ASSERT_EQ(recalled(memo, usual_head), parsed(usual_head)) << before << ' ' << i;
            teach(memo, named(i));
            EXPECT_NE(recalled(memo, named(i)), "");
            ASSERT_EQ(recalled(memo, usual_head), parsed(usual_head)) << before << ' ' << i;
        }
    }
}

TEST(head_memo, clear_forgets) {
    head_memo memo;
    teach(memo, usual_head);
    memo.clear();
    EXPECT_EQ(recalled(memo, usual_head), "");
    teach(memo, usual_head);
    EXPECT_NE(recalled(memo, usual_head), "");
}

// With "Content-Length: 0" nobody waits for "100 Continue".
TEST(head_memo, not_kept_are_expectations_and_long_heads) {
    head_memo memo;
    const std::string waits = replaced(usual_head, "X_y-9: \t z", "Expect: 100-continue");
    teach(memo, waits);
    EXPECT_EQ(recalled(memo, waits), "");
    for (const std::size_t bytes : {1024U, 1025U}) {
        std::string text = usual_head;
        text = replaced(text, "X_y-9: ", "X_y-9: " + std::string(bytes - text.size(), 'v'));
        ASSERT_EQ(text.size(), bytes);
        teach(memo, text);
        EXPECT_EQ(recalled(memo, text), bytes == 1024 ? parsed(text) : "") << bytes;
    }
}

// Who never sends a head twice soon costs next to nothing, and a regular client is still learned.
TEST(head_memo, strangers_are_kept_now_and_then_only) {
    head_memo memo;
    int kept = 0;
    for (int i = 10'000; i < 11'000; ++i) {
        const std::string text = replaced(usual_head, "Echo", std::to_string(i));
        teach(memo, text);
        padded bytes(text);
        kept += i > 10'100 && memo.find(bytes.data(), bytes.size()) != nullptr ? 1 : 0;
        if (kept > 0) {
            break;
        }
    }
    EXPECT_EQ(kept, 1);
    // It was found, so strangers are kept again.
    const std::string text = replaced(usual_head, "Echo", "another");
    teach(memo, text);
    EXPECT_NE(recalled(memo, text), "");
}

}  // namespace
}  // namespace pillion::http
