// The keys of issuers that publish them: the board, its schedule, and loops that take them over.
#include "auth/key_board.hpp"

#include <gtest/gtest.h>

#include "auth/authenticator.hpp"
#include "auth/key_schedule.hpp"
#include "crypto/base64url.hpp"
#include "crypto/signing_key.hpp"

namespace pillion::auth {
namespace {

using crypto::signing_key;

constexpr std::int64_t now_s = 1'800'000'000;
const key_source source{"https://i.example", "https://i.example/keys"};

key_board::text text_of(const std::string& text) {
    return std::make_shared<const std::string>(text);
}

TEST(key_board, keeps_what_stays_and_forgets_what_goes) {
    key_board board;
    const key_source other{"https://j.example", "discover"};
    EXPECT_TRUE(board.complete());
    board.keep({source, other});
    EXPECT_FALSE(board.complete());
    board.settle(source, text_of("a"), 0);
    EXPECT_FALSE(board.complete());
    board.settle(other, text_of("b"), 0);
    EXPECT_TRUE(board.complete());
    board.keep({other});
    EXPECT_EQ(board.keys(source), nullptr);
    EXPECT_EQ(*board.keys(other), "b");
    const auto same = board.keys(other);
    board.settle(other, text_of("b"), 0);
    EXPECT_EQ(board.keys(other), same);
    board.settle(other, nullptr, 0);  // a fetch that failed
    EXPECT_EQ(board.keys(other), same);
    board.expire(other);
    EXPECT_EQ(board.keys(other), nullptr);
    EXPECT_FALSE(board.complete());
    board.settle(source, text_of("late"), 0);  // nobody wants it any more
    EXPECT_EQ(board.keys(source), nullptr);
}

TEST(key_board, one_fetch_is_wanted_at_a_time_and_seldom) {
    key_board board;
    int told = 0;
    board.keep({source});
    board.settle(source, text_of("a"), 0);
    const auto held = board.keys(source);
    EXPECT_FALSE(board.want(source, held, 0));  // nobody would hear it
    board.on_wanted([&told] { ++told; });
    EXPECT_TRUE(board.want(source, held, 0));
    EXPECT_TRUE(board.want(source, held, 0));
    EXPECT_EQ(told, 1);
    EXPECT_EQ(board.wanted(), std::vector<key_source>{source});
    board.settle(source, nullptr, 1000);
    EXPECT_TRUE(board.wanted().empty());
    EXPECT_FALSE(board.want(source, held, 1000 + key_board::refetch_pause_ns - 1));
    EXPECT_TRUE(board.want(source, held, 1000 + key_board::refetch_pause_ns));
    board.settle(source, text_of("b"), 1000 + key_board::refetch_pause_ns);
    // Others are there already, on their way to who asks.
    EXPECT_TRUE(board.want(source, held, 1001 + key_board::refetch_pause_ns));
    EXPECT_EQ(told, 2);
    EXPECT_FALSE(board.want({"https://k.example", "x"}, nullptr, 0));
}

TEST(key_schedule, half_of_their_time_is_left_for_trying_again) {
    key_schedule s;
    EXPECT_TRUE(s.due(0));
    EXPECT_FALSE(s.has_keys());
    std::int64_t now = 1000;
    std::int64_t waited[] = {1, 2, 4, 8, 16, 30, 30};
    for (const std::int64_t seconds : waited) {
        s.failed(now);
        EXPECT_EQ(s.next_ns(), now + seconds * key_schedule::second_ns);
        now = s.next_ns();
    }
    s.fetched(now);
    EXPECT_TRUE(s.has_keys());
    EXPECT_EQ(s.next_ns(), now + 300 * key_schedule::second_ns);
    EXPECT_FALSE(s.due(s.next_ns() - 1));
    std::int64_t at = s.next_ns();
    while (!s.too_old(at)) {
        s.failed(at);
        at = s.next_ns();
    }
    // STANDARD row 53: ten minutes, and not a moment more.
    EXPECT_EQ(at, now + 600 * key_schedule::second_ns);
    s.expired();
    EXPECT_FALSE(s.has_keys());
    EXPECT_FALSE(s.too_old(at));
    EXPECT_LE(s.next_ns(), at + key_schedule::retry_last_ns);
    s.fetched(at);
    s.failed(at);
    EXPECT_EQ(s.next_ns(), at + key_schedule::second_ns);
}

std::string token_by(signing_key& key, const std::string& id) {
    const std::string text =
        crypto::to_base64url(R"({"alg":"ES256","kid":")" + id + "\"}") + "." +
        crypto::to_base64url(R"({"iss":"https://i.example","aud":"us","iat":1,"sub":"a","exp":)" +
                             std::to_string(now_s + 600) + "}");
    return text + "." + crypto::to_base64url(key.sign(text));
}

TEST(authenticator, takes_over_what_is_published) {
    auto board = std::make_shared<key_board>();
    board->keep({source});
    board->on_wanted([] {});
    auth_options options;
    options.issuers.push_back({{source.issuer, {"us"}}, "", source.from});
    std::string fault;
    std::size_t index = 0;
    const auto made = authenticator::make(options, fault, index, board);
    ASSERT_NE(made, nullptr) << fault;
    const auto first = signing_key::new_p256();
    const auto second = signing_key::new_p256();
    const std::string token = token_by(*first, "1");
    const std::string later = token_by(*second, "2");
    EXPECT_EQ(made->check(token, now_s).why, token_fault::no_keys);
    EXPECT_FALSE(made->take_keys());

    board->settle(source, text_of("{\"keys\":[" + first->jwk("1") + "]}"), 0);
    EXPECT_EQ(made->check(token, now_s).why, token_fault::no_keys);
    EXPECT_TRUE(made->take_keys());
    EXPECT_NE(made->check(token, now_s).who, nullptr);
    EXPECT_NE(made->check(token, now_s).who, nullptr);
    EXPECT_EQ(made->known(), 1U);

    auto unknown = made->check(later, now_s);
    EXPECT_EQ(unknown.why, token_fault::unknown_key);
    EXPECT_EQ(unknown.issuer, 0U);
    EXPECT_TRUE(made->want_keys(unknown.issuer, 0));
    EXPECT_FALSE(made->want_keys(7, 0));
    board->settle(source, text_of("{\"keys\":[" + second->jwk("2") + "]}"), 0);
    EXPECT_TRUE(made->take_keys());
    // What a key that is gone has said is forgotten.
    EXPECT_EQ(made->check(token, now_s).why, token_fault::unknown_key);
    EXPECT_NE(made->check(later, now_s).who, nullptr);
    board->expire(source);
    EXPECT_TRUE(made->take_keys());
    EXPECT_EQ(made->check(later, now_s).why, token_fault::no_keys);
    // A loop that begins later begins with what is there.
    board->settle(source, text_of("{\"keys\":[" + second->jwk("2") + "]}"), 0);
    EXPECT_NE(authenticator::make(options, fault, index, board)->check(later, now_s).who, nullptr);
}

}  // namespace
}  // namespace pillion::auth
