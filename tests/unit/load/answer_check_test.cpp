// Goal: an answer is right or wrong for one reason. Method: texts of answers and their verdicts.

#include "bench/load/answer_check.hpp"

#include <gtest/gtest.h>

#include "unit/http/padded.hpp"

namespace pillion::load {
namespace {

constexpr std::uint64_t asked_id = 1'000'000'007;

std::optional<verdict> judge(std::string_view text, action of = action::tools_call,
                             bool modern = true, std::string expect = {}) {
    base::chunk_pool pool;
    answer_check check(pool, std::move(expect));
    http::testing::padded copy(text);
    return check.judge(copy.data(), copy.size(), asked_id, of, modern);
}

fault class_of(std::string_view text, action of = action::tools_call, bool modern = true,
               std::string expect = {}) {
    const std::optional<verdict> how = judge(text, of, modern, std::move(expect));
    EXPECT_TRUE(how) << text;
    return how.value_or(verdict{fault::count}).what;
}

std::string answer(std::string_view result, std::string_view id = "1000000007") {
    return R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":)" + std::string(result) +
           "}";
}

TEST(answer_check, right_answers) {
    EXPECT_EQ(class_of(answer(R"({"resultType":"complete","content":[]})")), fault::none);
    EXPECT_EQ(class_of(answer(R"({"content":[],"isError":false})"), action::tools_call, false),
              fault::none);
    EXPECT_EQ(class_of(answer(R"({"tools":[]})"), action::tools_list), fault::none);
    EXPECT_EQ(class_of(answer("{}"), action::ping, false), fault::none);
    EXPECT_EQ(class_of(answer(R"({"supportedVersions":["2026-07-28"]})"), action::ping),
              fault::none);
}

TEST(answer_check, wrong_ids) {
    const std::string result = R"({"content":[]})";
    for (const char* const id :
         {"1", "1000000008", "\"1000000007\"", "1000000007.5", "null", "{}"}) {
        EXPECT_EQ(class_of(answer(result, id)), fault::wrong_id) << id;
    }
    EXPECT_EQ(class_of(R"({"jsonrpc":"2.0","result":{"content":[]}})"), fault::wrong_id);
    EXPECT_EQ(class_of(R"({"jsonrpc":"2.0","id":5,"error":{"code":1,"message":""}})"),
              fault::wrong_id);
}

TEST(answer_check, errors) {
    const std::optional<verdict> how =
        judge(R"({"jsonrpc":"2.0","id":1000000007,"error":{"code":-32602,"message":"no"}})");
    ASSERT_TRUE(how);
    EXPECT_EQ(how->what, fault::rpc_error);
    EXPECT_EQ(how->rpc_code, -32602);
    // Errors about what could not be read have no id.
    EXPECT_EQ(class_of(R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}})"),
              fault::rpc_error);
    EXPECT_EQ(class_of(R"({"jsonrpc":"2.0","error":{"code":"x"}})"), fault::rpc_error);
    EXPECT_EQ(class_of(answer(R"({"content":[],"isError":true})")), fault::tool_error);
}

TEST(answer_check, shapes) {
    EXPECT_EQ(class_of(answer("{}")), fault::wrong_shape);
    EXPECT_EQ(class_of(answer("[]")), fault::wrong_shape);
    EXPECT_EQ(class_of(answer(R"({"content":"x"})")), fault::wrong_shape);
    EXPECT_EQ(class_of(answer("{}"), action::tools_list), fault::wrong_shape);
    EXPECT_EQ(class_of(answer("{}"), action::ping), fault::wrong_shape);
    EXPECT_EQ(class_of(answer("{}"), action::initialize, false), fault::wrong_shape);
    // A question back, or a task, is not the result.
    EXPECT_EQ(class_of(answer(R"({"resultType":"input_required","content":[]})")),
              fault::wrong_shape);
}

TEST(answer_check, malformed) {
    for (const char* const text :
         {"x", "[]", "{}", "1", R"({"jsonrpc":"2.0","id":1000000007})",
          R"({"id":1000000007,"result":{"content":[]}})",
          R"({"jsonrpc":"1.0","id":1000000007,"result":{"content":[]}})",
          R"({"jsonrpc":"2.0","id":1000000007,"result":{},"error":{}})",
          R"({"jsonrpc":"2.0","id":1000000007,"result":{"content":[]}} x)"}) {
        EXPECT_EQ(class_of(text), fault::malformed) << text;
    }
}

TEST(answer_check, what_is_no_answer_is_passed_over) {
    EXPECT_EQ(judge(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{}})"),
              std::nullopt);
    EXPECT_EQ(judge(R"({"jsonrpc":"2.0","id":1000000007,"method":"ping"})"), std::nullopt);
}

// A server that looks whether its client lives had no answer, and gave up.
TEST(answer_check, requests_of_the_server_are_answered) {
    base::chunk_pool pool;
    answer_check check(pool, {});
    const auto reply_to = [&](std::string_view text) {
        http::testing::padded copy(text);
        check.judge(copy.data(), copy.size(), asked_id, action::tools_call, false);
        return check.reply();
    };
    EXPECT_EQ(reply_to(R"({"jsonrpc":"2.0","id":"a\"1","method":"ping"})"),
              R"({"jsonrpc":"2.0","id":"a\"1","result":{}})");
    EXPECT_EQ(reply_to(R"({"jsonrpc":"2.0","method":"ping"})"), "");
    EXPECT_EQ(reply_to(R"({"jsonrpc":"2.0","id":7,"method":"roots/list"})"),
              R"({"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"Method not found"}})");
    EXPECT_EQ(reply_to(answer(R"({"content":[]})")), "");
}

TEST(answer_check, expected_text) {
    const std::string right = answer(R"({"content":[{"type":"text","text":"found it"}]})");
    EXPECT_EQ(class_of(right, action::tools_call, true, "found it"), fault::none);
    EXPECT_EQ(class_of(right, action::tools_call, true, "lost"), fault::unexpected);
    // The more telling class wins, and the handshake has another answer.
    EXPECT_EQ(class_of(answer("{}", "5"), action::tools_call, true, "lost"), fault::wrong_id);
    EXPECT_EQ(
        class_of(answer(R"({"protocolVersion":"2025-11-25"})"), action::initialize, false, "lost"),
        fault::none);
}

// With --expect every call of tasks and rounds was wrong: the first of their answers holds neither
// the text nor the result.
TEST(answer_check, expected_text_of_a_dialogue_is_in_what_ends_it) {
    struct taker final : answer_taker {
        void hear(json::view) override {}
        verdict take(json::view) override { return {}; }
        bool is_over() const noexcept override { return over; }
        bool over = false;
    } talk;
    base::chunk_pool pool;
    answer_check check(pool, "found it");
    const auto class_of_next = [&](std::string_view result) {
        const std::string text = answer(result);
        http::testing::padded copy(text);
        return check.judge(copy.data(), copy.size(), asked_id, action::tools_call, true, &talk)
            .value()
            .what;
    };
    EXPECT_EQ(class_of_next(R"({"resultType":"task"})"), fault::none);
    talk.over = true;
    EXPECT_EQ(class_of_next(R"({"resultType":"task"})"), fault::unexpected);
    EXPECT_EQ(class_of_next(R"({"content":["found it"]})"), fault::none);
}

}  // namespace
}  // namespace pillion::load
