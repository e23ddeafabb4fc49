// temporary_tree: a directory for one test, filled by its helpers and removed with all in it.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "files/tree.hpp"

namespace pillion::files {

class temporary_tree {
 public:
    temporary_tree() {
        std::string name = std::filesystem::temp_directory_path() / "pillion-files-XXXXXX";
        outer_ = ::mkdtemp(name.data());
        std::filesystem::create_directory(outer_ / "root");
    }
    ~temporary_tree() {
        std::error_code ignored;
        std::filesystem::remove_all(outer_, ignored);
    }
    temporary_tree(const temporary_tree&) = delete;
    temporary_tree& operator=(const temporary_tree&) = delete;

    // The place of `path` in the file system; "../x" is outside of the served root.
    std::filesystem::path at(std::string_view path = {}) const { return outer_ / "root" / path; }

    void file(std::string_view path, std::string_view contents = "x") const {
        std::filesystem::create_directories(at(path).parent_path());
        std::ofstream(at(path), std::ios::binary) << contents;
    }
    void directory(std::string_view path) const { std::filesystem::create_directories(at(path)); }
    void link(std::string_view path, std::string_view target) const {
        std::filesystem::create_directories(at(path).parent_path());
        std::filesystem::create_symlink(target, at(path));
    }
    void fifo(std::string_view path) const { ASSERT_EQ(::mkfifo(at(path).c_str(), 0600), 0); }
    void socket(std::string_view path) const {
        const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string text = at(path);
        ASSERT_LT(text.size(), sizeof address.sun_path);
        std::memcpy(address.sun_path, text.data(), text.size());
        ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        ::close(fd);
    }

    tree open(bool hidden = false) const {
        options how;
        how.hidden = hidden;
        result<tree> opened = tree::open(at().string(), how);
        if (!opened) {
            throw std::runtime_error(opened.error().detail);
        }
        return std::move(*opened);
    }

 private:
    std::filesystem::path outer_;
};

}  // namespace pillion::files
