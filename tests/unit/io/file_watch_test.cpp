// file_watch: what is told of files in a folder of its own, on each backend.
#include "io/file_watch.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "unit/io/backend_fixture.hpp"

namespace pillion::io {
namespace {

struct file_watch_test : testing::backend_test {
    void SetUp() override {
        backend_test::SetUp();
        std::string name = std::filesystem::temp_directory_path() / "pillion-watch-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        folder = name;
        if (loop != nullptr) {
            watch = std::make_unique<file_watch>(*loop, [this] { ++told; }, 20);
        }
    }
    void TearDown() override {
        if (watch != nullptr) {
            watch->close();
            EXPECT_TRUE(until([&] { return watch->closed(); }));
            EXPECT_TRUE(watch->closing());
            EXPECT_FALSE(watch->change({at("a")}));
            EXPECT_TRUE(watch->closed());
        }
        watch.reset();
        std::filesystem::remove_all(folder);
        backend_test::TearDown();
    }
    std::string at(const std::string& name) const { return folder / name; }
    void write(const std::string& name) const { std::ofstream(folder / name) << "x"; }
    bool tells() {
        return until([&] { return std::exchange(told, 0) > 0; });
    }
    // `other` is told of, and of what happened before it nothing was.
    bool tells_only_of(const std::string& other) {
        turns(20);
        const bool quiet = told == 0;
        write(other);
        return tells() && quiet;
    }

    std::filesystem::path folder;
    std::unique_ptr<file_watch> watch;
    int told = 0;
};

TEST_P(file_watch_test, files_that_are_written_come_or_are_exchanged) {
    write("a");
    ASSERT_TRUE(watch->change({at("a"), at("b"), at("*.md")}));
    watch->start();
    write("a");
    EXPECT_TRUE(tells());
    write("b");
    EXPECT_TRUE(tells());
    write("new.md");
    EXPECT_TRUE(tells());
    write("c");
    std::filesystem::rename(at("c"), at("a"));
    EXPECT_TRUE(tells());
    // A mounted secret: the link beside it is exchanged.
    std::filesystem::create_symlink("somewhere", at("..data"));
    EXPECT_TRUE(tells());
    write("d");
    EXPECT_TRUE(tells_only_of("a"));
}

// What changed while servers behind us came up was never read.
TEST_P(file_watch_test, what_happens_before_the_start_is_told_at_it) {
    ASSERT_TRUE(watch->change({at("a")}));
    write("a");
    turns(20);
    EXPECT_EQ(told, 0);
    watch->start();
    EXPECT_TRUE(tells());
    write("a");
    EXPECT_TRUE(tells());
}

TEST_P(file_watch_test, several_changes_are_told_of_once) {
    ASSERT_TRUE(watch->change({at("a"), at("b")}));
    for (int i = 0; i < 100; ++i) {
        write(i % 2 == 0 ? "a" : "b");
    }
    watch->start();
    ASSERT_TRUE(until([&] { return told > 0; }));
    turns(50);
    EXPECT_EQ(told, 1);
}

TEST_P(file_watch_test, other_paths_take_the_place_of_those_of_before) {
    std::filesystem::create_directory(at("one"));
    std::filesystem::create_directory(at("two"));
    ASSERT_TRUE(watch->change({at("one/a"), at("one/b")}));
    watch->start();
    ASSERT_TRUE(watch->change({at("two/a"), at("one/b")}));
    write("one/b");
    EXPECT_TRUE(tells());
    ASSERT_TRUE(watch->change({at("two/a")}));
    write("one/b");
    write("one/a");
    EXPECT_TRUE(tells_only_of("two/a"));
}

TEST_P(file_watch_test, folders_that_are_missing) {
    EXPECT_FALSE(watch->change({at("none/a")}));
    EXPECT_TRUE(watch->closed());
    watch->start();
    EXPECT_TRUE(watch->closed());
    EXPECT_TRUE(watch->change({at("none/a"), at("a")}));
    write("a");
    EXPECT_TRUE(tells());
}

// A reload that ended while the server did could open a watch then, which nobody would end.
TEST_P(file_watch_test, closed_without_anything_to_watch) {
    watch->start();
    watch->close();
    EXPECT_FALSE(watch->change({at("a")}));
    EXPECT_TRUE(watch->closed());
}

TEST_P(file_watch_test, closed_before_its_start) {
    EXPECT_TRUE(watch->change({at("a")}));
    write("a");
    watch->close();
    EXPECT_TRUE(watch->closed());
}

INSTANTIATE_TEST_SUITE_P(kernels, file_watch_test, ::testing::ValuesIn(testing::every_backend));

}  // namespace
}  // namespace pillion::io
