// intrusive_list: order, unlinking at every position, splicing, several lists at once.
#include "base/intrusive_list.hpp"

#include <deque>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace pillion::base {
namespace {

struct other_tag {};

struct item : list_hook<>, list_hook<other_tag> {
    explicit item(int v) : value(v) {}
    int value;
};
using main_list = intrusive_list<item>;
using other_list = intrusive_list<item, other_tag>;

template <class List>
std::vector<int> values(List& list) {
    std::vector<int> all;
    for (const item& i : list) {
        all.push_back(i.value);
    }
    return all;
}

template <class List>
void drain(List& list) {
    while (list.pop_front() != nullptr) {
    }
}

using ints = std::vector<int>;

TEST(intrusive_list, keeps_order_at_both_ends) {
    item a(1);
    item b(2);
    item c(3);
    main_list list;
    EXPECT_EQ(list.front(), nullptr);
    EXPECT_EQ(list.back(), nullptr);
    EXPECT_EQ(list.pop_front(), nullptr);
    EXPECT_EQ(list.pop_back(), nullptr);
    list.push_back(b);
    list.push_back(c);
    list.push_front(a);
    EXPECT_EQ(values(list), (ints{1, 2, 3}));
    EXPECT_EQ(list.front(), &a);
    EXPECT_EQ(list.back(), &c);
    EXPECT_EQ(list.count(), 3U);
    EXPECT_EQ(list.pop_back(), &c);
    EXPECT_EQ(list.pop_front(), &a);
    EXPECT_EQ(list.pop_front(), &b);
    EXPECT_TRUE(list.empty());
    EXPECT_FALSE(b.list_hook<>::linked());
}

// Every length, every position.
TEST(intrusive_list, unlinks_anywhere) {
    for (int length = 1; length <= 5; ++length) {
        for (int gone = 0; gone < length; ++gone) {
            std::deque<item> items;
            main_list list;
            ints expected;
            for (int i = 0; i < length; ++i) {
                list.push_back(items.emplace_back(i));
                if (i != gone) {
                    expected.push_back(i);
                }
            }
            static_cast<list_hook<>&>(items[static_cast<std::size_t>(gone)]).unlink();
            EXPECT_EQ(values(list), expected);
            drain(list);
        }
    }
}

TEST(intrusive_list, splices_all_combinations_of_lengths) {
    for (int left = 0; left <= 3; ++left) {
        for (int right = 0; right <= 3; ++right) {
            std::deque<item> items;
            main_list a;
            main_list b;
            ints expected;
            for (int i = 0; i < left + right; ++i) {
                (i < left ? a : b).push_back(items.emplace_back(i));
                expected.push_back(i);
            }
            a.splice_back(b);
            EXPECT_TRUE(b.empty());
            EXPECT_EQ(values(a), expected);
            item more(99);
            b.push_back(more);
            EXPECT_EQ(values(b), ints{99});
            drain(a);
            drain(b);
        }
    }
}

TEST(intrusive_list, hooks_with_different_tags_are_independent) {
    item a(1);
    item b(2);
    main_list main;
    other_list other;
    main.push_back(a);
    main.push_back(b);
    other.push_back(b);
    other.push_back(a);
    EXPECT_EQ(values(main), (ints{1, 2}));
    EXPECT_EQ(values(other), (ints{2, 1}));
    a.list_hook<other_tag>::unlink();
    EXPECT_TRUE(a.list_hook<>::linked());
    EXPECT_EQ(values(other), ints{2});
    drain(main);
    drain(other);
}

TEST(intrusive_list_death, misuse_is_noticed) {
    EXPECT_DEATH(
        {
            item a(1);
            main_list one;
            main_list two;
            one.push_back(a);
            two.push_back(a);
        },
        "linked");
    EXPECT_DEATH(
        {
            main_list list;
            auto a = std::make_unique<item>(1);
            list.push_back(*a);
            a.reset();
        },
        "linked");
    EXPECT_DEATH(
        {
            item a(1);
            auto list = std::make_unique<main_list>();
            list->push_back(a);
            list.reset();
        },
        "empty");
}

}  // namespace
}  // namespace pillion::base
