// The framing table of the message layer, through a real connection: what is complete is answered,
// what is wrong is refused with its status, whole and cut at every byte.
#include <gtest/gtest.h>

#include "connection_fixture.hpp"
#include "framing_cases.hpp"

namespace pillion::http::testing {
namespace {

// What a client saw: how many requests the handler got, and the refusal (0: none).
struct verdict {
    std::size_t handled = 0;
    int refused = 0;
    bool said_close = false;
    bool operator==(const verdict&) const = default;
};

verdict play(world& all, std::string_view raw, std::size_t cut) {
    all.handler.handled.clear();
    wire& w = all.connect();
    w.deliver(raw.substr(0, cut));
    w.deliver(raw.substr(cut));
    all.turn();
    verdict v;
    v.handled = all.handler.handled.size();
    // HEAD is not in the way: the table has no request that would follow one.
    for (reply& r : read_replies(w.sent)) {
        v.refused = r.status >= 400 ? r.status : v.refused;
        v.said_close = v.said_close || r.headers["connection"] == "close";
    }
    EXPECT_EQ(v.said_close, w.half_closed || w.closing);
    w.reset();
    all.turns(2);
    EXPECT_EQ(w.stream, nullptr);
    return v;
}

TEST(connection_framing, every_case_whole_and_cut_at_every_byte) {
    const std::vector<framing_case> cases = framing_cases();
    EXPECT_GE(cases.size(), 120U);
    for (const framing_case& c : cases) {
        SCOPED_TRACE(c.name);
        world all;
        const verdict whole = play(all, c.raw, c.raw.size());
        if (whole.refused == 0 && whole.said_close) {
            // The client asked for the end: what follows is not looked at.
            EXPECT_LE(whole.handled, static_cast<std::size_t>(c.requests));
        } else if (whole.said_close && whole.handled < static_cast<std::size_t>(c.requests)) {
            ADD_FAILURE() << "closed early";
        } else {
            EXPECT_EQ(whole.refused, c.status);
            EXPECT_EQ(whole.handled, static_cast<std::size_t>(c.requests));
        }
        // Long cases are cut where something happens: near both ends.
        for (std::size_t cut = 0; cut < c.raw.size(); ++cut) {
            if (c.raw.size() > 2000 && cut > 200 && cut + 200 < c.raw.size() && cut % 997 != 0) {
                continue;
            }
            ASSERT_EQ(play(all, c.raw, cut), whole) << "cut at " << cut;
        }
    }
}

}  // namespace
}  // namespace pillion::http::testing
