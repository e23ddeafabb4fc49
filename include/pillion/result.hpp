// result<T>: a value or an error, without exceptions and without heap.
//
// Every call of the library that can fail returns one. It is [[nodiscard]]; test it with
// `if (!r)`, read it with `*r` or `r->`, and read the failure with `r.error()`.
//
// Thread-safety: a result is an ordinary value; share it as you would share an int.
#pragma once

#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pillion {

// What went wrong, in kinds a caller can act upon.
enum class errc : std::uint8_t {
    cancelled,    // the request was stopped (client, deadline, shutdown)
    timed_out,    // a limit of time ran out
    not_found,    // no such file, resource, tool, session
    invalid,      // malformed input or argument
    too_large,    // over a documented size limit
    denied,       // not allowed (path outside the root, permissions)
    closed,       // the peer or the stream is gone
    unavailable,  // a resource is exhausted or a service is down
    unsupported,  // this build or this peer cannot do it
    io,           // the operating system reported another failure
    internal,     // our own bug
};

// An error: its kind, a constant text that is safe to show to a peer, and the operating system's
// errno where there is one (0 otherwise). `detail` must point to storage that lives for ever
// (string literals): errors are copied freely and outlive requests.
struct error {
    const char* detail = "";
    std::int32_t os_errno = 0;
    errc kind = errc::internal;

    constexpr error(errc k, const char* text, int os = 0) noexcept
        : detail(text), os_errno(os), kind(k) {}
};

template <class T>
class [[nodiscard]] result {
 public:
    result(T value) noexcept(std::is_nothrow_move_constructible_v<T>) : has_value_(true) {
        ::new (static_cast<void*>(&value_)) T(std::move(value));
    }
    result(pillion::error e) noexcept : error_(e), has_value_(false) {}
    result(result&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
        : has_value_(other.has_value_) {
        if (has_value_) {
            ::new (static_cast<void*>(&value_)) T(std::move(other.value_));
        } else {
            ::new (static_cast<void*>(&error_)) pillion::error(other.error_);
        }
    }
    result(const result& other) : has_value_(other.has_value_) {
        if (has_value_) {
            ::new (static_cast<void*>(&value_)) T(other.value_);
        } else {
            ::new (static_cast<void*>(&error_)) pillion::error(other.error_);
        }
    }
    result& operator=(result other) noexcept(std::is_nothrow_move_constructible_v<T>) {
        this->~result();
        ::new (static_cast<void*>(this)) result(std::move(other));
        return *this;
    }
    ~result() {
        if (has_value_) {
            value_.~T();
        }
    }

    // True when there is a value.
    bool ok() const noexcept { return has_value_; }
    explicit operator bool() const noexcept { return has_value_; }

    // The value. REQUIRES: ok().
    T& operator*() & noexcept { return value_; }
    const T& operator*() const& noexcept { return value_; }
    T&& operator*() && noexcept { return std::move(value_); }
    T* operator->() noexcept { return &value_; }
    const T* operator->() const noexcept { return &value_; }

    // The error. REQUIRES: !ok().
    const pillion::error& error() const noexcept { return error_; }

 private:
    union {
        T value_;
        pillion::error error_;
    };
    bool has_value_;
};

template <>
class [[nodiscard]] result<void> {
 public:
    result() noexcept = default;
    result(pillion::error e) noexcept : error_(e), has_value_(false) {}
    bool ok() const noexcept { return has_value_; }
    explicit operator bool() const noexcept { return has_value_; }
    const pillion::error& error() const noexcept { return error_; }

 private:
    pillion::error error_{errc::internal, ""};
    bool has_value_ = true;
};

// The successful result<void>.
inline result<void> ok() noexcept { return {}; }

}  // namespace pillion
