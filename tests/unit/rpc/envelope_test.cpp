#include "rpc/envelope.hpp"

#include <string>

#include <gtest/gtest.h>

#include "json/document.hpp"
#include "rpc/errors.hpp"

namespace pillion::rpc {
namespace {

using kind = message_kind;

struct row {
    const char* text;
    kind expected;
    int code = 0;         // of an invalid one
    const char* id = "";  // as text, where it is readable
};

// The id as it would be written; "" when there is none.
std::string written(json::view id) {
    base::chunk_pool pool;
    base::byte_buffer out(pool);
    json::writer w(out);
    write_id(w, id);
    const std::string text(out.view());
    return id.exists() ? text : std::string();
}

const row requests[] = {
    {R"({"jsonrpc":"2.0","id":1,"method":"m"})", kind::request, 0, "1"},
    {R"({"method":"m","id":1,"jsonrpc":"2.0"})", kind::request, 0, "1"},
    {R"({"jsonrpc":"2.0","id":0,"method":"m","params":{}})", kind::request, 0, "0"},
    {R"({"jsonrpc":"2.0","id":-5,"method":"m"})", kind::request, 0, "-5"},
    {R"({"jsonrpc":"2.0","id":"","method":"m"})", kind::request, 0, R"("")"},
    {R"({"jsonrpc":"2.0","id":"a\"\\\u0000é","method":"m"})", kind::request, 0,
     R"("a\"\\\u0000é")"},
    {R"({"jsonrpc":"2.0","id":9007199254740993,"method":"m"})", kind::request, 0,
     "9007199254740993"},
    {R"({"jsonrpc":"2.0","id":9223372036854775807,"method":"m"})", kind::request, 0,
     "9223372036854775807"},
    {R"({"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"m"})", kind::request, 0,
     "123456789012345678901234567890"},
    {R"({"jsonrpc":"2.0","id":1,"method":"","extra":[1]})", kind::request, 0, "1"},
    // Members besides the envelope's may come twice.
    {R"({"jsonrpc":"2.0","id":1,"method":"m","x":1,"x":2})", kind::request, 0, "1"},
};

const row notifications[] = {
    {R"({"jsonrpc":"2.0","method":"m"})", kind::notification},
    {R"({"jsonrpc":"2.0","method":"m","params":{"a":1}})", kind::notification},
    // Nobody waits for an answer, so a malformed one is still a notification.
    {R"({"jsonrpc":"2.0","method":"m","params":[1]})", kind::notification},
    {R"({"jsonrpc":"2.0","method":"m","params":null})", kind::notification},
};

const row responses[] = {
    {R"({"jsonrpc":"2.0","id":1,"result":{}})", kind::response},
    {R"({"jsonrpc":"2.0","id":"a","error":{"code":1,"message":""}})", kind::response},
    {R"({"jsonrpc":"2.0","error":{"code":1,"message":""}})", kind::response},
};

const row refused[] = {
    {"1", kind::invalid, invalid_request},
    {"null", kind::invalid, invalid_request},
    {R"("text")", kind::invalid, invalid_request},
    {"[]", kind::invalid, invalid_request},
    {"{}", kind::invalid, invalid_request},
    {R"({"id":1,"method":"m"})", kind::invalid, invalid_request, "1"},
    {R"({"jsonrpc":"1.0","id":1,"method":"m"})", kind::invalid, invalid_request, "1"},
    {R"({"jsonrpc":2.0,"id":1,"method":"m"})", kind::invalid, invalid_request, "1"},
    {R"({"jsonrpc":"2.0 ","id":"x","method":"m"})", kind::invalid, invalid_request, R"("x")"},
    {R"({"jsonrpc":"2.0","id":null,"method":"m"})", kind::invalid, invalid_request},
    {R"({"jsonrpc":"2.0","id":1.0,"method":"m"})", kind::invalid, invalid_request},
    {R"({"jsonrpc":"2.0","id":1.5,"method":"m"})", kind::invalid, invalid_request},
    {R"({"jsonrpc":"2.0","id":1e0,"method":"m"})", kind::invalid, invalid_request},
    {R"({"jsonrpc":"2.0","id":1E2,"method":"m"})", kind::invalid, invalid_request},
    {R"({"jsonrpc":"2.0","id":true,"method":"m"})", kind::invalid, invalid_request},
    {R"({"jsonrpc":"2.0","id":{},"method":"m"})", kind::invalid, invalid_request},
    {R"({"jsonrpc":"2.0","id":[],"method":"m"})", kind::invalid, invalid_request},
    {R"({"jsonrpc":"2.0","id":1,"method":7})", kind::invalid, invalid_request, "1"},
    {R"({"jsonrpc":"2.0","id":1,"method":null})", kind::invalid, invalid_request, "1"},
    {R"({"jsonrpc":"2.0","method":7})", kind::invalid, invalid_request},
    {R"({"jsonrpc":"2.0","id":1})", kind::invalid, invalid_request, "1"},
    {R"({"jsonrpc":"2.0","id":1,"result":{},"error":{}})", kind::invalid, invalid_request, "1"},
    {R"({"jsonrpc":"2.0","result":{}})", kind::invalid, invalid_request},
    {R"({"jsonrpc":"2.0","id":1,"method":"m","result":{}})", kind::invalid, invalid_request, "1"},
    {R"({"jsonrpc":"2.0","id":1,"method":"m","error":{}})", kind::invalid, invalid_request, "1"},
    {R"({"jsonrpc":"2.0","id":1,"method":"m","params":[]})", kind::invalid, invalid_params, "1"},
    {R"({"jsonrpc":"2.0","id":1,"method":"m","params":[1]})", kind::invalid, invalid_params, "1"},
    {R"({"jsonrpc":"2.0","id":1,"method":"m","params":null})", kind::invalid, invalid_params, "1"},
    {R"({"jsonrpc":"2.0","id":1,"method":"m","params":"p"})", kind::invalid, invalid_params, "1"},
    // Whose id would it be?
    {R"({"jsonrpc":"2.0","id":1,"id":1,"method":"m"})", kind::invalid, invalid_request},
    {R"({"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"m"})", kind::invalid, invalid_request},
    {R"({"jsonrpc":"2.0","id":1,"method":"m","method":"m"})", kind::invalid, invalid_request},
    {R"({"jsonrpc":"2.0","id":1,"method":"m","params":{},"params":{}})", kind::invalid,
     invalid_request},
};

