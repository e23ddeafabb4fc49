// yaml_tree: places, bounds, and what is refused although YAML has it.
#include "app/yaml_tree.hpp"

#include <gtest/gtest.h>

namespace pillion::app {
namespace {

std::string fault_of(std::string_view text) {
    yaml_tree tree;
    config_faults faults;
    const bool whole = tree.read(text, faults);
    EXPECT_TRUE(whole || !faults.empty());
    std::string all;
    for (const config_fault& f : faults) {
        all += describe(f, "f") + "\n";
    }
    return all;
}

TEST(yaml_tree, every_key_and_value_knows_its_place) {
    yaml_tree tree;
    config_faults faults;
    ASSERT_TRUE(tree.read("a:\n  b: [1, 'two']\n\"ü\": ~\n", faults));
    const yaml_node& root = tree.root();
    ASSERT_EQ(root.members.size(), 2U);
    EXPECT_EQ(root.members[0].at, (file_place{1, 1}));
    const yaml_node& a = tree.at(root.members[0].value);
    EXPECT_EQ(a.members[0].at, (file_place{2, 3}));
    const yaml_node& list = tree.at(a.members[0].value);
    ASSERT_EQ(list.items.size(), 2U);
    EXPECT_EQ(tree.at(list.items[0]).at, (file_place{2, 7}));
    EXPECT_TRUE(tree.at(list.items[0]).plain);
    EXPECT_EQ(tree.at(list.items[1]).at, (file_place{2, 10}));
    EXPECT_FALSE(tree.at(list.items[1]).plain);
    EXPECT_EQ(root.members[1].name, "ü");
    EXPECT_EQ(tree.at(root.members[1].value).what, yaml_node::kind::null);
}

TEST(yaml_tree, columns_count_characters) {
    EXPECT_EQ(fault_of("{\"äöü\": 1, a: 1, a: 2}"), "f:1:18: the key \"a\" stands twice\n");
    EXPECT_EQ(fault_of("\xEF\xBB\xBF{a: 1, a: 2}"), "f:1:8: the key \"a\" stands twice\n");
    EXPECT_EQ(fault_of("x: 1\r\n{"), fault_of("x: 1\n{"));
}

TEST(yaml_tree, json_is_yaml) {
    yaml_tree tree;
    config_faults faults;
    ASSERT_TRUE(tree.read(R"({"a":{"b":[1,true,null,"x\u00e9\n"]}})", faults));
    const yaml_node& a = tree.at(tree.root().members[0].value);
    const yaml_node& list = tree.at(a.members[0].value);
    ASSERT_EQ(list.items.size(), 4U);
    EXPECT_EQ(tree.at(list.items[2]).what, yaml_node::kind::null);
    EXPECT_EQ(tree.at(list.items[3]).text, "xé\n");
}

TEST(yaml_tree, an_empty_text_is_null) {
    for (const char* const text : {"", "\n", "# nothing\n", "---\n"}) {
        yaml_tree tree;
        config_faults faults;
        ASSERT_TRUE(tree.read(text, faults)) << text;
        EXPECT_EQ(tree.root().what, yaml_node::kind::null);
    }
}

TEST(yaml_tree, all_keys_that_stand_twice) {
    EXPECT_EQ(fault_of("a: 1\nb: {c: 1, c: 2}\na: 3\n"),
              "f:2:11: the key \"c\" stands twice\nf:3:1: the key \"a\" stands twice\n");
}

TEST(yaml_tree, faults_of_the_syntax_have_a_place) {
    EXPECT_TRUE(fault_of("a: [1\nb: 2\n").starts_with("f:2:2: not YAML: "));
    EXPECT_TRUE(fault_of("a: b: c\n").starts_with("f:1:5: not YAML: "));
    EXPECT_TRUE(fault_of("\ta: 1\n").starts_with("f:1:3: not YAML: "));
}

TEST(yaml_tree, what_is_not_used_here) {
    EXPECT_EQ(fault_of("a: !!int 1\n"), "f:1:4: tags (!…) are not used here\n");
    EXPECT_EQ(fault_of("a: !x {}\n"), "f:1:4: tags (!…) are not used here\n");
    EXPECT_EQ(fault_of("a: 1\n---\nb: 2\n"), "f:2:1: more than one document\n");
    EXPECT_EQ(fault_of("[a]: 1\n"), "f:1:1: a key must be text\n");
    EXPECT_EQ(fault_of("{~: 1}\n"), "f:1:2: a key is missing\n");
}

TEST(yaml_tree, bytes_that_are_no_text) {
    // Names of files would end there.
    EXPECT_EQ(fault_of(R"(a: "x\0y")"), "f:1:4: a zero byte in a text\n");
    EXPECT_EQ(fault_of("a: 1\nb: \xFF\n"), "f:2:4: a byte that is no text (UTF-8 is expected)\n");
    // yaml-cpp takes this byte for the end of the file, and the rest would be ignored.
    EXPECT_EQ(fault_of("a: 1\n\x04 b: 2"), "f:2:1: a byte that is no text (UTF-8 is expected)\n");
    EXPECT_EQ(fault_of(std::string_view("a: \0", 4)),
              "f:1:4: a byte that is no text (UTF-8 is expected)\n");
}

TEST(yaml_tree, aliases_are_followed_and_counted) {
    yaml_tree tree;
    config_faults faults;
    ASSERT_TRUE(tree.read("a: &x [1, 2]\nb: *x\n", faults));
    EXPECT_EQ(tree.root().members[0].value, tree.root().members[1].value);
    std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 10; ++i) {
        const std::string before = "*a" + std::to_string(i - 1);
        bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
        for (int k = 0; k < 9; ++k) {
            bomb += ", " + before;
        }
        bomb += "]\n";
    }
    EXPECT_EQ(fault_of(bomb).substr(0, 4), "f:5:");
    EXPECT_NE(fault_of(bomb).find("more than 20000 keys and values"), std::string::npos);
    EXPECT_EQ(fault_of("a: &x [*x]\n"), "f:1:8: an alias inside of what it names\n");
    EXPECT_TRUE(fault_of("a: *nobody\n").starts_with("f:1:4: not YAML: "));
}

TEST(yaml_tree, bounds) {
    const std::string deepest = std::string(32, '[') + std::string(32, ']');
    EXPECT_EQ(fault_of(deepest), "");
    EXPECT_EQ(fault_of("[" + deepest + "]"), "f:1:33: nested more than 32 deep\n");
    std::string stairs;
    for (int i = 0; i < 10'000; ++i) {
        stairs += "- ";
    }
    EXPECT_EQ(fault_of(stairs), "f:1:65: nested more than 32 deep\n");
    EXPECT_NE(fault_of(std::string(yaml_tree::bytes_max, '[')), "");
    EXPECT_EQ(fault_of(std::string(yaml_tree::bytes_max, '\n')), "");
    EXPECT_EQ(fault_of(std::string(yaml_tree::bytes_max + 1, '\n')), "f:1:1: larger than 1 MiB\n");
    std::string many = "[";
    for (std::size_t i = 0; i + 1 < yaml_tree::nodes_max; ++i) {
        many += "1,";
    }
    EXPECT_EQ(fault_of(many + "]"), "");
    EXPECT_NE(fault_of(many + "1,]").find("more than 20000"), std::string::npos);
}

TEST(yaml_tree, names_in_messages_are_cut_and_clean) {
    EXPECT_EQ(shown("a\nb"), "\"a?b\"");
    EXPECT_EQ(shown(std::string(100, 'x')), "\"" + std::string(64, 'x') + "…\"");
    EXPECT_EQ(shown(std::string(63, 'x') + "é!"), "\"" + std::string(63, 'x') + "…\"");
}

}  // namespace
}  // namespace pillion::app
