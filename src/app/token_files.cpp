#include "app/token_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "app/config_fault.hpp"
#include "app/config_reader.hpp"
#include "crypto/key_ring.hpp"
#include "json/document.hpp"

namespace pillion::app {

namespace {

bool failed(const std::string& path, std::string& fault) {
    fault = shown_path(path) + ": " + std::strerror(errno);
    return false;
}

bool write_token(int fd, std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t put = ::write(fd, text.data(), text.size());
        if (put < 0 && errno != EINTR) {
            return false;
        }
        text.remove_prefix(put < 0 ? 0 : static_cast<std::size_t>(put));
    }
    return true;
}

// Closes `fd` in any case.
bool write_and_close(int fd, std::string_view text) noexcept {
    const bool written = write_token(fd, text);
    const int why = errno;
    const bool closed = ::close(fd) == 0;
    errno = written ? errno : why;
    return written && closed;
}

// Whether a line stands there without its end, as some editors leave it.
bool ends_open(int fd) noexcept {
    struct stat now{};
    char last = '\n';
    return ::fstat(fd, &now) == 0 && now.st_size > 0 &&
           ::pread(fd, &last, 1, now.st_size - 1) == 1 && last != '\n';
}

// In place of the old file, whole or not at all: servers watch it.
bool replace_file(const std::string& path, std::string_view text, mode_t mode, std::string& fault) {
    std::string fresh = path + ".XXXXXX";
    const int fd = ::mkstemp(fresh.data());
    if (fd < 0) {
        return failed(path, fault);
    }
    const bool may = ::fchmod(fd, mode) == 0;
    if (!write_and_close(fd, text) || !may || std::rename(fresh.c_str(), path.c_str()) != 0) {
        failed(path, fault);
        ::unlink(fresh.c_str());
        return false;
    }
    return true;
}

}  // namespace

std::unique_ptr<crypto::signing_key> read_signing_key(const std::string& path, std::string& fault) {
    std::string text;
    std::unique_ptr<crypto::signing_key> key;
    if (read_whole_file(path, text, fault)) {
        key = crypto::signing_key::read(text, fault);
    }
    crypto::wipe(text.data(), text.size());
    if (key == nullptr) {
        fault = shown_path(path) + ": " + fault;
    }
    return key;
}

bool write_secret_file(const std::string& path, std::string_view text, std::string& fault) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return failed(path, fault);
    }
    if (!write_and_close(fd, text)) {
        failed(path, fault);
        ::unlink(path.c_str());
        return false;
    }
    return true;
}

bool add_to_key_set(const std::string& path, std::string_view id, const std::string& jwk,
                    std::string& fault) {
    std::string text = R"({"keys":[]})";
    struct stat there{};
    if (::stat(path.c_str(), &there) == 0 && !read_whole_file(path, text, fault)) {
        fault = shown_path(path) + ": " + fault;
        return false;
    }
    const auto parsed = json::document::parse(text);
    if (!parsed || !parsed->root()["keys"].is_array()) {
        fault = shown_path(path) + ": it is no JSON Web Key Set: an object with a list \"keys\"";
        return false;
    }
    json::builder made;
    bool secret = jwk.find("\"kty\":\"oct\"") != jwk.npos;
    made.begin_object();
    for (const json::member m : parsed->root().members()) {
        if (m.key == "keys") {
            continue;
        }
        made.key(m.key).value(m.value);
    }
    made.key("keys").begin_array();
    for (const json::view one : parsed->root()["keys"].elements()) {
        if (one["kid"].str() == id) {
            fault = shown_path(path) + ": has a key " + shown(id) + "; choose another --kid";
            return false;
        }
        secret = secret || one["kty"].str() == "oct";
        made.value(one);
    }
    made.raw(jwk).end_array().end_object();
    return replace_file(path, std::string(made.text()) + "\n", secret ? 0600 : 0644, fault);
}

bool append_line(const std::string& path, const std::string& line, std::string& fault) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || !write_and_close(fd, (ends_open(fd) ? "\n" : "") + line + "\n")) {
        return failed(path, fault);
    }
    return true;
}

}  // namespace pillion::app