void check(const row& r) {
    SCOPED_TRACE(r.text);
    const auto doc = json::document::parse(r.text);
    ASSERT_TRUE(doc.ok());
    const envelope e = classify(doc->root());
    EXPECT_EQ(e.kind, r.expected);
    EXPECT_EQ(e.code, r.code);
    EXPECT_EQ(written(e.kind == kind::response ? json::view{} : e.id), r.id);
    EXPECT_EQ(*e.fault == '\0', r.expected != kind::invalid);
    EXPECT_TRUE(!e.params.exists() || e.params.is_object());
}

TEST(envelope, requests) {
    for (const row& r : requests) {
        check(r);
    }
}

TEST(envelope, notifications_stay_notifications_when_their_params_are_wrong) {
    for (const row& r : notifications) {
        check(r);
    }
}

TEST(envelope, responses) {
    for (const row& r : responses) {
        check(r);
    }
}

TEST(envelope, what_is_none_of_them_is_refused_with_its_id_if_readable) {
    for (const row& r : refused) {
        check(r);
    }
}

TEST(envelope, method_and_params_are_handed_on) {
    const auto doc =
        json::document::parse(R"({"jsonrpc":"2.0","id":1,"method":"a/b","params":{"x":2}})");
    const envelope e = classify(doc->root());
    EXPECT_EQ(e.method, "a/b");
    EXPECT_EQ(e.params["x"].i64(), 2);
}

TEST(envelope, ids_have_a_length_limit) {
    for (const std::size_t size : {std::size_t{512}, std::size_t{513}, std::size_t{100'000}}) {
        for (const bool text : {true, false}) {
            const std::string id =
                text ? "\"" + std::string(size, 'a') + "\"" : std::string(size, '7');
            const auto doc =
                json::document::parse(R"({"jsonrpc":"2.0","method":"m","id":)" + id + "}");
            ASSERT_TRUE(doc.ok());
            const envelope e = classify(doc->root());
            EXPECT_EQ(e.kind == kind::request, size <= 512) << size;
            EXPECT_EQ(written(e.id), size <= 512 ? id : "");
        }
    }
}

TEST(envelope, same_id_compares_type_and_text) {
    const auto doc = json::document::parse(
        R"([1,"1",1,"1",2,"\u0031",1.0,null,123456789012345678901,123456789012345678901,
            123456789012345678902])");
    const auto at = [&](std::size_t i) { return doc->root()[i]; };
    EXPECT_TRUE(same_id(at(0), at(2)));
    EXPECT_TRUE(same_id(at(1), at(3)));
    EXPECT_TRUE(same_id(at(1), at(5)));
    EXPECT_TRUE(same_id(at(8), at(9)));
    EXPECT_FALSE(same_id(at(0), at(1)));
    EXPECT_FALSE(same_id(at(0), at(4)));
    EXPECT_FALSE(same_id(at(0), at(6)));
    EXPECT_FALSE(same_id(at(7), at(7)));
    EXPECT_FALSE(same_id(at(9), at(10)));
    EXPECT_FALSE(same_id({}, {}));
}

TEST(envelope, a_missing_id_is_written_as_null) {
    base::chunk_pool pool;
    base::byte_buffer out(pool);
    json::writer w(out);
    write_id(w, {});
    EXPECT_EQ(out.view(), "null");
}

}  // namespace
}  // namespace pillion::rpc
